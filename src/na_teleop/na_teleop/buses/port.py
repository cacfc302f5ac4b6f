# SPDX-License-Identifier: Apache-2.0
"""An exclusively locked serial port with the surface that dynamixel_sdk expects of its own."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import stat
import termios
import time

from dynamixel_sdk import PortHandler

from na_teleop.buses.errors import PortError, PortProblem
from na_teleop.buses.port_hints import (
    candidate_ports,
    latency_timer_ms,
    permission_remedy,
    port_holder,
)

BITS_PER_BYTE = 10  # start, eight data bits, stop
WRITE_TIMEOUT_S = 0.2
TTY_MAJOR_PTY = range(136, 144)  # Linux: Documentation/admin-guide/devices.txt
FALLBACK_LATENCY_S = 0.020  # a USB adapter whose latency timer is unknown, or a busy machine
QUIET_GAP_S = 0.008  # silence after the first reply byte that ends a transaction early


def baud_constant(baud: int) -> int | None:
    """Return the termios constant of `baud` [bit/s], or None when the platform has none."""
    value = getattr(termios, f"B{baud}", None)
    return int(value) if value is not None else None


class SerialPort(PortHandler):  # type: ignore[misc]
    """Serial port of one bus: one owner, no busy waiting, notes the first reply byte.

    It replaces dynamixel_sdk's PortHandler, whose reads spin and whose open neither locks the
    port nor tells its failures apart. Method names in camelCase are the SDK's.

    Attributes:
        first_byte_ns: wall clock [ns] at the first byte after the last transmission, or None.
        latency_s: how long a reply may take beyond its time on the wire [s].

    """

    def __init__(self, path: str, baud: int, *, latency_s: float | None = None) -> None:
        """Remember `path` and `baud` [bit/s]; opens nothing."""
        super().__init__(path)
        self.path = path
        self.baudrate = baud
        self.first_byte_ns: int | None = None
        self._fd: int | None = None
        self._poll_in = select.poll()
        self._buffer = bytearray()
        self._deadline = 0.0
        self._requested_latency_s = latency_s
        self.latency_s = latency_s if latency_s is not None else FALLBACK_LATENCY_S

    # -- opening and closing -------------------------------------------------------------

    def openPort(self) -> bool:  # noqa: N802
        """Open, lock and configure the port; raises PortError naming the trouble and remedy."""
        if self._fd is not None:
            return True
        self._check_path()
        fd = self._open_descriptor()
        try:
            self._lock(fd)
            self._configure(fd, self.baudrate)
        except BaseException:
            os.close(fd)
            raise
        self._fd = fd
        self._poll_in = select.poll()
        self._poll_in.register(fd, select.POLLIN)
        self.is_open = True
        self.is_using = False
        self.tx_time_per_byte = 1000.0 * BITS_PER_BYTE / self.baudrate
        if self._requested_latency_s is None:
            timer_ms = latency_timer_ms(self.path)
            if timer_ms is not None:
                self.latency_s = max(FALLBACK_LATENCY_S, timer_ms / 1000.0 + 0.006)
        self.clearPort()
        return True

    def closePort(self) -> None:  # noqa: N802
        """Close the port; never raises."""
        fd, self._fd = self._fd, None
        self.is_open = False
        self.is_using = False
        self._buffer.clear()
        if fd is not None:
            with contextlib.suppress(OSError, termios.error):
                fcntl.ioctl(fd, termios.TIOCNXCL)
            with contextlib.suppress(OSError):
                os.close(fd)

    def setBaudRate(self, baudrate: int) -> bool:  # noqa: N802
        """Change the rate [bit/s]; opens the port if it is closed, as the SDK's does."""
        self.baudrate = baudrate
        self.tx_time_per_byte = 1000.0 * BITS_PER_BYTE / baudrate
        if self._fd is None:
            return self.openPort()
        self._configure(self._fd, baudrate)
        self.clearPort()
        return True

    def _check_path(self) -> None:
        try:
            mode = os.stat(self.path).st_mode
        except FileNotFoundError:
            found = candidate_ports()
            listing = ", ".join(found) if found else "none"
            raise PortError(
                f"port {self.path} does not exist",
                problem=PortProblem.MISSING,
                port=self.path,
                remedy=f"Plug in the adapter or name another port; serial ports here: {listing}",
            ) from None
        except PermissionError as error:
            raise self._permission_error(error) from None
        if not stat.S_ISCHR(mode):
            raise self._not_a_tty("it is not a character device")

    def _open_descriptor(self) -> int:
        try:
            fd = os.open(self.path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
        except PermissionError as error:
            raise self._permission_error(error) from None
        except OSError as error:
            if error.errno == errno.EBUSY:
                raise self._busy() from None
            raise PortError(
                f"port {self.path} cannot be opened: {error.strerror}",
                problem=PortProblem.LOST,
                port=self.path,
                remedy="The device file is there but no device answers: unplug and replug the "
                "adapter, then look at `dmesg`",
            ) from None
        if not os.isatty(fd):
            os.close(fd)
            raise self._not_a_tty("it has no serial line settings")
        return fd

    def _lock(self, fd: int) -> None:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise self._busy() from None
        except OSError as error:
            raise PortError(
                f"port {self.path} cannot be locked: {error.strerror}",
                problem=PortProblem.BUSY,
                port=self.path,
                remedy="Without a lock a second process could drive the same arm; use a local "
                "device file",
            ) from None
        # Programs that do not look at the lock are kept out by the kernel. Not on a
        # pseudo-terminal: there the mark would outlive us as long as its other side is open.
        if os.major(os.fstat(fd).st_rdev) not in TTY_MAJOR_PTY:
            with contextlib.suppress(OSError):
                fcntl.ioctl(fd, termios.TIOCEXCL)

    def _configure(self, fd: int, baud: int) -> None:
        speed = baud_constant(baud)
        if speed is None:
            raise self._baud_error(baud, "this platform has no such rate")
        try:
            attributes = termios.tcgetattr(fd)
            control = attributes[2]
            control &= ~(termios.CSIZE | termios.PARENB | termios.CSTOPB | termios.CRTSCTS)
            control |= termios.CS8 | termios.CREAD | termios.CLOCAL
            control_characters = list(attributes[6])
            control_characters[termios.VMIN] = 0
            control_characters[termios.VTIME] = 0
            termios.tcsetattr(
                fd, termios.TCSANOW, [0, 0, control, 0, speed, speed, control_characters]
            )
            taken = termios.tcgetattr(fd)
        except (OSError, termios.error) as error:
            raise self._baud_error(baud, f"the driver answered: {error}") from None
        if taken[4] != speed or taken[5] != speed:
            raise self._baud_error(baud, "the driver chose another rate by itself")

    # -- errors --------------------------------------------------------------------------

    def _permission_error(self, error: OSError) -> PortError:
        return PortError(
            f"no permission to open port {self.path}: {error.strerror}",
            problem=PortProblem.PERMISSION,
            port=self.path,
            remedy=permission_remedy(self.path),
        )

    def _not_a_tty(self, why: str) -> PortError:
        return PortError(
            f"{self.path} is not a serial port: {why}",
            problem=PortProblem.NOT_A_TTY,
            port=self.path,
            remedy="Name a serial port such as /dev/ttyUSB0, or the pseudo-terminal printed by "
            "the emulator",
        )

    def _busy(self) -> PortError:
        holder = port_holder(self.path) or "another process (it could not be identified)"
        return PortError(
            f"port {self.path} is already in use by {holder}",
            problem=PortProblem.BUSY,
            port=self.path,
            remedy="Stop that process first: two masters on one bus would fight over the arm",
        )

    def _baud_error(self, baud: int, why: str) -> PortError:
        return PortError(
            f"port {self.path} cannot run at {baud} baud: {why}",
            problem=PortProblem.BAUD,
            port=self.path,
            remedy="Use a rate that adapter and servos share, for example 57600, 1000000 or "
            "4000000",
        )

    def _lost(self, why: str) -> PortError:
        self.is_using = False
        return PortError(
            f"port {self.path} was lost: {why}",
            problem=PortProblem.LOST,
            port=self.path,
            remedy="Check the cable and the adapter; the port may come back under another name",
        )

    def _descriptor(self) -> int:
        if self._fd is None:
            self.is_using = False
            raise PortError(
                f"port {self.path} is not open",
                problem=PortProblem.NOT_OPEN,
                port=self.path,
                remedy="Call open() first",
            )
        return self._fd

    # -- bytes ---------------------------------------------------------------------------

    def clearPort(self) -> None:  # noqa: N802
        """Forget unread input and start a new transaction."""
        fd = self._descriptor()
        self._buffer.clear()
        self.first_byte_ns = None
        try:
            termios.tcflush(fd, termios.TCIFLUSH)
        except (OSError, termios.error) as error:
            raise self._lost(str(error)) from None

    def writePort(self, packet: bytes | list[int]) -> int:  # noqa: N802
        """Send all bytes; returns how many left before the time-out."""
        fd = self._descriptor()
        data = memoryview(bytes(packet))
        sent = 0
        deadline = time.monotonic() + WRITE_TIMEOUT_S
        while sent < len(data):
            try:
                sent += os.write(fd, data[sent:])
            except BlockingIOError:
                left = deadline - time.monotonic()
                if left <= 0.0 or not self._wait(fd, left, write=True):
                    break
            except OSError as error:
                raise self._lost(error.strerror or str(error)) from None
        return sent

    def readPort(self, length: int) -> bytes:  # noqa: N802
        """Return up to `length` bytes, waiting for the first until the packet time-out."""
        fd = self._descriptor()
        if not self._buffer:
            left = self._deadline - time.monotonic()
            if self._wait(fd, max(left, 0.0), write=False):
                self._pull(fd)
        taken = bytes(self._buffer[:length])
        del self._buffer[:length]
        return taken

    def getBytesAvailable(self) -> int:  # noqa: N802
        """Return the number of bytes that wait to be read."""
        fd = self._descriptor()
        if self._wait(fd, 0.0, write=False):
            self._pull(fd)
        return len(self._buffer)

    def _wait(self, fd: int, seconds: float, *, write: bool) -> bool:
        """Wait until `fd` can be read (written); False when `seconds` have passed."""
        poll = self._poll_in
        if write:
            poll = select.poll()
            poll.register(fd, select.POLLOUT)
        return bool(poll.poll(max(0.0, seconds) * 1000.0))

    def _pull(self, fd: int) -> None:
        try:
            chunk = os.read(fd, 4096)
        except BlockingIOError:
            return
        except OSError as error:
            raise self._lost(error.strerror or str(error)) from None
        if not chunk:
            raise self._lost("the other end hung up")
        if self.first_byte_ns is None:
            self.first_byte_ns = time.time_ns()
        self._buffer += chunk

    # -- time-outs -----------------------------------------------------------------------

    def wire_time_s(self, n_bytes: int) -> float:
        """Return how long `n_bytes` take on the wire at the present rate [s]."""
        return n_bytes * BITS_PER_BYTE / float(self.baudrate)

    def setPacketTimeout(self, packet_length: int) -> None:  # noqa: N802
        """Allow `packet_length` bytes on the wire plus the adapter's latency."""
        self._deadline = time.monotonic() + self.wire_time_s(packet_length) + self.latency_s

    def setPacketTimeoutMillis(self, msec: float) -> None:  # noqa: N802
        """Allow `msec` [ms] from now."""
        self._deadline = time.monotonic() + msec / 1000.0

    def shorten_timeout(self, seconds: float) -> None:
        """Bring the end of the wait forward to `seconds` [s] from now, never back."""
        self._deadline = min(self._deadline, time.monotonic() + seconds)

    def isPacketTimeout(self) -> bool:  # noqa: N802
        """Return whether the time allowed has passed."""
        return time.monotonic() >= self._deadline

    def listen(self, timeout_s: float, *, gap_s: float = QUIET_GAP_S, want: int = 0) -> bytes:
        """Return what arrives within `timeout_s` [s].

        Ends early once `want` bytes are there (0: never), or after `gap_s` [s] of silence
        following the first byte.
        """
        fd = self._descriptor()
        heard = bytearray(self._buffer)
        self._buffer.clear()
        end = time.monotonic() + timeout_s
        while not want or len(heard) < want:
            left = end - time.monotonic()
            if left <= 0.0:
                break
            if not self._wait(fd, min(left, gap_s) if heard else left, write=False):
                break
            self._pull(fd)
            heard += self._buffer
            self._buffer.clear()
        return bytes(heard)
