# SPDX-License-Identifier: Apache-2.0
"""ROS 2 node of the leader arm: reads its servos and publishes where the operator holds them."""

from __future__ import annotations

import sys
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

from na_msgs.msg import ActuatorTelemetry
from na_teleop.arm_calibration import arm_spec
from na_teleop.arm_start import start_bus
from na_teleop.buses.dynamixel_settings import Role
from na_teleop.fixed_rate import FixedRate
from na_teleop.leader_control import LeaderControl
from na_teleop.ros_helpers import (
    StopFlag,
    arm_status,
    declare_arm,
    joint_state_message,
    run_loop,
    run_node,
    telemetry_message,
)


class LeaderNode(Node):
    """Parameters and topics around a LeaderControl."""

    def __init__(self, stop: StopFlag, **kwargs: Any) -> None:
        """Open and check the arm; raises BusError, RobotSpecError or ValueError with the remedy."""
        super().__init__("leader_node", **kwargs)
        arm = declare_arm(self)
        self.spec = arm_spec(arm, "leader")
        self.rate = arm.control_rate or self.spec.control_rate
        self.bus = start_bus(self.spec, arm, Role.LEADER, give_up=lambda: stop.count > 0)
        self.control = LeaderControl(self.bus)
        for change in self.control.start():
            self.get_logger().info(f"setting changed: {change}")
        self._telemetry = self.create_publisher(ActuatorTelemetry, "leader/telemetry", 100)
        self._joints = self.create_publisher(
            JointState, "leader/joint_states", qos_profile_sensor_data
        )
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self.create_timer(1.0, self._on_diagnostics)
        self._missed = 0
        self.get_logger().info("reading; torque is off")

    def tick(self, rate: FixedRate, stop: StopFlag) -> bool:
        """Read and publish once; False when the node is told to stop."""
        self._missed = rate.missed
        tick = self.control.tick()
        self._telemetry.publish(telemetry_message(tick.telemetry, self.spec.base_frame))
        # A leader that was not read says nothing: silence is what stops the follower.
        if tick.publish:
            self._joints.publish(joint_state_message(tick.telemetry, self.spec.base_frame))
        for change in tick.changes:
            self.get_logger().warning(change)
        return stop.count == 0

    def _on_diagnostics(self) -> None:
        trouble = self.control.trouble
        health = self.control.health
        values: dict[str, object] = {
            "missed_deadlines": self._missed,
            **self.bus.counters.as_dict(),
            **health.values(),
        }
        self._diagnostics.publish(
            arm_status(
                self,
                self.bus.port,
                trouble or "reading",
                bool(trouble),
                values,
                health.warnings(),
            )
        )


def run(stop: StopFlag) -> int:
    """Run the node until it is told to stop."""
    node = LeaderNode(stop)
    try:
        run_loop(node, node.rate, lambda rate: node.tick(rate, stop))
    finally:
        node.bus.close()
        node.destroy_node()
    return 0


def main() -> None:
    """Entry point of the executable leader_node."""
    sys.exit(run_node(run))


if __name__ == "__main__":
    main()
