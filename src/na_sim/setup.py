# SPDX-License-Identifier: Apache-2.0
"""Install na_sim: the emulated servos, buses and arms."""

from setuptools import find_packages, setup

PACKAGE = "na_sim"

# One line per executable: "name = module:function".
ENTRY_POINTS: list[str] = [
    "emulated_arm_node = na_sim.emulated_arm_node:main",
]

setup(
    name=PACKAGE,
    version="0.1.0",
    packages=find_packages(exclude=["test", "test.*"]),
    package_data={"": ["*.yaml"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
    ],
    install_requires=["setuptools"],
    zip_safe=True,
    maintainer="NeuralActuator maintainers",
    maintainer_email="maintainers@neural-actuator.invalid",
    description="Emulated twin: servo wire protocols, electro-mechanics and arm plant",
    license="Apache-2.0",
    extras_require={"test": ["pytest"]},
    entry_points={"console_scripts": ENTRY_POINTS},
)
