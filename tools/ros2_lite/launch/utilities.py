# SPDX-License-Identifier: Apache-2.0
"""Functions that launch files and extensions import from `launch.utilities`."""

from ros2_lite.refusal import refusing_getattr

from .substitution import normalize_to_list_of_substitutions, perform_substitutions

__all__ = ["normalize_to_list_of_substitutions", "perform_substitutions"]
__getattr__ = refusing_getattr(__name__)
