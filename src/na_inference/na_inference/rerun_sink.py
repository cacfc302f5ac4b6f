# SPDX-License-Identifier: Apache-2.0
"""Writes state and force to Rerun: the robot, the force arrow, plots over time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from na_inference.arm_skeleton import ArmSkeleton
from na_inference.force_markers import force_drawing

if TYPE_CHECKING:
    from na_core.robot_spec import RobotSpec

Array = NDArray[np.float64]
TIMELINE = "measured"
AXES = ("x", "y", "z")


class RerunSink:
    """One recording.

    Args:
        spec: the robot.
        save: file (.rrd) to write; None opens a viewer window instead.

    Raises:
        ImportError: rerun-sdk is not installed (`./na view` installs it).
    """

    def __init__(self, spec: RobotSpec, save: Path | None) -> None:
        import rerun
        import rerun.blueprint as blueprint

        self._rr: Any = rerun
        self._skeleton = ArmSkeleton(spec)
        layout = blueprint.Blueprint(
            blueprint.Horizontal(
                blueprint.Spatial3DView(origin="robot", name="robot"),
                blueprint.Vertical(
                    blueprint.TimeSeriesView(origin="force", name="force [N], base axes"),
                    blueprint.TimeSeriesView(origin="contact", name="contact"),
                    blueprint.TimeSeriesView(origin="joints", name="position [rad or m]"),
                ),
            )
        )
        self._stream = rerun.RecordingStream("neural_actuator")
        if save is None:
            self._stream.spawn()
        else:
            save.parent.mkdir(parents=True, exist_ok=True)
            self._stream.save(str(save))
        self._stream.send_blueprint(layout)
        self._stream.log("robot", rerun.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
        self.ticks = 0

    def log(
        self,
        stamp_ns: int,
        names: tuple[str, ...],
        position: Array,
        force: Array,
        probability: float,
        in_contact: bool,
        validity: str,
    ) -> None:
        """Write one tick; position (n,) in the order of `names`, force (3,) [N] in base axes."""
        rr, stream = self._rr, self._stream
        stream.set_time(TIMELINE, timestamp=np.datetime64(stamp_ns, "ns"))
        segments = self._skeleton.segments(position)
        stream.log("robot/links", rr.LineStrips3D(segments, radii=0.008, colors=[180, 180, 190]))
        tip = self._skeleton.tip(position)
        drawing = force_drawing(tip, force, in_contact, validity)
        colour = [round(255 * part) for part in drawing.colour]
        stream.log("robot/gate", rr.Points3D([tip], radii=0.012, colors=[colour]))
        arrow = np.zeros((0, 3)) if drawing.tip is None else np.array([drawing.tip - tip])
        stream.log(
            "robot/force",
            rr.Arrows3D(vectors=arrow, origins=[tip] * len(arrow), colors=[colour] * len(arrow)),
        )
        for axis, name in enumerate(AXES):
            stream.log(f"force/{name}", rr.Scalars(float(force[axis])))
        stream.log("contact/probability", rr.Scalars(float(probability)))
        stream.log("contact/gate", rr.Scalars(float(in_contact)))
        for name, value in zip(names, position, strict=True):
            stream.log(f"joints/{name}", rr.Scalars(float(value)))
        self.ticks += 1

    def close(self) -> None:
        """Write out what is buffered."""
        self._stream.flush()
        self._stream.disconnect()
