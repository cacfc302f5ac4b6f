# SPDX-License-Identifier: Apache-2.0
"""`python -m ros2_lite` is `ros2`."""

from .cli import main

main()
