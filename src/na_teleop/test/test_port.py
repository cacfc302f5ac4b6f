# SPDX-License-Identifier: Apache-2.0
"""A port that cannot be opened says why and what to do; one that opens belongs to us alone."""

from __future__ import annotations

import errno
import os
import pty
import subprocess
import sys
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest

from na_teleop.buses import port as port_module
from na_teleop.buses import port_hints
from na_teleop.buses.errors import PortError, PortProblem
from na_teleop.buses.port import SerialPort


@pytest.fixture
def terminal() -> Iterator[tuple[int, str]]:
    """A pseudo-terminal: descriptor of the far side, path of the near side."""
    master, slave = pty.openpty()
    tty.setraw(slave)
    yield master, os.ttyname(slave)
    for fd in (master, slave):
        os.close(fd)


def problem_of(port: SerialPort) -> PortError:
    with pytest.raises(PortError) as caught:
        port.openPort()
    assert not port.is_open
    return caught.value


def test_missing_port_names_it_and_lists_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(port_module, "candidate_ports", lambda: ["/dev/ttyUSB7"])
    error = problem_of(SerialPort("/dev/ttyNOPE", 1_000_000))
    assert error.problem is PortProblem.MISSING and error.port == "/dev/ttyNOPE"
    assert "/dev/ttyNOPE does not exist" in str(error) and "/dev/ttyUSB7" in str(error)


@pytest.mark.parametrize("where", ["stat", "open"])
def test_no_permission_names_user_group_and_rule(
    terminal: tuple[int, str], monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def refuse(*args: object, **kwargs: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(port_module.os, where, refuse)
    error = problem_of(SerialPort(terminal[1], 1_000_000))
    assert error.problem is PortProblem.PERMISSION
    for word in (terminal[1], "usermod -aG", "udev", "log in again"):
        assert word in str(error)


def test_a_device_that_was_unplugged_is_told_from_a_missing_one(
    terminal: tuple[int, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **kwargs: object) -> int:
        raise OSError(errno.ENXIO, "No such device or address")

    monkeypatch.setattr(port_module.os, "open", refuse)
    error = problem_of(SerialPort(terminal[1], 1_000_000))
    assert error.problem is PortProblem.LOST and "unplug and replug" in str(error)


def test_a_file_and_a_device_without_line_settings_are_no_serial_ports(tmp_path: Path) -> None:
    file = tmp_path / "ttyUSB0"
    file.write_text("")
    for path in (str(file), "/dev/null"):
        error = problem_of(SerialPort(path, 1_000_000))
        assert error.problem is PortProblem.NOT_A_TTY and path in str(error)


def test_a_rate_the_platform_lacks_is_refused_and_the_port_left_free(
    terminal: tuple[int, str],
) -> None:
    error = problem_of(SerialPort(terminal[1], 123_456))
    assert error.problem is PortProblem.BAUD and "123456 baud" in str(error)
    other = SerialPort(terminal[1], 4_000_000)
    assert other.openPort()
    other.closePort()


def test_second_instance_in_this_process_is_refused(terminal: tuple[int, str]) -> None:
    first = SerialPort(terminal[1], 1_000_000)
    first.openPort()
    error = problem_of(SerialPort(terminal[1], 1_000_000))
    assert error.problem is PortProblem.BUSY
    assert "already in use" in str(error) and "two masters" in str(error)
    first.closePort()
    second = SerialPort(terminal[1], 1_000_000)
    assert second.openPort()
    second.closePort()


def test_second_instance_in_another_process_is_refused_and_named(
    terminal: tuple[int, str],
) -> None:
    script = (
        "import sys; from na_teleop.buses.port import SerialPort; "
        "p = SerialPort(sys.argv[1], 1000000); p.openPort(); "
        "print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, terminal[1]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline().strip() == "open"
        error = problem_of(SerialPort(terminal[1], 1_000_000))
        assert error.problem is PortProblem.BUSY
        assert str(other.pid) in str(error)
        other.kill()
        other.wait(10)
    # A killed holder leaves nothing behind.
    again = SerialPort(terminal[1], 1_000_000)
    assert again.openPort()
    again.closePort()


def test_a_link_to_a_held_port_is_held_too(terminal: tuple[int, str], tmp_path: Path) -> None:
    first = SerialPort(terminal[1], 1_000_000)
    first.openPort()
    link = tmp_path / "follower"
    link.symlink_to(terminal[1])
    assert problem_of(SerialPort(str(link), 1_000_000)).problem is PortProblem.BUSY
    first.closePort()


def test_first_byte_is_noted_once_per_transaction(terminal: tuple[int, str]) -> None:
    port = SerialPort(terminal[1], 1_000_000)
    port.openPort()
    assert port.first_byte_ns is None
    os.write(terminal[0], b"abcdef")
    port.setPacketTimeoutMillis(2000.0)
    assert port.readPort(2) == b"ab"
    noted = port.first_byte_ns
    assert noted is not None
    os.write(terminal[0], b"gh")
    assert port.readPort(4) == b"cdef" and port.readPort(2) == b"gh"
    assert port.first_byte_ns == noted
    port.clearPort()
    assert port.first_byte_ns is None
    port.closePort()


def test_silence_ends_at_the_time_out_without_bytes(terminal: tuple[int, str]) -> None:
    port = SerialPort(terminal[1], 1_000_000)
    port.openPort()
    port.setPacketTimeoutMillis(5.0)
    assert port.readPort(1) == b"" and port.isPacketTimeout()
    assert port.listen(0.005) == b""
    port.closePort()


def test_a_hang_up_is_a_lost_port_and_a_closed_one_says_so() -> None:
    master, slave = pty.openpty()
    port = SerialPort(os.ttyname(slave), 1_000_000)
    port.openPort()
    os.close(slave)
    os.close(master)
    port.setPacketTimeoutMillis(1000.0)
    with pytest.raises(PortError) as caught:
        port.readPort(1)
    assert caught.value.problem is PortProblem.LOST and caught.value.port_is_gone
    port.closePort()
    with pytest.raises(PortError, match="not open"):
        port.writePort(b"x")
    port.closePort()  # as often as you like


def test_the_adapters_latency_lengthens_the_wait(
    terminal: tuple[int, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(port_module, "latency_timer_ms", lambda path: 16)
    port = SerialPort(terminal[1], 1_000_000)
    port.openPort()
    assert port.latency_s >= 0.022
    port.closePort()


def test_latency_hint_names_file_and_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "latency_timer"
    file.write_text("16\n")
    monkeypatch.setattr(port_hints, "latency_timer_file", lambda path: file)
    hint = port_hints.latency_timer_hint("/dev/ttyUSB0")
    assert hint is not None and "16 ms" in hint and str(file) in hint
    file.write_text("1\n")
    assert port_hints.latency_timer_hint("/dev/ttyUSB0") is None
