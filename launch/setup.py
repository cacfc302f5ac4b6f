# SPDX-License-Identifier: Apache-2.0
from glob import glob

from setuptools import setup

setup(
    name="na_bringup",
    version="0.1.0",
    packages=[],
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/na_bringup"]),
        ("share/na_bringup", ["package.xml"]),
        ("share/na_bringup/launch", glob("*.launch.py")),
        ("share/na_bringup/config", glob("config/*.yaml")),
    ],
    zip_safe=True,
    maintainer="NeuralActuator maintainers",
    maintainer_email="maintainers@neural-actuator.invalid",
    description="Launch files and parameters of NeuralActuator.",
    license="Apache-2.0",
    extras_require={"test": ["pytest"]},
)
