# SPDX-License-Identifier: Apache-2.0
"""A serial port that is a pseudo-terminal: the emulated bus as /dev-like path for the real SDK."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import logging
import os
import pty
import select
import struct
import threading
import time
import tty
from pathlib import Path
from types import TracebackType
from typing import Any

from na_sim.wire.emulated_bus import EmulatedBus
from na_sim.wire.exchange import Exchange

BITS_PER_BYTE = 10  # start, eight data, stop
_TCGETS2 = 0x802C542A  # Linux: termios with the speed as a number
_TERMIOS2 = struct.Struct("<4I20B2I")
_PR_SET_TIMERSLACK = 29
_SPIN = 150e-6  # s before a deadline from which the thread spins instead of sleeping
_READ_SIZE = 4096

_log = logging.getLogger(__name__)


class PortInUseError(OSError):
    """Another emulator owns the path."""


class PtyPort:
    """Serves an emulated bus on a pseudo-terminal and on a symbolic link to it.

    `link` is owned exclusively while open: a second port on the same path is refused, a link
    left by a killed process is replaced. With `realistic_timing` an answer is complete no earlier
    than request, return delay and answer would take at the port's speed; bytes arrive packet by
    packet. With `check_baud` servos set to another speed than the port hear nothing. `tick` [s]
    is how often the plant advances while the bus is idle.
    """

    def __init__(
        self,
        bus: EmulatedBus[Any],
        link: Path | str | None = None,
        *,
        realistic_timing: bool = True,
        check_baud: bool = True,
        tick: float = 0.010,
    ) -> None:
        self.bus = bus
        self.link = None if link is None else Path(link)
        self.realistic_timing = realistic_timing
        self.check_baud = check_baud
        self.tick = tick
        self.dropped_bytes = 0  # answers that nobody read
        self.failure: Exception | None = None  # what ended the serving thread, if anything did
        self._device = ""
        self._master = self._slave = self._lock_fd = -1
        self._wake_read = self._wake_write = -1
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._wire_free = 0.0  # when the wire falls silent (time.monotonic)

    @property
    def path(self) -> str:
        """What to open: the link, or the terminal itself where there is none."""
        return self._device if self.link is None else str(self.link)

    @property
    def is_open(self) -> bool:
        """Whether the port can be opened by a controller now."""
        return self._thread is not None

    def open(self) -> str:
        """Create terminal and link, start serving; return `path`. PortInUseError, OSError."""
        if self.is_open:
            raise PortInUseError(f"{self.path}: this port is already open; close it first")
        self._acquire_link()
        try:
            self._master, self._slave = pty.openpty()
            tty.setraw(self._slave)
            os.set_blocking(self._master, False)
            self._device = os.ttyname(self._slave)
            self._wake_read, self._wake_write = os.pipe()
            if self.link is not None:
                self.link.symlink_to(self._device)
        except OSError:
            self._release()
            raise
        self._stop.clear()
        self._thread = threading.Thread(target=self._serve, name=f"pty {self.path}", daemon=True)
        self._thread.start()
        return self.path

    def close(self, timeout: float = 2.0) -> None:
        """Stop serving and remove the link; the controller sees a vanished port. Idempotent."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        self._stop.set()
        os.write(self._wake_write, b"x")
        thread.join(timeout)
        if thread.is_alive():
            _log.error(
                "%s: the serving thread is still in the plant after %.1f s; its "
                "descriptors stay open",
                self.path,
                timeout,
            )
            self._unlink()
            return
        self._release()

    def __enter__(self) -> PtyPort:
        self.open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # ---- the link

    def _lock_path(self) -> str:
        return f"{self.link}.lock"

    def _acquire_link(self) -> None:
        if self.link is None:
            return
        self.link.parent.mkdir(parents=True, exist_ok=True)
        while True:
            fd = os.open(self._lock_path(), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(fd)
                raise PortInUseError(
                    errno.EBUSY,
                    "an emulator already serves this path; stop it or choose another path",
                    str(self.link),
                ) from None
            # The owner before us may have removed the file between our open and our lock.
            with contextlib.suppress(FileNotFoundError):
                if os.fstat(fd).st_ino == os.stat(self._lock_path()).st_ino:
                    break
            os.close(fd)
        self._lock_fd = fd
        if self.link.is_symlink():
            self.link.unlink()  # left behind: its owner would hold the lock
        elif self.link.exists():
            self._release()
            raise PortInUseError(
                errno.EEXIST,
                "a file that is no link is in the way; remove it or choose another path",
                str(self.link),
            )

    def _unlink(self) -> None:
        if self.link is not None and self._lock_fd >= 0:
            with contextlib.suppress(OSError):
                if self._device and os.readlink(self.link) == self._device:
                    self.link.unlink()

    def _release(self) -> None:
        self._unlink()
        if self._lock_fd >= 0:
            with contextlib.suppress(OSError):
                os.unlink(self._lock_path())
        for name in ("_master", "_slave", "_wake_read", "_wake_write", "_lock_fd"):
            fd = getattr(self, name)
            if fd >= 0:
                os.close(fd)
            setattr(self, name, -1)

    # ---- serving

    def host_baud(self) -> int | None:
        """Return the speed set on the terminal [bit/s], None where it cannot be told."""
        try:
            raw = fcntl.ioctl(self._master, _TCGETS2, bytes(_TERMIOS2.size))
            return int(_TERMIOS2.unpack(raw)[-1])
        except OSError:
            return None

    def _serve(self) -> None:
        try:
            self._serve_until_stopped()
        except Exception as problem:
            self.failure = problem
            _log.exception("%s: the emulator failed; the port falls silent", self.path)

    def _serve_until_stopped(self) -> None:
        _sharpen_timers()
        next_tick = time.monotonic() + self.tick
        while not self._stop.is_set():
            wait = max(0.0, next_tick - time.monotonic())
            ready, _, _ = select.select([self._master, self._wake_read], [], [], wait)
            if self._master in ready:
                self._answer()  # brings the plant up to date as well
            elif time.monotonic() >= next_tick:
                self.bus.tick()
            else:
                continue
            next_tick = time.monotonic() + self.tick

    def _answer(self) -> None:
        heard_at = time.monotonic()
        try:
            data = os.read(self._master, _READ_SIZE)
        except (BlockingIOError, InterruptedError):
            return
        baud = self.host_baud()
        exchanges = self.bus.receive(data, baud if self.check_baud else None)
        byte_time = BITS_PER_BYTE / baud if self.realistic_timing and baud else 0.0
        for exchange in exchanges:
            self._send(exchange, heard_at, byte_time)

    def _send(self, exchange: Exchange, heard_at: float, byte_time: float) -> None:
        """Put the answers of one exchange on the wire, each not before its last bit is due."""
        realistic = byte_time > 0.0
        free = max(heard_at, self._wire_free) + exchange.request_bytes * byte_time
        for reply in exchange.replies:
            now = self.bus.clock()
            for sent in self.bus.faults.outgoing(reply.id, reply.data, now):
                delay = sent.delay + (reply.return_delay if realistic else 0.0)
                free += delay + len(sent.data) * byte_time
                if (realistic or delay > 0.0) and not self._wait_until(max(free, heard_at + delay)):
                    return
                self._write(sent.data)
        self._wire_free = free

    def _wait_until(self, deadline: float) -> bool:
        """Wait for `deadline` (time.monotonic); False when the port is closing."""
        while True:
            left = deadline - time.monotonic()
            if left <= 0.0:
                return not self._stop.is_set()
            if left > 0.005:
                if self._stop.wait(left - 0.002):
                    return False
            elif left > _SPIN:
                time.sleep(left - _SPIN)
            else:
                time.sleep(0)  # let go of the interpreter, keep the processor

    def _write(self, data: bytes) -> None:
        """Write what the terminal takes; the rest is lost, as on a wire nobody listens to."""
        try:
            written = os.write(self._master, data)
        except (BlockingIOError, InterruptedError):
            written = 0
        self.dropped_bytes += len(data) - written


def _sharpen_timers() -> None:
    """Ask Linux for 1 µs timer slack in this thread, so that short sleeps end on time."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1000, 0, 0, 0)
