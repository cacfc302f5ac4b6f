# SPDX-License-Identifier: Apache-2.0
"""The other place from which launch files import parameter descriptions."""

from ros2_lite.refusal import refusing_getattr

from .parameter_descriptions import ParameterFile, ParameterValue

__all__ = ["ParameterFile", "ParameterValue"]
__getattr__ = refusing_getattr(__name__)
