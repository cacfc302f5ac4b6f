# SPDX-License-Identifier: Apache-2.0
"""The verbs of ./na: set-up, demo, tests, bags, benches, and ros2 inside the environment."""
