# SPDX-License-Identifier: Apache-2.0
"""Install na_description: robot files and xacro, as data."""

from pathlib import Path

from setuptools import setup

PACKAGE = "na_description"
HERE = Path(__file__).resolve().parent


def listing(folder: str) -> tuple[str, list[str]]:
    """Return the (destination, files) pair that installs one folder of data."""
    files = sorted(str(p.relative_to(HERE)) for p in (HERE / folder).iterdir() if p.is_file())
    return f"share/{PACKAGE}/{folder}", files


setup(
    name=PACKAGE,
    version="0.1.0",
    packages=[PACKAGE],
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{PACKAGE}"]),
        (f"share/{PACKAGE}", ["package.xml"]),
        listing("robots"),
        listing("xacro"),
    ],
    install_requires=["setuptools"],
    zip_safe=True,
    maintainer="NeuralActuator maintainers",
    maintainer_email="maintainers@neural-actuator.invalid",
    description="Robot files and xacro of the arms",
    license="Apache-2.0",
    extras_require={"test": ["pytest"]},
)
