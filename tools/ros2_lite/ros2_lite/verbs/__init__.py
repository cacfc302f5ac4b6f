# SPDX-License-Identifier: Apache-2.0
"""One module per command of `ros2`: `add_arguments(parser)`, which sets the default `main`."""
