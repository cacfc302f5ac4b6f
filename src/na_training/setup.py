# SPDX-License-Identifier: Apache-2.0
"""Install na_training: models, differentiable simulators, training, evaluation and export."""

from setuptools import find_packages, setup

PACKAGE = "na_training"

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
    description="Learns joint efforts and external force from telemetry, without torque labels",
    license="Apache-2.0",
    extras_require={"test": ["pytest"]},
)
