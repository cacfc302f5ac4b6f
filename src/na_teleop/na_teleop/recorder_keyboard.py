# SPDX-License-Identifier: Apache-2.0
"""Keyboard front end of the recorder: one key per action, in the terminal it runs in."""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from typing import Any

import rclpy
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.node import Node
from std_srvs.srv import Trigger

from na_core.nad.layout import LABEL_SOURCES
from na_msgs.srv import SetForceLabel, StartEpisode, StopEpisode
from na_teleop.recorder.keyboard import KEYS, Key, help_text, parse_label, parse_relabel

GRAVITY = 9.80665
"""Standard gravity [m/s^2]."""

ANSWER_WITHIN = 5.0
"""Longest wait for the recorder [s]."""


class RecorderKeyboard(Node):
    """Calls the recorder's services; holds no state of its own."""

    def __init__(self) -> None:
        """Create the clients; parameters name the recorder and the base frame of labels."""
        super().__init__("recorder_keyboard")
        recorder = self.declare_parameter("recorder", "recorder_node").value
        self._frame = str(self.declare_parameter("base_frame", "link1").value)
        self._start = self.create_client(StartEpisode, f"{recorder}/start_episode")
        self._stop = self.create_client(StopEpisode, f"{recorder}/stop_episode")
        self._label = self.create_client(SetForceLabel, f"{recorder}/set_force_label")
        self._redo = self.create_client(Trigger, f"{recorder}/redo_episode")
        self._get = self.create_client(GetParameters, f"{recorder}/get_parameters")
        self._set = self.create_client(SetParameters, f"{recorder}/set_parameters")

    def act(self, key: Key, ask: Any) -> str:
        """Do what `key` says; `ask(question)` reads a line. Returns what to tell the operator."""
        if key is Key.START:
            return self._answer(self._start, self._request())
        if key in (Key.KEEP, Key.DISCARD):
            return self._answer(self._stop, StopEpisode.Request(keep=key is Key.KEEP))
        if key is Key.REDO:
            return self._answer(self._redo, Trigger.Request())
        if key is Key.RELABEL:
            return self._relabel(ask("field=value: "))
        if key is Key.LABEL:
            return self._force(ask("hanging mass in kg, or none: "))
        return help_text()

    # --------------------------------------------------------------- details

    def _request(self) -> StartEpisode.Request:
        """Ask for an episode under the recorder's own description, its payload [kg] included."""
        answer = self._call(self._get, GetParameters.Request(names=["payload"]))
        payload = answer.values[0].double_value if answer and answer.values else float("nan")
        return StartEpisode.Request(payload=payload)

    def _relabel(self, text: str) -> str:
        try:
            change = parse_relabel(text)
        except ValueError as error:
            return str(error)
        value = (
            ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=change.value)
            if isinstance(change.value, float)
            else ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=change.value)
        )
        request = SetParameters.Request(parameters=[Parameter(name=change.name, value=value)])
        response = self._call(self._set, request)
        if response is None:
            return "the recorder did not answer"
        result = response.results[0]
        return f"{change.name} = {change.value}" if result.successful else str(result.reason)

    def _force(self, text: str) -> str:
        try:
            label = parse_label(text)
        except ValueError as error:
            return str(error)
        request = SetForceLabel.Request()
        nan = float("nan")
        force = request.label.force
        request.label.header.frame_id = self._frame
        if label.mass is None:
            request.label.source = LABEL_SOURCES["none"]
            request.label.mass = force.x = force.y = force.z = nan
        else:
            request.label.source = LABEL_SOURCES["payload"]
            request.label.mass = label.mass
            force.z = -label.mass * GRAVITY
            request.label.valid = True
        return self._answer(self._label, request)

    def _answer(self, client: Any, request: Any) -> str:
        response = self._call(client, request)
        if response is None:
            return f"no answer from {client.srv_name}; is the recorder running?"
        if not response.success:
            return f"refused: {response.message}"
        words = [response.message or "done"]
        if getattr(response, "path", ""):
            words.append(response.path)
        if hasattr(response, "messages"):
            words.append(f"{response.messages} messages, {response.duration:.1f} s")
        return ", ".join(words)

    def _call(self, client: Any, request: Any) -> Any:
        if not client.wait_for_service(timeout_sec=ANSWER_WITHIN):
            return None
        future = client.call_async(request)
        rclpy.spin_until_future_complete(self, future, timeout_sec=ANSWER_WITHIN)
        return future.result() if future.done() else None


class Console:
    """Keys and lines from standard input, which need not be a terminal."""

    def __init__(self) -> None:
        """Let a terminal deliver single keys; `close` restores it."""
        self._fd = sys.stdin.fileno()
        self._before = termios.tcgetattr(self._fd) if os.isatty(self._fd) else None
        self._single(True)

    def key(self, timeout: float) -> str | None:
        """Return one key, "" at the end of input, None when nothing came for `timeout` [s]."""
        ready, _, _ = select.select([self._fd], [], [], timeout)
        return os.read(self._fd, 1).decode("utf-8", "replace") if ready else None

    def ask(self, question: str) -> str:
        """Print `question` and read a line, with the terminal's own editing."""
        print(question, end="", flush=True)
        self._single(False)
        line = b""
        while (byte := os.read(self._fd, 1)) not in (b"", b"\n"):
            line += byte
        self._single(True)
        return line.decode("utf-8", "replace")

    def close(self) -> None:
        """Give the terminal back as it was."""
        self._single(False)

    def _single(self, on: bool) -> None:
        if self._before is None:
            return
        if on:
            tty.setcbreak(self._fd, termios.TCSADRAIN)
        else:
            termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)


def main(args: list[str] | None = None) -> None:
    """Read keys until q, Ctrl-C or the end of input."""
    rclpy.init(args=args)
    node = RecorderKeyboard()
    console = Console()
    print(help_text(), flush=True)
    try:
        while rclpy.ok():
            key = console.key(0.2)
            if key is None:
                continue
            action = Key.QUIT if key == "" else KEYS.get(key)
            if action is Key.QUIT:
                break
            if action is not None:
                print(node.act(action, console.ask), flush=True)
    except KeyboardInterrupt:
        pass
    finally:
        console.close()
        node.destroy_node()
        rclpy.try_shutdown()


if __name__ == "__main__":
    main()
