# SPDX-License-Identifier: Apache-2.0
"""The arm of a recorded episode with its force arrows, rendered by MuJoCo into an animated WebP.

Runs as a program of its own (`python -m na_cli.demo_video BAG OUT`): MuJoCo chooses its OpenGL
once, when it is imported, so every choice is tried in a process of its own.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from na_cli.live_force import LiveForce, live_force
from na_core.nad.arrays import Episode, TelemetryTrack
from na_core.nad.reader import load_episode
from na_core.robot_spec import RobotSpec, load_robot_spec

Array = NDArray[np.float64]

SIZE = (480, 640)  # height, width [px]
FRAMES_PER_SECOND = 12.5
METRES_PER_NEWTON = 0.03  # as the markers of force_markers_node
THICKNESS = 0.005  # m
SKY = (238, 241, 244)  # where nothing is
SMALLEST = 0.1  # N; shorter arrows are not drawn
TRUTH, ESTIMATE = (0.62, 0.66, 0.71, 1.0), (0.80, 0.15, 0.12, 1.0)
PLATFORMS = ("egl", "osmesa")
#: What one attempt may take [s]: a minute of recording takes some 20 s without a graphics card.
TIMEOUT = 300.0


class NoPictureError(RuntimeError):
    """No OpenGL could render; the text says what was tried and what to install."""


def record(bag: Path, out: Path, robot: str) -> Path:
    """Render episode `bag` to `out` (.webp) with the first OpenGL that works.

    $MUJOCO_GL is the only one tried where it is set.

    Raises:
        NoPictureError: none works.
    """
    chosen = os.environ.get("MUJOCO_GL")
    said = []
    for platform in (chosen,) if chosen else PLATFORMS:
        words = [sys.executable, "-m", "na_cli.demo_video", str(bag), str(out), "--robot", robot]
        try:
            done = subprocess.run(
                words,
                env={**os.environ, "MUJOCO_GL": platform, "PYOPENGL_PLATFORM": platform},
                capture_output=True,
                text=True,
                timeout=TIMEOUT,
            )
        except subprocess.TimeoutExpired:
            said.append(f"{platform}: no end within {TIMEOUT:g} s")
            continue
        if done.returncode == 0 and out.is_file():
            return out
        lines = done.stderr.strip().splitlines()
        said.append(f"{platform}: {lines[-1] if lines else f'exit code {done.returncode}'}")
    raise NoPictureError(
        f"no video: MuJoCo found no OpenGL to render with ({'; '.join(said)}). Install one, for "
        "example: sudo apt install libegl1 libgl1-mesa-dri, or libosmesa6; everything else of the "
        "demo does without"
    )


def frames(episode: Episode, force: LiveForce | None, spec: RobotSpec) -> list[NDArray[np.uint8]]:
    """Pictures (height, width, 3) of the follower at `FRAMES_PER_SECOND`, arrows where known."""
    import mujoco

    track = episode.follower
    if track is None or len(track.stamp_ns) < 2:
        raise ValueError(f"{episode.path}: no follower telemetry to draw")
    scene = _lit_scene(spec)
    data = mujoco.MjData(scene.model)
    renderer = mujoco.Renderer(scene.model, *SIZE)
    camera = mujoco.MjvCamera()
    camera.azimuth, camera.elevation, camera.distance = 125.0, -18.0, 0.66
    camera.lookat = [0.1, 0.0, 0.17]
    made = []
    for time, position in zip(*_sampled(track), strict=True):
        data.qpos[scene.qpos] = position
        coupled = scene.mimic_qpos >= 0
        data.qpos[scene.mimic_qpos[coupled]] = position[coupled]
        mujoco.mj_forward(scene.model, data)
        renderer.update_scene(data, camera)
        tip = data.xpos[scene.end_effector]
        for vector, colour in _arrows(force, time):
            _draw(renderer.scene, tip, vector, colour)
        picture = renderer.render().copy()
        picture[(picture == 0).all(axis=2)] = SKY
        made.append(picture)
    renderer.close()
    return made


def _lit_scene(robot: RobotSpec) -> Any:
    import mujoco

    from na_sim.scene import NOTHING, SceneOptions, build_spec, index_scene

    options = SceneOptions()
    spec, mimics = build_spec(robot, options)
    for geom in spec.geoms:
        if not geom.contype and not geom.conaffinity:
            geom.conaffinity = (
                NOTHING  # shapes that touch nothing are kept: here they are looked at
            )
    scene = index_scene(robot, spec.compile(), mimics, robot.end_effector_frame, options)
    model = scene.model
    model.vis.headlight.ambient[:] = 0.45
    model.vis.headlight.diffuse[:] = 0.55
    model.geom_rgba[scene.grasp_geom, 3] = 0.0  # an episode does not say where the block is
    table = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_GEOM, "table")
    model.geom_rgba[table] = (0.90, 0.92, 0.94, 1.0)
    return scene


def _sampled(track: TelemetryTrack) -> tuple[Array, Array]:
    """Times (K,) [s] and positions (K, n) at the rate of the video; stale ticks left out."""
    good = np.isfinite(track.position).all(axis=1)
    time, position = track.stamp_ns[good] * 1e-9, track.position[good]
    shown = np.arange(time[0], time[-1], 1.0 / FRAMES_PER_SECOND)
    columns = [np.interp(shown, time, column) for column in position.T]
    return shown, np.stack(columns, axis=1)


def _arrows(force: LiveForce | None, time: float) -> list[tuple[Array, tuple[float, ...]]]:
    """Force vectors [N] in base axes with their colours: truth grey, gated estimate red."""
    if force is None:
        return []
    k = int(np.clip(np.searchsorted(force.time, time), 0, len(force.time) - 1))
    known = [(force.truth[k], TRUTH), (force.estimate[k], ESTIMATE)]
    return [(v, c) for v, c in known if np.isfinite(v).all() and np.linalg.norm(v) > SMALLEST]


def _draw(scene: Any, tip: Array, vector: Array, colour: tuple[float, ...]) -> None:
    import mujoco

    if scene.ngeom >= scene.maxgeom:
        return
    geom = scene.geoms[scene.ngeom]
    kind = mujoco.mjtGeom.mjGEOM_ARROW
    mujoco.mjv_initGeom(
        geom, kind, np.zeros(3), np.zeros(3), np.eye(3).ravel(), np.array(colour, np.float32)
    )
    mujoco.mjv_connector(geom, kind, THICKNESS, tip, tip + METRES_PER_NEWTON * vector)
    scene.ngeom += 1


def write(pictures: list[NDArray[np.uint8]], out: Path) -> None:
    """Write an animated WebP that repeats."""
    from PIL import Image

    images = [Image.fromarray(picture) for picture in pictures]
    images[0].save(
        out,
        save_all=True,
        append_images=images[1:],
        duration=round(1000.0 / FRAMES_PER_SECOND),
        loop=0,
        quality=60,
        method=2,
    )


def main(argv: list[str]) -> int:
    """Render one episode with the OpenGL of $MUJOCO_GL."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bag", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--robot", default="omx")
    arguments = parser.parse_args(argv)
    episode = load_episode(arguments.bag, use_cache=False)
    spec = load_robot_spec(arguments.robot)
    write(frames(episode, live_force(episode), spec), arguments.out)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
