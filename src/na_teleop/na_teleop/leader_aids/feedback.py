# SPDX-License-Identifier: Apache-2.0
"""The follower's external force on the leader's joints: filter, deadband, gain, saturation, fade.

The estimate is the force that the environment exerts on the follower's end effector. Rendered with
the same sign at the leader, J(q)ᵀ f, the hand feels what it would feel holding the follower.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from na_core.kinematics import Kinematics
from na_teleop.leader_aids.config import AidsConfig

Array = NDArray[np.float64]


class ForceFeedback:
    """Keeps the latest estimate and turns it into joint efforts of the leader.

    Attributes:
        share: present share of the feedback, 0..1, fading.
        force: force rendered in the last tick (3,) [N], base axes.
        accepted, refused: estimates taken and turned down.
        last_refusal: why the latest one was turned down.

    """

    def __init__(self, kinematics: Kinematics, base_frame: str, config: AidsConfig) -> None:
        """`base_frame`: frame that estimates must be given in."""
        self._kinematics, self._frame, self._config = kinematics, base_frame, config
        self._latest = np.zeros(3)
        self._filtered = np.zeros(3)
        self._heard_s = -np.inf
        self.share = 0.0
        self.force = np.zeros(3)
        self.accepted = self.refused = 0
        self.last_refusal = ""

    def feed(self, force: ArrayLike, frame: str, now_s: float) -> bool:
        """Take an estimate (3,) [N] at monotonic `now_s` [s]; False when it is turned down."""
        values = np.asarray(force, dtype=np.float64)
        if frame != self._frame:
            return self._refuse(f"force in frame {frame!r}, expected {self._frame!r} (base axes)")
        if values.shape != (3,) or not np.isfinite(values).all():
            return self._refuse(f"force {values.tolist()}, expected three finite numbers")
        self._latest = values * np.array([1.0, -1.0 if self._config.mirror else 1.0, 1.0])
        self._heard_s = now_s
        self.accepted += 1
        return True

    def _refuse(self, text: str) -> bool:
        self.refused += 1
        self.last_refusal = text
        return False

    def fresh(self, now_s: float) -> bool:
        """Whether an estimate is young enough."""
        return now_s - self._heard_s <= self._config.wrench_timeout_s

    def effort(self, position: Array, now_s: float, dt: float, alive: bool) -> Array:
        """Joint efforts (n,) [N·m or N] to render now; `alive`: the dead-man is held."""
        config = self._config
        wanted = 1.0 if alive and self.fresh(now_s) and config.feedback_gain > 0.0 else 0.0
        step = dt / config.fade_s
        self.share += float(np.clip(wanted - self.share, -step, step))
        blend = dt / (config.feedback_filter_s + dt)
        self._filtered = self._filtered + blend * (self._latest - self._filtered)
        self.force = self.share * self._shaped(self._filtered)
        if self.share <= 0.0:
            return np.zeros(self._kinematics.n)
        return np.asarray(self._kinematics.jacobian(position).T @ self.force)

    def _shaped(self, force: Array) -> Array:
        """Deadband that begins smoothly, gain, and a limit on the length."""
        size = float(np.linalg.norm(force))
        if size <= self._config.feedback_deadband:
            return np.zeros(3)
        length = self._config.feedback_gain * (size - self._config.feedback_deadband)
        return np.asarray(force / size * min(length, self._config.feedback_force))
