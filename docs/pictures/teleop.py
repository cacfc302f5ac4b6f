# SPDX-License-Identifier: Apache-2.0
"""Draw the README's picture from a recorded episode: both arms, and goal against position.

    MUJOCO_GL=osmesa ./na shell python docs/pictures/teleop.py BAG docs/pictures/teleop.png

Needs matplotlib and an OpenGL that MuJoCo finds (libosmesa6, or a GPU with MUJOCO_GL=egl).
"""

from __future__ import annotations

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import mujoco
import numpy as np

from na_core.nad.reader import load_episode
from na_core.robot_spec import load_robot_spec, urdf_string

MOMENT = 0.86  # share of the episode that the rendering shows


def render(poses: list[np.ndarray], names: tuple[str, ...]) -> np.ndarray:
    """Both arms side by side on a table, as an image (h, w, 3)."""
    world = mujoco.MjSpec()
    world.visual.global_.offwidth, world.visual.global_.offheight = 1400, 900
    world.visual.headlight.ambient = [0.45, 0.45, 0.45]
    world.visual.headlight.diffuse = [0.5, 0.5, 0.5]
    world.add_texture(
        name="sky", type=mujoco.mjtTexture.mjTEXTURE_SKYBOX, rgb1=[1, 1, 1], rgb2=[1, 1, 1],
        builtin=mujoco.mjtBuiltin.mjBUILTIN_FLAT, width=64, height=64,
    )  # fmt: skip
    world.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_PLANE, size=[2, 2, 0.1], rgba=[0.93, 0.94, 0.95, 1]
    )
    world.worldbody.add_light(pos=[0.2, -0.8, 1.4], dir=[0, 0.5, -1], diffuse=[0.5, 0.5, 0.5])
    for arm, y in (("leader_", 0.17), ("follower_", -0.17)):
        child = mujoco.MjSpec.from_string(urdf_string(load_robot_spec("omx")))
        frame = world.worldbody.add_frame(pos=[0, y, 0.02])
        world.attach(child, prefix=arm, frame=frame)
    model = world.compile()
    data = mujoco.MjData(model)
    for arm, pose in zip(("leader_", "follower_"), poses, strict=True):
        for name, value in zip(names, pose, strict=True):
            data.joint(arm + name).qpos = value
        data.joint(arm + "gripper_right_joint").qpos = pose[-1]
    mujoco.mj_forward(model, data)
    camera = mujoco.MjvCamera()
    camera.lookat, camera.distance = [0.1, 0.02, 0.1], 0.78
    camera.azimuth, camera.elevation = 62, -22
    with mujoco.Renderer(model, 900, 1400) as renderer:
        renderer.update_scene(data, camera)
        return renderer.render()


def main(bag: str, output: str) -> None:
    """Write the picture."""
    episode = load_episode(bag, use_cache=False)
    follower, leader = episode.follower, episode.tracks["/leader/telemetry"]
    time = follower.seconds - follower.seconds[0]
    moment = int(MOMENT * len(time))
    other = int(np.searchsorted(leader.stamp_ns, follower.stamp_ns[moment]))
    image = render([leader.position[other], follower.position[moment]], follower.names)
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(13, 4.4), width_ratios=(1.25, 1), constrained_layout=True
    )
    left.imshow(image)
    left.set_axis_off()
    left.set_title("leader (back) drives follower (front), both emulated", fontsize=11)
    colours = plt.get_cmap("tab10").colors
    for joint in range(4):
        goal = np.rad2deg(follower.goal_requested[:, joint])
        right.plot(time, goal, "--", color=colours[joint], lw=1)
        position = np.rad2deg(follower.position[:, joint])
        right.plot(time, position, color=colours[joint], lw=1.6, label=follower.names[joint])
    right.set_xlabel("time [s]")
    right.set_ylabel("joint angle [deg]")
    right.set_title("follower: leader's goal (dashed) and position, 60 Hz telemetry", fontsize=11)
    right.grid(alpha=0.3)
    right.legend(loc="upper right", fontsize=9, ncols=2)
    figure.savefig(output, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])
