# SPDX-License-Identifier: Apache-2.0
"""What follows when processes start and end."""

from launch import LaunchDescription
from launch.actions import (
    EmitEvent,
    ExecuteProcess,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
    Shutdown,
    TimerAction,
)
from launch.event_handlers import OnProcessExit, OnProcessStart, OnShutdown
from launch.events import Shutdown as ShutdownEvent
from launch.events import matches_action
from launch.events.process import ShutdownProcess


def _on_shutdown(event, context):
    return [LogInfo(msg=f"shutdown: {event.reason}")]


def _from_function(event, context):
    return [ExecuteProcess(cmd=["/bin/after_function", event.process_name.split("-")[0]])]


def generate_launch_description():
    first = ExecuteProcess(cmd=["/bin/first"], on_exit=[ExecuteProcess(cmd=["/bin/on_exit"])])
    second = ExecuteProcess(cmd=["/bin/second"])
    asked = ExecuteProcess(cmd=["/bin/asked"])
    return LaunchDescription(
        [
            RegisterEventHandler(OnShutdown(on_shutdown=_on_shutdown)),
            RegisterEventHandler(
                OnProcessStart(target_action=first, on_start=[ExecuteProcess(cmd=["/bin/started"])])
            ),
            RegisterEventHandler(OnProcessExit(target_action=first, on_exit=[second])),
            RegisterEventHandler(
                OnProcessExit(target_action=lambda a: a is second, on_exit=_from_function)
            ),
            RegisterEventHandler(OnProcessExit(target_action=asked, on_exit=Shutdown())),
            first,
            TimerAction(period=0.5, actions=[asked]),
            TimerAction(
                period=0.8,
                actions=[EmitEvent(event=ShutdownProcess(process_matcher=matches_action(asked)))],
            ),
            TimerAction(period=30.0, actions=[ExecuteProcess(cmd=["/bin/never"])]),
            OpaqueFunction(
                function=lambda context: [
                    TimerAction(
                        period=20.0,
                        actions=[EmitEvent(event=ShutdownEvent(reason="much too late"))],
                    )
                ]
            ),
        ]
    )
