# SPDX-License-Identifier: Apache-2.0
"""ROS 2 node that draws the force for RViz and Foxglove: neural_actuator/markers."""

from __future__ import annotations

from typing import Any

import numpy as np
import rclpy
from geometry_msgs.msg import Point
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from na_core.kinematics import Kinematics
from na_core.robot_spec import load_robot_spec
from na_inference.client import ForceSubscriber, StateAndForce
from na_inference.force_markers import ForceDrawing, force_drawing
from na_inference.ros_helpers import declare, stamp_of

NAMESPACE = "force"


class ForceMarkersNode(Node):
    """Parameters and a timer around `force_drawing`."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("force_markers_node", **kwargs)
        self.spec = load_robot_spec(declare(self, "robot", "omx", "robot YAML in na_description"))
        rate = declare(self, "rate", 20.0, "drawings per second [Hz]", bounds=(1.0, 100.0))
        self._kinematics = Kinematics(self.spec)
        self._force = ForceSubscriber(self, self.get_namespace())
        self._publisher = self.create_publisher(MarkerArray, "neural_actuator/markers", 1)
        self._drawn = 0
        self.create_timer(1.0 / rate, self._on_timer)

    def _on_timer(self) -> None:
        latest = self._force.latest(max_age=float("inf"))
        if latest is None or latest.stamp_ns == self._drawn:
            return
        self._drawn = latest.stamp_ns
        self._publisher.publish(self._markers(latest))

    def _markers(self, tick: StateAndForce) -> MarkerArray:
        found = self.spec.order.reorder(tick.names, tick.position.tolist())
        if not np.isfinite(found.values).all():
            return MarkerArray()
        origin = self._kinematics.fk(found.values).position
        drawing = force_drawing(origin, tick.force, tick.in_contact, tick.validity.text)
        stamp = stamp_of(tick.stamp_ns)
        markers = [self._ball(drawing), self._label(drawing), self._arrow(drawing)]
        for number, marker in enumerate(markers):
            marker.header.frame_id, marker.header.stamp = self.spec.base_frame, stamp
            marker.ns, marker.id = NAMESPACE, number
        return MarkerArray(markers=markers)

    def _ball(self, drawing: ForceDrawing) -> Marker:
        marker = Marker(type=Marker.SPHERE, action=Marker.ADD, color=_colour(drawing))
        marker.pose.position = _point(drawing.origin)
        marker.scale.x = marker.scale.y = marker.scale.z = 0.02
        return marker

    def _label(self, drawing: ForceDrawing) -> Marker:
        marker = Marker(type=Marker.TEXT_VIEW_FACING, action=Marker.ADD, text=drawing.text)
        marker.pose.position = _point(drawing.origin + np.array([0.0, 0.0, 0.06]))
        marker.color = _colour(drawing)
        marker.scale.z = 0.02
        return marker

    def _arrow(self, drawing: ForceDrawing) -> Marker:
        if drawing.tip is None:
            return Marker(action=Marker.DELETE)
        marker = Marker(type=Marker.ARROW, action=Marker.ADD, color=_colour(drawing))
        marker.points = [_point(drawing.origin), _point(drawing.tip)]
        marker.scale.x, marker.scale.y, marker.scale.z = 0.006, 0.014, 0.02
        return marker


def _point(values: Any) -> Point:
    x, y, z = (float(value) for value in values)
    return Point(x=x, y=y, z=z)


def _colour(drawing: ForceDrawing) -> ColorRGBA:
    r, g, b, a = drawing.colour
    return ColorRGBA(r=r, g=g, b=b, a=a)


def main() -> None:
    """Entry point of the executable force_markers_node."""
    rclpy.init()
    try:
        rclpy.spin(ForceMarkersNode())
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        rclpy.try_shutdown()


if __name__ == "__main__":
    main()
