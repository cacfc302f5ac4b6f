# SPDX-License-Identifier: Apache-2.0
"""A node with something for every verb to look at; run by test_verbs.py."""

import signal
import sys

import rclpy
from rcl_interfaces.msg import SetParametersResult
from rclpy.qos import QoSDurabilityPolicy, QoSProfile, qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool


def main() -> None:
    """Publish at 50 Hz, answer, until SIGTERM."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    rclpy.init(signal_handler_options=rclpy.SignalHandlerOptions.NO)
    node = rclpy.create_node("demo", namespace="arm")
    node.declare_parameter("gain", 1.5)
    node.declare_parameter("names", ["a", "b"])
    node.add_on_set_parameters_callback(
        lambda parameters: SetParametersResult(
            successful=all(p.name != "gain" or p.value < 10.0 for p in parameters),
            reason="gain must be below 10",
        )
    )
    best_effort = node.create_publisher(JointState, "/joint_states", qos_profile_sensor_data)
    local = QoSProfile(depth=1, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL)
    node.create_publisher(String, "/label", local).publish(String(data="latched"))

    def flip(request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        response.success, response.message = request.data, "flipped"
        return response

    def heard(message: String) -> None:
        print(f"heard {message.data}", flush=True)

    def tick() -> None:
        message = JointState(name=["j1", "j2"], position=[0.25, -1.0])
        best_effort.publish(message)

    node.create_service(SetBool, "~/flip", flip)
    node.create_subscription(String, "/said", heard, 10)
    node.create_timer(0.02, tick)
    print("ready", flush=True)
    while True:
        rclpy.spin_once(node, timeout_sec=0.05)


main()
