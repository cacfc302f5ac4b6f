# SPDX-License-Identifier: Apache-2.0
"""ROS 2 node that shows robot and force in Rerun, or saves them as .rrd (see ./na view)."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node

from na_core.robot_spec import load_robot_spec
from na_inference.client import ForceSubscriber
from na_inference.rerun_sink import RerunSink
from na_inference.ros_helpers import declare


class ForceViewNode(Node):
    """Parameters and a timer around a RerunSink."""

    def __init__(self, **kwargs: Any) -> None:
        """Raises ImportError when rerun-sdk is not installed."""
        super().__init__("force_view_node", **kwargs)
        spec = load_robot_spec(declare(self, "robot", "omx", "robot YAML in na_description"))
        save = declare(self, "save", "", "file (.rrd) to write; empty: open a viewer")
        rate = declare(self, "rate", 30.0, "ticks shown per second [Hz]", bounds=(1.0, 200.0))
        self.seconds = declare(
            self, "seconds", 0.0, "end after this time [s]; 0: never", bounds=(0.0, 86400.0)
        )
        self._spec = spec
        self.sink = RerunSink(spec, Path(save) if save else None)
        self._force = ForceSubscriber(self, self.get_namespace())
        self._shown = 0
        self.create_timer(1.0 / rate, self._on_timer)

    def _on_timer(self) -> None:
        tick = self._force.latest(max_age=float("inf"))
        if tick is None or tick.stamp_ns == self._shown:
            return
        self._shown = tick.stamp_ns
        found = self._spec.order.reorder(tick.names, tick.position.tolist())
        if np.isfinite(found.values).all():
            self.sink.log(
                tick.stamp_ns,
                self._spec.names,
                found.values,
                tick.force,
                tick.probability,
                tick.in_contact,
                tick.validity.text,
            )


def main() -> None:
    """Entry point of the executable force_view_node."""
    rclpy.init()
    code = 0
    try:
        node = ForceViewNode()
        end = time.monotonic() + node.seconds if node.seconds else float("inf")
        try:
            while time.monotonic() < end:
                rclpy.spin_once(node, timeout_sec=0.1)
        except (KeyboardInterrupt, ExternalShutdownException):
            pass
        node.sink.close()
        print(f"{node.sink.ticks} ticks shown", flush=True)
    except ImportError as error:
        print(f"{error}: run ./na view, which installs it", file=sys.stderr, flush=True)
        code = 1
    finally:
        rclpy.try_shutdown()
    sys.exit(code)


if __name__ == "__main__":
    main()
