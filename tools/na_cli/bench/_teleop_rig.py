# SPDX-License-Identifier: Apache-2.0
"""Emulated arms, their nodes, recorder and force estimate, each a process of its own."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

START_TIMEOUT = 120.0  # s; the first start compiles the physics
STOP_TIMEOUT = 40.0  # s; a follower parks first

MODULES = {
    "emulated_leader": "na_sim.emulated_arm_node",
    "emulated_follower": "na_sim.emulated_arm_node",
    "leader_node": "na_teleop.leader_node",
    "follower_node": "na_teleop.follower_node",
    "recorder_node": "na_teleop.recorder_node",
    "neural_actuator_node": "na_inference.neural_actuator_node",
}


def own_domain() -> None:
    """Give this process and its children a ROS domain of their own, on this machine only."""
    os.environ["ROS_DOMAIN_ID"] = str(random.SystemRandom().randrange(100, 200))
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"


class TeleopRig:
    """Starts everything in a ROS domain of its own and ends it in order.

    Args:
        folder: for ports, bags and logs.
        rate: ticks per second of both arms [Hz].
        model: for the force estimate.
        scene: influences on the follower, rests of the operator: "", "demo", "live" or a file.
        estimate: further parameters of neural_actuator_node.
        record: run the recorder too.
        seed: of both arms.
        unit: physical unit of the follower; 0 is the arm of training.
    """

    def __init__(
        self,
        folder: Path,
        rate: float,
        model: Path,
        *,
        scene: str = "",
        estimate: dict[str, Any] | None = None,
        record: bool = True,
        seed: int = 0,
        unit: int = 0,
    ) -> None:
        self.folder = folder
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        own_domain()
        (folder / "bags").mkdir()
        common = {"robot": "omx"}
        for arm in ("leader", "follower"):
            port = folder / arm
            self._start(
                f"emulated_{arm}",
                {
                    **common,
                    "arm": arm,
                    "port": port,
                    "seed": seed,
                    "unit": unit if arm == "follower" else 0,
                    "scene": scene or "''",
                },
            )
            values = {**common, "port": port, "port_wait": START_TIMEOUT, "control_rate": rate}
            self._start(f"{arm}_node", values)
        if record:
            self._start(
                "recorder_node",
                {
                    **common,
                    "out_dir": folder / "bags",
                    "auto_start": "true",
                    "disk_reserve_mb": 0.0,
                },
            )
        self._start("neural_actuator_node", {**common, "model": model, **(estimate or {})})

    def _start(self, name: str, parameters: dict[str, Any]) -> None:
        command = [sys.executable, "-m", MODULES[name], "--ros-args", "-r", f"__node:={name}"]
        for key, value in parameters.items():
            if value == "":
                continue
            command += ["-p", f"{key}:={value}"]
        log = (self.folder / f"{name}.log").open("wb")
        self.processes[name] = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)

    def check(self) -> None:
        """Raise RuntimeError with the log of a process that has ended."""
        for name, process in self.processes.items():
            if process.poll() is not None:
                raise RuntimeError(f"{name} ended with {process.returncode}:\n{self.log(name)}")

    def log(self, name: str) -> str:
        """Last lines of a process's log."""
        text = (self.folder / f"{name}.log").read_text(errors="replace")
        return "\n".join(text.splitlines()[-20:])

    def usage(self) -> dict[str, tuple[float, int]]:
        """Processor time [s] and resident memory [bytes] of every process."""
        import psutil

        found = {}
        for name, process in self.processes.items():
            watched = psutil.Process(process.pid)
            found[name] = (sum(watched.cpu_times()[:2]), int(watched.memory_info().rss))
        return found

    def close(self) -> None:
        """Interrupt drivers first, so that arms park while their servos are still there."""
        order = ["neural_actuator_node", "recorder_node", "follower_node", "leader_node"]
        order += ["emulated_follower", "emulated_leader"]
        for name in order:
            process = self.processes.get(name)
            if process is not None and process.poll() is None:
                process.send_signal(signal.SIGINT)
        deadline = time.monotonic() + STOP_TIMEOUT
        for process in self.processes.values():
            try:
                process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
