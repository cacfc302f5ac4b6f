# SPDX-License-Identifier: Apache-2.0
"""ROS 2 lifecycle node of the live force estimate: telemetry in, force or silence out."""

from __future__ import annotations

import gc
import sys
import time
from pathlib import Path
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from rcl_interfaces.msg import SetParametersResult
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_sensor_data
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from na_core.robot_spec import load_robot_spec
from na_inference import adaptation
from na_inference.background import Background, BusyError
from na_inference.estimate import Estimate
from na_inference.joint_state_input import JointStateInput
from na_inference.live_core import LiveCore, find_model, open_model
from na_inference.model_file import Model
from na_inference.node_parameters import PARAMETERS, check_value, joint_state_settings, read_all
from na_inference.reading import Reading
from na_inference.reflex import Ask, Request
from na_inference.ros_helpers import (
    OutputMessages,
    declare,
    nanoseconds,
    set_vector,
    stamp_of,
    status_array,
    vector,
)
from na_inference.telemetry_input import TelemetryInput
from na_msgs.msg import (
    ActuatorTelemetry,
    ContactGate,
    EffortSurrogate,
    ForceLabel,
    HoldRequest,
    JointGoal,
    MotorCondition,
    NeuralActuatorState,
)
from na_msgs.srv import LoadModel, SetGate

SUCCESS, FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE
TOPICS = {
    "effort": EffortSurrogate,
    "wrench": WrenchStamped,
    "wrench_base": WrenchStamped,
    "contact": ContactGate,
    "condition": MotorCondition,
    "state": NeuralActuatorState,
}
ASKS = {
    Ask.HOLD: HoldRequest.HOLD,
    Ask.RETREAT: HoldRequest.RETREAT,
    Ask.RELEASE: HoldRequest.RELEASE,
}
SAY_EVERY = 0.5  # s between log lines about validity
HOLD_FOR = 0.5  # s that a hold request lasts without being renewed


class NeuralActuatorNode(LifecycleNode):  # type: ignore[misc]
    """Parameters, topics and services around a LiveCore."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("neural_actuator_node", **kwargs)
        for name, entry in PARAMETERS.items():
            declare(
                self,
                name,
                entry.default,
                entry.meaning,
                bounds=entry.bounds,
                read_only=not entry.live,
            )
        self.core: LiveCore | None = None
        self._active = False
        self._made: list[Any] = []
        self._jobs: Background[Model] = Background()
        #: Of services that wait for a job: in the common group they would hold back every tick.
        self._waiting = ReentrantCallbackGroup()
        self.add_on_set_parameters_callback(self._on_parameters)

    @property
    def live(self) -> LiveCore:
        """What runs; RuntimeError while the node is not configured."""
        if self.core is None:
            raise RuntimeError("neural_actuator_node is not configured: call configure first")
        return self.core

    # -- life ----------------------------------------------------------------------------

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load and check the model; FAILURE, with the reason in the log, when it is refused."""
        try:
            self.values = read_all(lambda name: self.get_parameter(name).value)
            self.spec = load_robot_spec(self.values["robot"])
            model = open_model(find_model(self.spec, self.values["model"]), self.spec, self.values)
            self.core = LiveCore(self.spec, model, self.values)
            self._open_input()
        except (ValueError, OSError) as error:
            self.get_logger().error(f"not configured: {error}")
            return FAILURE
        self._use(model)
        self._open_outputs()
        self._said: object = None
        self._said_at = -SAY_EVERY
        self.get_logger().info(f"model {model.path} ({model.model_id[:12]}): {model.execution}")
        return SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Begin to estimate."""
        self._active = True
        self._heard = time.monotonic()
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Fall silent; the model stays loaded."""
        self._active = False
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Drop the model and everything that was opened for it."""
        self._active = False
        for destroy, thing in self._made:
            destroy(thing)
        self._made.clear()
        self.core = None
        return SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """End from any state."""
        return self.on_cleanup(state)

    def _use(self, model: Model) -> None:
        """Prepare for the model's outputs; say what is to be known about it."""
        for remark in model.remarks:
            self.get_logger().warning(remark)
        self.messages = OutputMessages(model.metadata, model.model_id)
        self._baseline_message = WrenchStamped()
        self._baseline_message.header.frame_id = model.metadata.base_frame

    def _open_input(self) -> None:
        """Subscribe to the source of ticks; raises ValueError when a unit was not declared."""
        if self.values["input"] == "telemetry":
            self._telemetry = TelemetryInput(self.spec)
            self._subscribe(ActuatorTelemetry, "follower/telemetry", self._on_telemetry, 100)
        else:
            self._states = JointStateInput(self.spec, joint_state_settings(self.values))
            kinds = {
                "JointGoal": JointGoal,
                "JointState": JointState,
                "Float64MultiArray": Float64MultiArray,
            }
            kind = kinds[self.values["goal_type"]]
            self._subscribe(kind, "~/goal", self._on_goal, QoSProfile(depth=1))
            self._subscribe(
                JointState, "joint_states", self._on_joint_state, qos_profile_sensor_data
            )
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._subscribe(ForceLabel, "/nad/label", self._on_label, latched)

    def _subscribe(self, kind: Any, topic: str, callback: Any, qos: Any) -> None:
        subscription = self.create_subscription(kind, topic, callback, qos)
        self._made.append((self.destroy_subscription, subscription))

    def _open_outputs(self) -> None:
        self._publishers_by_name = {}
        for name, kind in TOPICS.items():
            publisher = self.create_lifecycle_publisher(kind, f"neural_actuator/{name}", 10)
            self._publishers_by_name[name] = publisher
        self._baseline = self.create_lifecycle_publisher(WrenchStamped, "~/baseline/wrench", 10)
        self._hold = self.create_lifecycle_publisher(HoldRequest, "follower/hold_request", 1)
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        publishers = [*self._publishers_by_name.values(), self._baseline, self._hold]
        self._made += [(self.destroy_lifecycle_publisher, publisher) for publisher in publishers]
        self._made.append((self.destroy_publisher, self._diagnostics))
        for kind, name, callback, group in (
            (Trigger, "~/tare", self._on_tare, None),
            (Trigger, "~/adapt", self._on_adapt, self._waiting),
            (LoadModel, "~/load_model", self._on_load_model, self._waiting),
            (SetGate, "~/set_gate", self._on_set_gate, None),
        ):
            service = self.create_service(kind, name, callback, callback_group=group)
            self._made.append((self.destroy_service, service))
        silence = self.values["silence_after"]
        self._made.append((self.destroy_timer, self.create_timer(silence / 2.0, self._on_watch)))
        self._made.append((self.destroy_timer, self.create_timer(1.0, self._on_diagnostics)))

    # -- ticks ---------------------------------------------------------------------------

    def _on_telemetry(self, message: ActuatorTelemetry) -> None:
        if self._active:
            stamp = nanoseconds(message.header.stamp)
            self._tick(self._telemetry.reading(message, stamp))

    def _on_joint_state(self, message: JointState) -> None:
        if self._active:
            stamp = nanoseconds(message.header.stamp)
            self._tick(
                self._states.reading(
                    message.name, message.position, message.velocity, message.effort, stamp
                )
            )

    def _on_goal(self, message: Any) -> None:
        if isinstance(message, Float64MultiArray):
            refusal = self._states.goal([], message.data)
        else:
            refusal = self._states.goal(message.name, message.position)
        if refusal:
            self.get_logger().warning(refusal, throttle_duration_sec=1.0)

    def _tick(self, reading: Reading) -> None:
        core = self.live
        self._heard = time.monotonic()
        estimate = core.step(reading, time.time_ns())
        if estimate is None:
            return
        self._publish(estimate)
        force = core.baseline_force(reading)
        if force is not None:
            self._baseline_message.header.stamp = stamp_of(reading.stamp_ns)
            set_vector(self._baseline_message.wrench.force, force)
            self._baseline.publish(self._baseline_message)
        request = core.reflex.step(self._heard, estimate, reading.ticks.position)
        if request.ask is not Ask.NOTHING:
            self._ask(request)

    def _publish(self, estimate: Estimate) -> None:
        core, publishers, messages = self.live, self._publishers_by_name, self.messages
        gate = core.estimator.gate
        latency = 1e-9 * (time.time_ns() - estimate.stamp_ns)
        messages.fill(estimate, (gate.on, gate.off), latency)
        if estimate.valid:
            publishers["wrench"].publish(messages.wrench)
            publishers["wrench_base"].publish(messages.wrench_base)
            core.latency.add(latency)
        publishers["state"].publish(messages.state)
        publishers["contact"].publish(messages.contact)
        publishers["effort"].publish(messages.effort)
        publishers["condition"].publish(messages.condition)
        # A change within the pause is not lost: the next tick after it says what then holds.
        if estimate.validity is self._said:
            return
        now = time.monotonic()
        if now - self._said_at >= SAY_EVERY:
            self._said, self._said_at = estimate.validity, now
            text = f": {estimate.reason}" if estimate.reason else ""
            self.get_logger().info(f"{estimate.validity.text}{text}")

    def _ask(self, request: Request) -> None:
        message = HoldRequest(action=ASKS[request.ask], duration=HOLD_FOR, reason=request.reason)
        message.header.stamp = stamp_of(time.time_ns())
        if request.position is not None:
            message.name = list(self.spec.names)
            message.position = request.position.tolist()
        self._hold.publish(message)

    def _on_watch(self) -> None:
        if not self._active or self.core is None:
            return
        pause = time.monotonic() - self._heard
        if pause >= self.values["silence_after"]:
            stamp = self.core.last_stamp_ns
            self._publish(self.core.estimator.silent(stamp, pause))

    def _on_label(self, message: ForceLabel) -> None:
        if self.core is not None and message.header.frame_id in ("", self.spec.base_frame):
            self.core.recent.label(vector(message.force), message.source, message.valid)

    # -- requests ------------------------------------------------------------------------

    def _on_parameters(self, parameters: list[Parameter]) -> SetParametersResult:
        for parameter in parameters:
            refusal = check_value(parameter.name, parameter.value)
            if refusal:
                return SetParametersResult(successful=False, reason=refusal)
        for parameter in parameters:
            if self.core is not None and parameter.name in PARAMETERS:
                try:
                    self.core.change(parameter.name, parameter.value)
                except ValueError as error:
                    return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _on_tare(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        result = self.live.estimator.request_tare()
        response.success, response.message = result.ok, result.text
        self.get_logger().info(result.text)
        return response

    def _on_set_gate(
        self, request: SetGate.Request, response: SetGate.Response
    ) -> SetGate.Response:
        try:
            self.live.estimator.set_gate(request.threshold_on, request.threshold_off, request.dwell)
        except ValueError as error:
            response.success, response.message = False, str(error)
        else:
            response.success, response.message = True, "gate changed"
        return response

    async def _on_load_model(
        self, request: LoadModel.Request, response: LoadModel.Response
    ) -> LoadModel.Response:
        path, spec, values = Path(request.path).expanduser(), self.spec, self.values
        response.success, response.message = await self._replace(
            lambda: open_model(path, spec, values)
        )
        if self.core is not None:
            response.model_id = self.core.estimator.model.model_id
        return response

    async def _on_adapt(
        self, request: Trigger.Request, response: Trigger.Response
    ) -> Trigger.Response:
        core, spec, values = self.live, self.spec, self.values
        try:
            adaptation.check_labels(len(core.recent), core.recent.labelled)
            command = adaptation.training_command(values["adapt_command"])
        except adaptation.AdaptationError as error:
            response.success, response.message = False, str(error)
            return response
        recent, old = core.recent.frozen(), core.estimator.model

        def adapted() -> Model:
            with adaptation.work_folder() as folder:
                recent.save(folder / "data", 1.0 / old.metadata.dt)
                job = adaptation.Job(
                    command, spec.robot, old.path, folder / "data", folder / "new.onnx"
                )
                return open_model(adaptation.run(job), spec, values)

        response.success, response.message = await self._replace(adapted)
        return response

    async def _replace(self, make: Any) -> tuple[bool, str]:
        """Make a model in the background; swap it in between two ticks when it is good."""
        executor = self.executor
        future: Future = Future(executor=executor)

        def done(model: Model | None, error: Exception | None) -> None:
            future.set_result((model, error))
            executor.wake()  # it may be asleep: nothing else need ever happen

        try:
            self._jobs.start(make, done)
        except BusyError as busy:
            return False, str(busy)
        model, trouble = await future
        if self.core is None:
            return False, "the node was cleaned up meanwhile"
        if model is None:
            text = f"{type(trouble).__name__}: {trouble}; the model in use stays"
            self.get_logger().error(text)
            return False, text
        self.core.swap(model)
        self._use(model)
        text = f"model {model.path} ({model.model_id[:12]}) in use"
        self.get_logger().info(text)
        return True, text

    def _on_diagnostics(self) -> None:
        if self.core is None:
            return
        model, valid = self.core.estimator.model, self.core.estimator.out.valid
        self._diagnostics.publish(
            status_array(self, self.spec.robot, self.core.status(), model.remarks, valid)
        )


def start(node: NeuralActuatorNode) -> bool:
    """Configure and activate when autostart says so; False when that failed."""
    if not node.get_parameter("autostart").value:
        return True
    if node.trigger_configure() is not SUCCESS:
        return False
    return node.trigger_activate() is SUCCESS


def main() -> None:
    """Entry point of the executable neural_actuator_node."""
    rclpy.init()
    node = NeuralActuatorNode()
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    code = 0
    try:
        if start(node):
            # What exists now stays; without this every collection walks all imported modules.
            gc.collect()
            gc.freeze()
            executor.spin()
        else:
            code = 1
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        if rclpy.ok():
            node.destroy_node()
        rclpy.try_shutdown()
    sys.exit(code)


if __name__ == "__main__":
    main()
