# SPDX-License-Identifier: Apache-2.0
"""ROS 2 node that records NAD episodes: subscribes raw, hands bytes to RecorderSession."""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from std_srvs.srv import Trigger

from na_core.nad import layout
from na_core.nad.layout import EpisodeInfo, Qos, TopicSpec
from na_core.nad.reader import find_unfinished
from na_core.robot_spec import RobotSpecError, load_robot_spec
from na_msgs.msg import EpisodeInfo as EpisodeInfoMsg
from na_msgs.msg import ForceLabel
from na_msgs.srv import SetForceLabel, StartEpisode, StopEpisode
from na_teleop.recorder import parameters
from na_teleop.recorder.auto import Action, AutoMode
from na_teleop.recorder.labels import check_label
from na_teleop.recorder.session import RecorderSession, SessionError
from na_teleop.recorder.status import DiagnosticReport, diagnose
from na_teleop.ros_helpers import StopFlag, run_node

RECEIVE_DEPTH = 1000
"""Messages a subscription may hold while the disk is busy."""
NICENESS = 5
"""Lowered priority; with two processes competing for two cores nothing was missed at 100 Hz."""


class RecorderNode(Node):
    """Records episodes on request, from parameters (auto mode) or at once (auto_start)."""

    def __init__(self, **kwargs: Any) -> None:
        """Declare parameters, subscribe to every topic of the layout, offer the services."""
        super().__init__("recorder_node", **kwargs)
        values = self._declare()
        self._urgent = False
        self.session = RecorderSession(
            replace(parameters.config_from(values), namespace=self.get_namespace()),
            self._with_robot(parameters.defaults_from(values, _software_version())),
            offered=self._offered,
            report=self._report,
            announce=self._announce,
        )
        self._auto = AutoMode(values["auto_episodes"], values["auto_length"], values["auto_reset"])
        self._auto_start = bool(values["auto_start"])
        latched = _pinned(layout.LATCHED)
        self._episode_pub = self.create_publisher(
            EpisodeInfoMsg, _relative(layout.EPISODE), latched
        )
        self._label_pub = self.create_publisher(ForceLabel, _relative(layout.LABEL), latched)
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self._subscribe(self.session.config.topics)
        self.create_service(StartEpisode, "~/start_episode", self._on_start)
        self.create_service(StopEpisode, "~/stop_episode", self._on_stop)
        self.create_service(Trigger, "~/redo_episode", self._on_redo)
        self.create_service(SetForceLabel, "~/set_force_label", self._on_label)
        self.create_timer(0.1, self._on_tick)
        for part in find_unfinished(self.session.config.out_dir):
            self._report("warn", f"{part} was never closed; run: ./na bag recover {part}")
        self.create_timer(1.0, self._on_diagnostics)
        self.add_on_set_parameters_callback(self._on_parameters)
        self.add_post_set_parameters_callback(self._after_parameters)

    # ------------------------------------------------------------- callbacks

    def _on_message(self, topic: str, cdr: bytes, info: Any) -> None:
        received = info["received_timestamp"] or time.time_ns()
        self.session.message(topic, cdr, received, info["source_timestamp"] or received)

    def _on_start(
        self, request: StartEpisode.Request, response: StartEpisode.Response
    ) -> StartEpisode.Response:
        wanted = EpisodeInfo(
            **{name: getattr(request, name) for name in request.get_fields_and_field_types()}
        )
        reason = parameters.refuse("category", wanted.category)
        try:
            if reason:
                raise SessionError(reason)
            response.path = str(self.session.start(wanted))
            response.success = True
        except SessionError as error:
            response.message = str(error)
        return response

    def _on_stop(
        self, request: StopEpisode.Request, response: StopEpisode.Response
    ) -> StopEpisode.Response:
        try:
            stopped = self.session.stop(request.keep)
            response.success = True
            response.path = str(stopped.path or "")
            response.messages = stopped.messages
            response.duration = stopped.duration
        except SessionError as error:
            response.message = str(error)
        return response

    def _on_redo(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            response.message = str(self.session.redo())
            response.success = True
        except SessionError as error:
            response.message = str(error)
        return response

    def _on_label(
        self, request: SetForceLabel.Request, response: SetForceLabel.Response
    ) -> SetForceLabel.Response:
        label = request.label
        force = (label.force.x, label.force.y, label.force.z)
        response.message = check_label(label.source, force, label.mass, label.header.frame_id)
        response.success = not response.message
        if response.success:
            if label.header.stamp.sec == 0 and label.header.stamp.nanosec == 0:
                label.header.stamp = self.get_clock().now().to_msg()
            self._label_pub.publish(label)
            if label.source == ForceLabel.FT_SENSOR and not self.session.seen.get(layout.FT_WRENCH):
                response.message = f"set, but nothing has arrived on {layout.FT_WRENCH} so far"
        return response

    def _on_tick(self) -> None:
        session = self.session
        session.tick()
        if self._auto_start and not session.recording and self._something_flows():
            self._auto_start = False
            self._try(session.start)
        stopped = session.last
        kept = stopped is None or stopped.path is not None
        action = self._auto.step(time.monotonic(), session.recording, kept)
        if action is Action.START:
            self._try(session.start)
        elif action is Action.STOP:
            self._try(session.stop)
        elif action is Action.DONE:
            self._report("info", f"auto mode: {self._auto.done} episodes recorded")
        if self._urgent:
            self._on_diagnostics()

    def _on_diagnostics(self) -> None:
        self._urgent = False
        report: DiagnosticReport = diagnose(self.session)
        status = DiagnosticStatus(
            level=bytes([report.level]),
            name=f"{self.get_fully_qualified_name().lstrip('/')}: episode",
            message=report.message,
            hardware_id=self.session.defaults.robot,
            values=[KeyValue(key=key, value=value) for key, value in report.values],
        )
        array = DiagnosticArray(status=[status])
        array.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(array)

    def _on_parameters(self, changes: Sequence[RosParameter]) -> SetParametersResult:
        for change in changes:
            reason = parameters.refuse(change.name, change.value)
            fixed = change.name in parameters.BY_NAME.keys() - parameters.CHANGEABLE
            if not reason and fixed:
                reason = f"{change.name} is read at start only; restart the recorder"
            if reason:
                return SetParametersResult(successful=False, reason=reason)
        return SetParametersResult(successful=True)

    def _after_parameters(self, changes: Sequence[RosParameter]) -> None:
        labels = {p.name: p.value for p in changes if p.name in parameters.CHANGEABLE}
        if labels:
            self.session.relabel(**labels)

    # --------------------------------------------------------------- details

    def _declare(self) -> dict[str, Any]:
        values = {}
        for item in parameters.PARAMETERS:
            descriptor = ParameterDescriptor(description=item.description)
            if item.low is not None and item.high is not None:
                if isinstance(item.default, int):
                    limits = IntegerRange(from_value=int(item.low), to_value=int(item.high), step=0)
                    descriptor.integer_range = [limits]
                else:
                    span = FloatingPointRange(from_value=item.low, to_value=item.high)
                    descriptor.floating_point_range = [span]
            value = self.declare_parameter(item.name, item.default, descriptor).value
            reason = parameters.refuse(item.name, value)
            if reason:
                raise ValueError(f"recorder parameter {reason}")
            values[item.name] = value
        return values

    def _with_robot(self, info: EpisodeInfo) -> EpisodeInfo:
        try:
            spec = load_robot_spec(info.robot)
        except (RobotSpecError, OSError) as error:
            self.get_logger().warning(f"robot hash and rate not recorded: {error}")
            return info
        info.robot_hash = spec.digest
        info.control_rate = spec.control_rate
        return info

    def _subscribe(self, specs: Sequence[TopicSpec]) -> None:
        for spec in specs:
            if spec.name == layout.EPISODE:
                continue  # ours: written directly
            try:
                kind = _message_class(spec.type)
            except (ImportError, AttributeError) as error:
                self.get_logger().error(f"{spec.name} not recorded: no Python type: {error}")
                continue
            callback = partial(self._on_message, spec.name)
            self.create_subscription(
                kind, _relative(spec.name), callback, _pinned(spec.qos), raw=True
            )

    def _offered(self, topic: str) -> list[Qos]:
        name = self.resolve_topic_name(_relative(topic))
        found: list[Qos] = []
        for info in self.get_publishers_info_by_topic(name):
            profile = _as_layout(info.qos_profile)
            if profile not in found:
                found.append(profile)
        return found

    def _announce(self, cdr: bytes) -> None:
        if self.context.ok():  # after SIGINT the episode still closes, but nobody can be told
            self._episode_pub.publish(deserialize_message(cdr, EpisodeInfoMsg))

    def _report(self, severity: str, text: str) -> None:
        logger = self.get_logger()
        self._urgent |= severity != "info"  # tell /diagnostics at once
        if severity == "error":
            logger.error(text)
        elif severity == "warn":
            logger.warning(text)
        else:
            logger.info(text)

    def _try(self, action: Any) -> None:
        try:
            action()
        except SessionError as error:
            self._report("error", str(error))

    def _something_flows(self) -> bool:
        config = self.session.config
        return any(self.session.seen.get(name) for name in config.expected) or not config.expected


def _relative(topic: str) -> str:
    return topic.lstrip("/")


def _message_class(type_name: str) -> Any:
    package, _, name = type_name.split("/")
    return getattr(importlib.import_module(f"{package}.msg"), name)


def _pinned(qos: Qos) -> QoSProfile:
    """Return the profile that we ask for: the layout's, with room for a busy disk."""
    latched = qos.durability == "transient_local"
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=qos.depth if latched else RECEIVE_DEPTH,
        reliability=(
            ReliabilityPolicy.BEST_EFFORT
            if qos.reliability == "best_effort"
            else ReliabilityPolicy.RELIABLE
        ),
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


def _as_layout(profile: QoSProfile) -> Qos:
    def split(duration: Any) -> tuple[int, int]:
        sec, nanosec = divmod(duration.nanoseconds, 1_000_000_000)
        return int(sec), int(nanosec)

    return Qos(
        reliability=profile.reliability.name.lower(),
        durability=profile.durability.name.lower(),
        history=profile.history.name.lower(),
        depth=profile.depth,
        deadline=split(profile.deadline),
        lifespan=split(profile.lifespan),
        liveliness=profile.liveliness.name.lower(),
        liveliness_lease_duration=split(profile.liveliness_lease_duration),
    )


def _software_version() -> str:
    try:
        return f"na_teleop {version('na_teleop')}"
    except PackageNotFoundError:
        return "na_teleop (source tree)"


def run(stop: StopFlag) -> int:
    """Record until told to stop; a running episode is closed and kept while ROS still runs."""
    node = RecorderNode()
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    try:
        while stop.count == 0:
            executor.spin_once(timeout_sec=0.1)
    finally:
        node.session.close()
        executor.shutdown()
        node.destroy_node()
    return 0


def main() -> None:
    """Entry point of the executable recorder_node."""
    # Ticks reach recorder and force estimate together. The recorder has a long queue; the
    # estimate is late when it has to wait, so it goes first where there are few cores.
    os.nice(NICENESS)
    sys.exit(run_node(run))


if __name__ == "__main__":
    main()
