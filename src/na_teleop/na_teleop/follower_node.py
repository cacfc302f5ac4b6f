# SPDX-License-Identifier: Apache-2.0
"""ROS 2 node of the follower arm: goals in, servo bus, telemetry out."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from rclpy.qos import QoSProfile, qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

from na_core.robot_spec import RobotSpec
from na_msgs.msg import ActuatorTelemetry, HoldRequest, JointGoal
from na_teleop.arm_calibration import arm_spec
from na_teleop.arm_start import start_bus
from na_teleop.buses.dynamixel_settings import Role
from na_teleop.fixed_rate import FixedRate
from na_teleop.follower_config import FollowerConfig
from na_teleop.follower_control import State
from na_teleop.follower_loop import FollowerLoop
from na_teleop.preflight import require_preflight
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
from na_teleop.teleop_map import Mode, TeleopMap
from na_teleop.workspace import WorkspaceBox, limited

Bounds = tuple[float, float] | None

#: FollowerConfig field -> description and bounds of its parameter.
CONFIG: dict[str, tuple[str, Bounds]] = {
    "ramp_s": ("time to blend from where the arm stands to the leader [s]", (0.0, 60.0)),
    "hold_after_s": ("silence of the leader after which the goal is frozen [s]", (0.02, 60.0)),
    "park_after_s": ("silence of the leader after which the arm parks [s]", (0.1, 3600.0)),
    "resume_after_silence": ("start again when the leader comes back after such a park", None),
    "park_speed": ("share of each joint's velocity limit used for parking", (0.01, 1.0)),
    "park_timeout_s": ("time after which torque goes off even if not parked [s]", (0.1, 60.0)),
    "park_settle_s": ("time given to reach the last park goal [s]", (0.0, 10.0)),
    "park_tolerance": ("distance to the park pose that counts as arrived [rad or m]", (1e-3, 1.0)),
    "max_failed_reads": ("incomplete reads in a row that make a fault", (1, 1000)),
    "release_attempts": ("tries of switching torque off", (1, 100)),
    "watchdog_s": ("silence after which the servos stop by themselves [s]; 0: off", (0.0, 2.5)),
    "stall_after_s": (
        "time that a joint may stand still far from its goal [s]; 0: any",
        (0.0, 60.0),
    ),
    "stall_distance": ("how far from its goal that is [rad of the servo]", (0.05, 3.2)),
    "present_memory_s": ("age up to which a position is used to stop at [s]", (0.01, 5.0)),
}


class FollowerNode(Node):
    """Parameters, topics and services around a FollowerLoop."""

    def __init__(self, stop: StopFlag, **kwargs: Any) -> None:
        """Open and check the arm; raises BusError, RobotSpecError or ValueError with the remedy."""
        super().__init__("follower_node", **kwargs)
        arm = declare_arm(self)
        source = declare(
            self,
            "goal_source",
            "leader",
            "what drives the arm: 'leader' (leader/joint_states) or 'topic' (follower/goal)",
        )
        if source not in ("leader", "topic"):
            raise ValueError(f"parameter goal_source is {source!r}, expected 'leader' or 'topic'")
        self.spec, mapping, box = self._declare_limits(arm_spec(arm, "follower"))
        self.rate = arm.control_rate or self.spec.control_rate
        config = FollowerConfig(control_rate=self.rate, **self._declare_config())
        self.bus = start_bus(self.spec, arm, Role.FOLLOWER, give_up=lambda: stop.count > 0)
        self.loop = FollowerLoop(
            self.bus,
            config,
            partial_goals=source == "topic",
            mapping=mapping if source == "leader" else None,
            constrain=None if box is None else box.apply,
            recheck=self._recheck,
        )
        for change in self.loop.start():
            self.get_logger().info(f"setting changed: {change}")
        self._missed = 0

        self._telemetry = self.create_publisher(ActuatorTelemetry, "follower/telemetry", 100)
        self._joints = self.create_publisher(
            JointState, "follower/joint_states", qos_profile_sensor_data
        )
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        if source == "leader":
            self.create_subscription(
                JointState, "leader/joint_states", self._on_goal, qos_profile_sensor_data
            )
        else:
            self.create_subscription(JointGoal, "follower/goal", self._on_goal, QoSProfile(depth=1))
        self.create_subscription(
            HoldRequest, "follower/hold_request", self._on_hold_request, QoSProfile(depth=10)
        )
        self.create_service(Trigger, "~/park", self._on_park)
        self.create_service(SetBool, "~/clutch", self._on_clutch)
        self.create_service(Trigger, "~/clear_fault", self._on_clear_fault)
        self.create_timer(1.0, self._on_diagnostics)
        self.get_logger().info(f"{self.loop.control.state}: {self.loop.control.reason}")

    def _declare_config(self) -> dict[str, Any]:
        defaults = FollowerConfig()
        return {
            name: declare(self, name, getattr(defaults, name), text, bounds=bounds)
            for name, (text, bounds) in CONFIG.items()
        }

    def _declare_limits(self, spec: RobotSpec) -> tuple[RobotSpec, TeleopMap, WorkspaceBox | None]:
        """Declare teleop mode and limits; returns the robot as limited, the map and the box."""
        modes = [str(mode) for mode in Mode]
        mode = declare(self, "teleop_mode", "joint", f"how to follow: {', '.join(modes)}")
        if mode not in modes:
            raise ValueError(f"parameter teleop_mode is {mode!r}, expected {' or '.join(modes)}")
        scale = declare(
            self, "teleop_scale", 1.0, "size of the motion in other modes", bounds=(0.05, 4.0)
        )
        share = declare(
            self, "velocity_share", 1.0, "share of the velocity limits used", bounds=(0.01, 1.0)
        )
        margin = declare(
            self, "limit_margin", 0.0, "kept clear of joint limits [servo rad]", bounds=(0.0, 1.0)
        )
        corners = declare(
            self,
            "workspace",
            [0.0] * 6,
            "box of the tip in base axes: x, y, z of the lower, then of the upper corner [m]; "
            "all zero: none",
        )
        if len(corners) != 6:
            raise ValueError(f"parameter workspace has {len(corners)} numbers, expected 6")
        spec = limited(spec, share, margin)
        box = WorkspaceBox(spec, corners[:3], corners[3:]) if any(corners) else None
        return spec, TeleopMap(spec, Mode(mode), scale), box

    def _on_clutch(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        response.success, response.message = self.loop.clutch(request.data)
        return response

    def _recheck(self) -> None:
        require_preflight(self.bus)

    def tick(self, rate: FixedRate, stop: StopFlag) -> bool:
        """Run one control tick; False once the arm is parked and released."""
        self._missed = rate.missed
        if stop.count == 1:
            self.loop.shutdown()
        elif stop.count > 1:
            self.loop.release_now()
        tick = self.loop.tick()
        self._telemetry.publish(telemetry_message(tick.telemetry, self.spec.base_frame))
        if not tick.telemetry.stale:
            self._joints.publish(joint_state_message(tick.telemetry, self.spec.base_frame))
        for change in tick.changes:
            if tick.state is State.FAULT:
                self.get_logger().error(f"{change}. Mend the cause, then call ~/clear_fault")
            else:
                self.get_logger().info(change)
        return not self.loop.finished

    def _on_goal(self, message: JointState | JointGoal) -> None:
        refusal = self.loop.leader_message(message.name, message.position)
        if refusal:
            self.get_logger().warning(
                f"{refusal} ({self.loop.intake.total_refused} ignored so far)",
                throttle_duration_sec=1.0,
            )

    def _on_hold_request(self, message: HoldRequest) -> None:
        refusal = self.loop.hold_request(
            message.action, message.duration, message.name, message.position, message.reason
        )
        if refusal:
            self.get_logger().warning(refusal, throttle_duration_sec=1.0)

    def _on_park(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success, response.message = self.loop.park()
        return response

    def _on_clear_fault(
        self, request: Trigger.Request, response: Trigger.Response
    ) -> Trigger.Response:
        response.success, response.message = self.loop.clear_fault()
        return response

    def _on_diagnostics(self) -> None:
        control = self.loop.control
        values: dict[str, object] = {
            "state": control.state,
            "torque_on": control.torque_on,
            "goals_accepted": self.loop.intake.accepted,
            **{f"goals_ignored: {why}": n for why, n in sorted(self.loop.intake.refused.items())},
            "hold_requests": control.holds.accepted,
            "missed_deadlines": self._missed,
            **asdict(self.loop.counters),
            **self.bus.counters.as_dict(),
            **self.loop.health.values(),
        }
        fault = control.state is State.FAULT
        warnings = self.loop.health.warnings()
        self._diagnostics.publish(
            arm_status(self, self.bus.port, control.reason, fault, values, warnings)
        )

    def close(self) -> bool:
        """Release and close the port; False when torque may still be on somewhere."""
        self.loop.close()
        if self.loop.control.torque_on:
            self.get_logger().fatal(
                "torque could not be confirmed off: switch the supply off before touching the arm"
            )
            return False
        self.get_logger().info("torque is off in every servo; port closed")
        return True


def run(stop: StopFlag) -> int:
    """Run the node until it is told to stop; 1 when torque could not be confirmed off."""
    node = FollowerNode(stop)
    released = False
    try:
        run_loop(node, node.rate, lambda rate: node.tick(rate, stop))
    finally:
        released = node.close()
        node.destroy_node()
    return 0 if released else 1


def main() -> None:
    """Entry point of the executable follower_node."""
    sys.exit(run_node(run))


if __name__ == "__main__":
    main()
