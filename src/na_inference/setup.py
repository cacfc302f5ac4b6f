# SPDX-License-Identifier: Apache-2.0
"""Install na_inference: the live force estimate, its node, clients and views."""

from setuptools import find_packages, setup

PACKAGE = "na_inference"

# One line per executable: "name = module:function".
ENTRY_POINTS: list[str] = [
    "neural_actuator_node = na_inference.neural_actuator_node:main",
    "force_example_node = na_inference.force_example_node:main",
    "force_markers_node = na_inference.force_markers_node:main",
    "force_view_node = na_inference.force_view_node:main",
    "cloned_policy_node = na_inference.cloned_policy_node:main",
    "press_and_hold_node = na_inference.press_and_hold_node:main",
    "bag_replay_node = na_inference.bag_replay_node:main",
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
    description="Live external force on the end effector from servo telemetry",
    license="Apache-2.0",
    extras_require={"test": ["pytest"]},
    entry_points={"console_scripts": ENTRY_POINTS},
)
