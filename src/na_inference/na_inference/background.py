# SPDX-License-Identifier: Apache-2.0
"""One slow job at a time in a thread of its own, so that ticks are never late because of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class BusyError(RuntimeError):
    """A job is running already."""


class Background(Generic[T]):
    """Runs jobs; `done` is called in the job's thread with the result or the error."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None

    @property
    def busy(self) -> bool:
        """Whether a job runs."""
        return self._thread is not None and self._thread.is_alive()

    def start(
        self, job: Callable[[], T], done: Callable[[T | None, Exception | None], None]
    ) -> None:
        """Start a job; raises BusyError while another one runs."""
        if self.busy:
            raise BusyError("another model is being loaded or adapted: wait for it and try again")

        def work() -> None:
            try:
                result = job()
            except Exception as error:
                done(None, error)
            else:
                done(result, None)

        self._thread = threading.Thread(target=work, daemon=True, name="na_inference job")
        self._thread.start()

    def join(self, timeout: float) -> None:
        """Wait for the running job, at most `timeout` [s]."""
        if self._thread is not None:
            self._thread.join(timeout)
