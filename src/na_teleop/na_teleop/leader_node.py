# SPDX-License-Identifier: Apache-2.0
"""ROS 2 node of the leader arm: publishes where the operator holds it, and assists on request."""

from __future__ import annotations

import sys
from dataclasses import fields
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool
from std_srvs.srv import SetBool

from na_msgs.msg import ActuatorTelemetry
from na_teleop.arm_calibration import arm_spec
from na_teleop.arm_start import start_bus
from na_teleop.assisted_leader import AssistedLeader, DeadMan
from na_teleop.buses.dynamixel_settings import Role
from na_teleop.fixed_rate import FixedRate
from na_teleop.leader_aids.config import FIELDS, AidsConfig
from na_teleop.ros_helpers import (
    StopFlag,
    arm_status,
    declare,
    declare_arm,
    joint_state_message,
    run_loop,
    run_node,
    telemetry_message,
)


class LeaderNode(Node):
    """Parameters, topics and one service around an AssistedLeader."""

    def __init__(self, stop: StopFlag, **kwargs: Any) -> None:
        """Open and check the arm; raises BusError, RobotSpecError or ValueError with the remedy."""
        super().__init__("leader_node", **kwargs)
        arm = declare_arm(self)
        self.spec = arm_spec(arm, "leader")
        self.rate = arm.control_rate or self.spec.control_rate
        config, dead_man = self._declare_aids()
        wrench_topic = declare(
            self,
            "wrench_topic",
            "neural_actuator/wrench_base",
            "external force on the follower in base axes (geometry_msgs/WrenchStamped)",
        )
        self._aids_wanted = bool(
            declare(self, "aids", False, "push the leader from the start; else see ~/aids")
        )
        self.bus = start_bus(self.spec, arm, Role.LEADER, give_up=lambda: stop.count > 0)
        self.control = AssistedLeader(self.bus, config, dead_man=dead_man)
        for change in self.control.start():
            self.get_logger().info(f"setting changed: {change}")
        self._telemetry = self.create_publisher(ActuatorTelemetry, "leader/telemetry", 100)
        self._joints = self.create_publisher(
            JointState, "leader/joint_states", qos_profile_sensor_data
        )
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self.create_timer(1.0, self._on_diagnostics)
        self.create_subscription(
            WrenchStamped, wrench_topic, self._on_wrench, qos_profile_sensor_data
        )
        self.create_subscription(Bool, "leader/dead_man", self._on_dead_man, 10)
        self.create_service(SetBool, "~/aids", self._on_aids)
        self._missed = 0
        self.get_logger().info("reading; torque is off")
        if self.control.obstacle:
            say = self.get_logger().error if self._aids_wanted else self.get_logger().info
            say(f"no leader aids: {self.control.obstacle}")
            self._aids_wanted = False

    def _declare_aids(self) -> tuple[AidsConfig, DeadMan]:
        """Declare what the aids need, one parameter per field of AidsConfig."""
        defaults = AidsConfig()
        values: dict[str, Any] = {
            entry.name: declare(
                self,
                f"aid_{entry.name}",
                getattr(defaults, entry.name),
                FIELDS[entry.name][0] if entry.name in FIELDS else f"see AidsConfig.{entry.name}",
                bounds=FIELDS[entry.name][1] if entry.name in FIELDS else None,
            )
            for entry in fields(AidsConfig)
        }
        ways = [str(way) for way in DeadMan]
        dead_man = declare(
            self, "dead_man", str(DeadMan.GRIPPER), f"what allows feedback: {', '.join(ways)}"
        )
        if dead_man not in ways:
            raise ValueError(f"parameter dead_man is {dead_man!r}, expected {' or '.join(ways)}")
        return AidsConfig(**values), DeadMan(dead_man)

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
        if self._aids_wanted and tick.publish:
            self._aids_wanted = False
            done, text = self.control.switch(True)
            (self.get_logger().info if done else self.get_logger().error)(text)
        return stop.count == 0

    def _on_wrench(self, message: WrenchStamped) -> None:
        force = message.wrench.force
        if not self.control.feed_wrench([force.x, force.y, force.z], message.header.frame_id):
            self.get_logger().warning(
                f"wrench ignored: {self.control.aids.feedback.last_refusal}",
                throttle_duration_sec=5.0,
            )

    def _on_dead_man(self, message: Bool) -> None:
        self.control.feed_dead_man(message.data)

    def _on_aids(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        response.success, response.message = self.control.switch(request.data)
        return response

    def _aid_values(self) -> dict[str, object]:
        control = self.control
        values: dict[str, object] = {
            "aids": "on" if control.output is not None else f"off: {control.off_reason}",
            "torque_on": control.torque_on,
        }
        if control.output is not None:
            values |= {
                "feedback_share": f"{control.aids.feedback.share:.2f}",
                "feedback_energy": f"{control.output.guard.energy:.4f} J",
                "guard_share": f"{control.output.guard.share:.2f}",
                "joints_at_current_limit": int(control.output.saturated.sum()),
            }
        return values

    def _on_diagnostics(self) -> None:
        trouble = self.control.trouble
        health = self.control.health
        values: dict[str, object] = {
            "missed_deadlines": self._missed,
            **self.bus.counters.as_dict(),
            **health.values(),
            **self._aid_values(),
        }
        self._diagnostics.publish(
            arm_status(
                self,
                self.bus.port,
                trouble or ("assisting" if self.control.output is not None else "reading"),
                bool(trouble),
                values,
                health.warnings(),
            )
        )

    def close(self) -> bool:
        """Release and close the port; False when torque may still be on somewhere."""
        self.control.close()
        if self.control.torque_on:
            self.get_logger().fatal(
                "the leader's torque could not be confirmed off: switch its supply off"
            )
        return not self.control.torque_on


def run(stop: StopFlag) -> int:
    """Run the node until it is told to stop; 1 when torque could not be confirmed off."""
    node = LeaderNode(stop)
    try:
        run_loop(node, node.rate, lambda rate: node.tick(rate, stop))
    finally:
        released = node.close()
        node.destroy_node()
    return 0 if released else 1


def main() -> None:
    """Entry point of the executable leader_node."""
    sys.exit(run_node(run))


if __name__ == "__main__":
    main()
