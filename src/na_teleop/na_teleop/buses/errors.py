# SPDX-License-Identifier: Apache-2.0
"""What can go wrong on a servo bus: the line failed, or the servo complained."""

from __future__ import annotations

from enum import StrEnum


class PortProblem(StrEnum):
    """Why a port could not be used; each has its own text and remedy."""

    MISSING = "missing"
    PERMISSION = "permission"
    NOT_A_TTY = "not a serial port"
    BUSY = "held by another process"
    BAUD = "baud rate refused"
    LOST = "lost while open"
    NOT_OPEN = "not open"
    NO_REPLY = "no reply"
    CORRUPT = "garbled reply"


class BusError(Exception):
    """Base of both families; keeps the evidence beside the text.

    Attributes:
        port: device path.
        id: servo id, or None when the whole line is concerned.
        register: name of the register being accessed, or None.
        attempts: number of tries made before giving up.
        remedy: what the reader should do next.

    """

    def __init__(
        self,
        message: str,
        *,
        port: str,
        id: int | None = None,
        register: str | None = None,
        attempts: int = 1,
        remedy: str = "",
    ) -> None:
        """Build the text from the message, the evidence and the remedy."""
        self.port = port
        self.id = id
        self.register = register
        self.attempts = attempts
        self.remedy = remedy
        self.message = message
        super().__init__(f"{message}{'. ' + remedy if remedy else ''}")


class PortError(BusError):
    """The line failed: the port cannot be opened, vanished, or nothing intelligible came back."""

    def __init__(
        self,
        message: str,
        *,
        problem: PortProblem,
        port: str,
        id: int | None = None,
        register: str | None = None,
        attempts: int = 1,
        remedy: str = "",
    ) -> None:
        """See BusError; `problem` says which of the known troubles it is."""
        super().__init__(
            message, port=port, id=id, register=register, attempts=attempts, remedy=remedy
        )
        self.problem = problem

    @property
    def port_is_gone(self) -> bool:
        """True when retrying on the open file is useless: the port must be opened again."""
        return self.problem in (PortProblem.LOST, PortProblem.NOT_OPEN, PortProblem.MISSING)


class ServoError(BusError):
    """The servo answered, and complained: access, range, or a value that did not stick."""

    def __init__(
        self,
        message: str,
        *,
        port: str,
        id: int | None = None,
        register: str | None = None,
        attempts: int = 1,
        remedy: str = "",
        code: int = 0,
    ) -> None:
        """See BusError; `code` is the error field of the servo's reply."""
        super().__init__(
            message, port=port, id=id, register=register, attempts=attempts, remedy=remedy
        )
        self.code = code
