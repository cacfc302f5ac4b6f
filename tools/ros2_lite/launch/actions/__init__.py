# SPDX-License-Identifier: Apache-2.0
"""The actions of this subset."""

from ros2_lite.refusal import refusing_getattr

from .basic import (
    DeclareLaunchArgument,
    EmitEvent,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
    SetEnvironmentVariable,
    SetLaunchConfiguration,
    Shutdown,
)
from .execute_process import ExecuteProcess
from .structure import GroupAction, IncludeLaunchDescription, TimerAction

__all__ = [
    "DeclareLaunchArgument", "EmitEvent", "ExecuteProcess", "GroupAction",
    "IncludeLaunchDescription", "LogInfo", "OpaqueFunction", "RegisterEventHandler",
    "SetEnvironmentVariable", "SetLaunchConfiguration", "Shutdown", "TimerAction",
]  # fmt: skip
__getattr__ = refusing_getattr(__name__)
