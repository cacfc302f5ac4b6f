# SPDX-License-Identifier: Apache-2.0
"""State and force of the same tick for a policy loop, in a few lines."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node

from na_inference.ros_helpers import nanoseconds, vector
from na_inference.validity import Validity
from na_msgs.msg import ActuatorTelemetry, JointGoal, NeuralActuatorState

Array = NDArray[np.float64]


@dataclass(frozen=True)
class StateAndForce:
    """One tick, telemetry and estimate joined by their stamp.

    Attributes:
        stamp_ns: moment of the measurement.
        names: joint names; position, velocity, goal (n,) in their order [rad, rad/s; m, m/s].
        force: on the end effector (3,) [N], base axes, zero without contact.
        force_ungated: before the gate (3,) [N].
        in_contact: the gate; probability: what it is made from.
        covariance: of force_ungated (3, 3) [N²].
        validity: VALID, or why force is NaN.
    """

    stamp_ns: int
    names: tuple[str, ...]
    position: Array
    velocity: Array
    goal: Array
    force: Array
    force_ungated: Array
    in_contact: bool
    probability: float
    covariance: Array
    validity: Validity

    @property
    def valid(self) -> bool:
        """Whether the force may be used."""
        return self.validity is Validity.VALID

    @property
    def age(self) -> float:
        """Seconds since the measurement, by this machine's clock."""
        return 1e-9 * (time.time_ns() - self.stamp_ns)


class ForceSubscriber:
    """Joins telemetry and force estimate of one arm.

        force = ForceSubscriber(node)
        ...
        latest = force.latest(max_age=0.1)      # None: nothing that recent, so stop pushing
        if latest is not None and latest.valid:
            act(latest.position, latest.force)

    Args:
        node: an rclpy node that is being spun.
        namespace: prefix of the arm's topics, "" for none.
    """

    REMEMBERED = 50

    def __init__(self, node: Node, namespace: str = "") -> None:
        prefix = f"/{namespace.strip('/')}/" if namespace.strip("/") else ""
        self._telemetry: OrderedDict[int, ActuatorTelemetry] = OrderedDict()
        self._states: OrderedDict[int, NeuralActuatorState] = OrderedDict()
        self._latest: StateAndForce | None = None
        self.joined = 0
        node.create_subscription(
            ActuatorTelemetry, f"{prefix}follower/telemetry", self._on_telemetry, 10
        )
        node.create_subscription(
            NeuralActuatorState, f"{prefix}neural_actuator/state", self._on_state, 10
        )

    def latest(self, max_age: float = 0.1) -> StateAndForce | None:
        """The newest tick that is at most `max_age` [s] old, valid or not; else None."""
        latest = self._latest
        return latest if latest is not None and latest.age <= max_age else None

    def _on_telemetry(self, message: ActuatorTelemetry) -> None:
        self._keep(self._telemetry, nanoseconds(message.header.stamp), message)

    def _on_state(self, message: NeuralActuatorState) -> None:
        self._keep(self._states, nanoseconds(message.header.stamp), message)

    def _keep(self, memory: OrderedDict[int, object], stamp: int, message: object) -> None:  # type: ignore[type-arg]
        memory[stamp] = message
        while len(memory) > self.REMEMBERED:
            memory.popitem(last=False)
        if stamp in self._telemetry and stamp in self._states:
            self._join(stamp)

    def _join(self, stamp: int) -> None:
        telemetry, state = self._telemetry.pop(stamp), self._states.pop(stamp)
        self.joined += 1
        self._latest = StateAndForce(
            stamp,
            tuple(telemetry.name),
            np.array(telemetry.position),
            np.array(telemetry.velocity),
            np.array(telemetry.goal_sent),
            vector(state.force),
            vector(state.force_ungated),
            bool(state.contact.in_contact),
            float(state.contact.probability),
            np.array(state.force_covariance).reshape(3, 3),
            Validity(state.validity),
        )


class PolicyLoop:
    """Asks a policy once per new tick and publishes the goal that it returns on follower/goal.

    Silence of telemetry or estimate is silence here: the follower holds, then parks. It must take
    its goals from the topic (`teleop.launch.py goal_source:=topic`).

    Args:
        node: an rclpy node that is being spun.
        names: joints of the goals.
        decide: from the seconds since the last tick (0 at first) and a tick to a goal (n,).
        namespace: prefix of the arm's topics, "" for none.
    """

    PERIOD = 1.0 / 120.0  # s between looks for a new tick

    def __init__(
        self,
        node: Node,
        names: Sequence[str],
        decide: Callable[[float, StateAndForce], Array],
        namespace: str = "",
    ) -> None:
        prefix = f"/{namespace.strip('/')}/" if namespace.strip("/") else ""
        self._force = ForceSubscriber(node, namespace)
        self._goals = node.create_publisher(JointGoal, f"{prefix}follower/goal", 1)
        self._names = list(names)
        self._decide = decide
        self._stamp = 0
        node.create_timer(self.PERIOD, self._on_timer)

    def _on_timer(self) -> None:
        latest = self._force.latest(max_age=0.1)
        if latest is None or latest.stamp_ns == self._stamp:
            return  # nothing new is known, so nothing new is asked for
        if not np.isfinite(latest.position).all():
            return  # a servo did not answer this tick
        dt = 1e-9 * (latest.stamp_ns - self._stamp) if self._stamp else 0.0
        self._stamp = latest.stamp_ns
        goal = self._decide(dt, latest)
        self._goals.publish(JointGoal(name=self._names, position=[float(q) for q in goal]))
