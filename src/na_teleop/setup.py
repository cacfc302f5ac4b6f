# SPDX-License-Identifier: Apache-2.0
"""Install na_teleop: servo buses, safety logic and the teleoperation nodes."""

from setuptools import find_packages, setup

PACKAGE = "na_teleop"

# One line per executable: "name = module:function".
ENTRY_POINTS: list[str] = [
    "leader_node = na_teleop.leader_node:main",
    "follower_node = na_teleop.follower_node:main",
    "recorder_node = na_teleop.recorder_node:main",
    "recorder_keyboard = na_teleop.recorder_keyboard:main",
]

setup(
    name=PACKAGE,
    version="0.1.0",
    packages=find_packages(exclude=["test", "test.*"]),
    package_data={PACKAGE: ["py.typed"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
    ],
    install_requires=["setuptools"],
    zip_safe=True,
    maintainer="NeuralActuator maintainers",
    maintainer_email="maintainers@neural-actuator.invalid",
    description="Live teleoperation: servo buses, safety logic and the nodes of both arms",
    license="Apache-2.0",
    extras_require={"test": ["pytest"]},
    entry_points={"console_scripts": ENTRY_POINTS},
)
