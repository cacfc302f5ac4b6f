# SPDX-License-Identifier: Apache-2.0
"""One emulated arm: wire protocol, servo physics and, for a leader, the operator who moves it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from na_core.robot_spec import RobotSpec
from na_sim.arm_plant import ArmPlant
from na_sim.emulated_servos import emulated_bus, servo_configs
from na_sim.faults import FaultInjector, FaultRunner, FaultScript, FaultTarget
from na_sim.operator import Array, RestingHand, ScriptedOperator
from na_sim.scene_script import SceneRunner, SceneScript
from na_sim.truth_meter import TruthMeter, TruthSample
from na_sim.wire.pty_port import PtyPort

#: Longest time that the physics makes up for at once [s]; a process that slept longer slips.
MAX_CATCH_UP = 0.2


class EmulatedArm:
    """Servos of one arm on a pseudo-terminal, as a driver would find them on a serial port."""

    def __init__(
        self,
        spec: RobotSpec,
        path: str | Path,
        *,
        seed: int = 0,
        unit: int = 0,
        operator: bool = False,
        realistic_timing: bool = True,
        faults: FaultScript | None = None,
        scene: SceneScript | None = None,
    ) -> None:
        """Prepare the arm; `open` makes `path` appear.

        Args:
            spec: robot with servos on a bus; ValueError otherwise.
            path: where to put the port.
            seed: seed of sensor noise and of the operator's motion.
            unit: physical unit whose hidden parameters are used; 0 is the training arm.
            operator: a scripted operator holds the arm and moves it (a leader).
            realistic_timing: replies take as long as on the wire.
            faults: what goes wrong and when; time counts from the first call of `step_faults`.
            scene: on a follower weights, pushes and blocks that come and go, on a leader the rests
                of its operator; time counts from the start.

        """
        configs = servo_configs(spec)
        self.path = str(path)
        scene = scene or SceneScript(())
        hand: Callable[[float], Array] | None = ScriptedOperator(spec, seed) if operator else None
        if hand is not None and scene.rests:
            hand = RestingHand(hand, scene.rests, scene.repeat)
        self.plant = ArmPlant(spec, seed, unit, hand=hand)
        self._meter = TruthMeter(self.plant)
        acts = scene.influences and not operator
        self._scene = SceneRunner(self.plant, scene) if acts else None
        self.plant.observer = self._observe
        self._ready_at = time.monotonic() + max(config.boot_time for config in configs)
        injector = FaultInjector()
        self._bus = emulated_bus(configs, self.plant, faults=injector, max_catch_up=MAX_CATCH_UP)
        self._port = PtyPort(self._bus, path, realistic_timing=realistic_timing)
        self._faults = FaultRunner(injector, FaultTarget(self._bus, self._port), faults)

    def open(self) -> None:
        """Boot the servos, then make the port appear; PortInUseError when it is taken."""
        time.sleep(max(0.0, self._ready_at - time.monotonic()))
        self._bus.tick()  # compiles the physics, which a driver would take for silence
        self._port.open()

    def close(self) -> None:
        """Make the port vanish."""
        self._port.close()

    def _observe(self) -> None:
        self._meter.step()
        if self._scene is not None:
            self._scene.step()

    @property
    def truth(self) -> TruthSample | None:
        """What the plant knows, at most a few ticks old; None before the physics began."""
        return self._meter.latest

    def step_faults(self) -> list[str]:
        """Begin and end scripted faults that are due; returns news for the log."""
        return self._faults.step()

    def torque_enabled(self) -> dict[int, bool]:
        """Whether torque is on, by servo id."""
        return self._bus.torque_enabled()

    @property
    def slips(self) -> int:
        """How often the physics lost time against the clock."""
        return self._bus.slips
