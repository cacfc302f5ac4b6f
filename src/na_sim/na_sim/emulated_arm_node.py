# SPDX-License-Identifier: Apache-2.0
"""ROS 2 node that stands in for one arm: servos on a pseudo-terminal in front of physics."""

from __future__ import annotations

import signal
import sys
import threading
import time
from types import FrameType
from typing import TypeVar

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from na_core.robot_spec import RobotSpecError, load_robot_spec
from na_msgs.msg import PlantTruth
from na_sim.emulated_arm import EmulatedArm
from na_sim.faults import load_script
from na_sim.scene_script import scene_script
from na_sim.truth_ros_helpers import truth_message

T = TypeVar("T", str, int, bool)

#: A driver told to stop parks the arm before it lets go; the servos must still be there then [s].
OUTLIVE_DRIVER = 11.0
#: Torque has been off for this long [s]: the driver has also asked each servo whether it is.
QUIET = 1.0
#: How often the fault script is looked at [s].
FAULT_PERIOD = 0.01
#: How often the truth is published [s].
TRUTH_PERIOD = 1.0 / 60.0
DESCRIPTIONS = {
    "robot": "robot YAML in na_description, or a path to one",
    "arm": "'leader' (a scripted operator moves it) or 'follower'",
    "port": "path of the pseudo-terminal to create",
    "seed": "seed of sensor noise and of the operator",
    "unit": "which physical unit the hidden parameters are drawn for",
    "realistic_timing": "replies take as long as on the wire",
    "scene": "weights, pushes, rests of the operator: 'demo', 'live' or a YAML file; '' for none",
    "faults": "YAML file that scripts faults of cable and servos; '' for none",
}


class EmulatedArmNode(Node):
    """Parameters and diagnostics around an EmulatedArm."""

    def __init__(self) -> None:
        """Create the port; raises ValueError, OSError or RobotSpecError naming the parameter."""
        super().__init__("emulated_arm_node")
        arm = self._declare("arm", "follower")
        if arm not in ("leader", "follower"):
            raise ValueError(f"parameter arm is {arm!r}, expected 'leader' or 'follower'")
        path = self._declare("port", "")
        if not path:
            raise ValueError("parameter port is empty, expected a path for the emulated port")
        script = self._declare("faults", "")
        scene = self._declare("scene", "")
        self.spec = load_robot_spec(self._declare("robot", "omx"))
        self.arm = EmulatedArm(
            self.spec,
            path,
            seed=self._declare("seed", 0),
            unit=self._declare("unit", 0),
            operator=arm == "leader",
            realistic_timing=self._declare("realistic_timing", True),
            faults=load_script(script) if script else None,
            scene=scene_script(scene) if scene else None,
        )
        self.arm.open()
        if script:
            self.create_timer(FAULT_PERIOD, self._on_faults)
        self._truth = self.create_publisher(PlantTruth, f"sim/{arm}/truth", 10)
        self._said = 0
        self.create_timer(TRUTH_PERIOD, self._on_truth)
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self.create_timer(1.0, self._on_diagnostics)
        self.get_logger().info(f"emulated {arm} arm on {path}")

    def _declare(self, name: str, default: T) -> T:
        descriptor = ParameterDescriptor(description=DESCRIPTIONS[name], read_only=True)
        value: T = self.declare_parameter(name, default, descriptor).value
        return value

    def _on_truth(self) -> None:
        truth = self.arm.truth
        if truth is not None and truth.stamp_ns != self._said:
            self._said = truth.stamp_ns
            self._truth.publish(truth_message(truth, self.spec))

    def _on_faults(self) -> None:
        for news in self.arm.step_faults():
            self.get_logger().warning(news)

    def _on_diagnostics(self) -> None:
        late = self.arm.slips
        status = DiagnosticStatus(
            level=DiagnosticStatus.WARN if late else DiagnosticStatus.OK,
            name=self.get_fully_qualified_name(),
            hardware_id=self.arm.path,
            message="emulated" if not late else "the physics could not keep up with real time",
            values=[
                KeyValue(key="torque_on", value=str(self.arm.torque_enabled())),
                KeyValue(key="slips", value=str(late)),
            ],
        )
        array = DiagnosticArray(status=[status])
        array.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(array)


def run(told: threading.Event) -> int:
    """Serve until told to stop, then for as long as a driver still holds torque."""
    node = EmulatedArmNode()
    try:
        while not told.is_set():
            rclpy.spin_once(node, timeout_sec=0.1)
        deadline = time.monotonic() + OUTLIVE_DRIVER
        off_since = time.monotonic()
        while time.monotonic() < min(deadline, off_since + QUIET):
            rclpy.spin_once(node, timeout_sec=0.1)
            if any(node.arm.torque_enabled().values()):
                off_since = time.monotonic()
        on = sorted(servo for servo, torque in node.arm.torque_enabled().items() if torque)
        if on:
            node.get_logger().error(f"torque still on in servos {on} when the emulation ended")
        else:
            node.get_logger().info("torque is off in every emulated servo")
        return 1 if on else 0
    finally:
        node.arm.close()
        node.destroy_node()


def main() -> None:
    """Entry point of the executable emulated_arm_node."""
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    told = threading.Event()

    def tell(number: int, frame: FrameType | None) -> None:
        told.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, tell)
    try:
        code = run(told)
    except (ValueError, OSError, RobotSpecError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        code = 1
    finally:
        rclpy.try_shutdown()
    sys.exit(code)


if __name__ == "__main__":
    main()
