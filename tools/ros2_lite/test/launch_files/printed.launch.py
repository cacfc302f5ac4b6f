# SPDX-License-Identifier: Apache-2.0
"""Real processes, to compare what is printed and how they end."""

import sys

from launch import LaunchDescription
from launch.actions import ExecuteProcess, LogInfo, Shutdown, TimerAction

TALK = "import sys; print('one'); print('two', end=''); sys.exit({code})"
STUBBORN = "import signal,time; signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(60)"


def generate_launch_description():
    python = [sys.executable, "-S", "-c"]
    return LaunchDescription(
        [
            LogInfo(msg="hello"),
            ExecuteProcess(cmd=[*python, TALK.format(code=0)], name="fine", output="screen"),
            TimerAction(
                period=0.6,
                actions=[
                    ExecuteProcess(cmd=[*python, TALK.format(code=3)], name="bad", output="both")
                ],
            ),
            TimerAction(
                period=1.2,
                actions=[
                    ExecuteProcess(cmd=[*python, TALK.format(code=0)], name="quiet"),
                ],
            ),
            TimerAction(
                period=1.8,
                actions=[
                    ExecuteProcess(
                        cmd=[*python, STUBBORN],
                        name="stubborn",
                        sigterm_timeout="0.5",
                        sigkill_timeout="0.5",
                    )
                ],
            ),
            TimerAction(
                period=2.4,
                actions=[
                    ExecuteProcess(
                        cmd=[*python, "pass"],
                        name="required",
                        on_exit=[Shutdown()],
                        output="screen",
                    )
                ],
            ),
        ]
    )
