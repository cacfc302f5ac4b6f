# SPDX-License-Identifier: Apache-2.0
"""What a run says while it trains: a progress line with the time left, TensorBoard, a JSON log."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from na_training.training.trainer import Budget

LINE_SECONDS = 1.0
PLAIN_SECONDS = 30.0
BAR = 24


def _writer(folder: Path) -> Any:
    """TensorBoard's writer, or None where it is not installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(folder / "tensorboard"))  # type: ignore[no-untyped-call]


class RunLog:
    """Logs of one run.

    Args:
        folder: of the run.
        budget: to tell the time left.
    """

    def __init__(self, folder: Path, budget: Budget) -> None:
        self.budget = budget
        self.tensorboard = _writer(folder)
        self.file = open(folder / "log.jsonl", "a", encoding="utf-8")  # noqa: SIM115
        self.terminal = sys.stdout.isatty()
        self._next = 0.0

    def scalars(self, step: int, values: dict[str, float]) -> None:
        """Losses of one update."""
        if self.tensorboard is not None:
            for name, value in values.items():
                self.tensorboard.add_scalar(name, value, step)
        self._write({"step": step, **values})

    def judged(self, step: int, point: dict[str, float]) -> None:
        """Validation figures."""
        if self.tensorboard is not None:
            for name, value in point.items():
                self.tensorboard.add_scalar(f"validation/{name}", value, step)
        self._write({"validation": True, **point})
        shown = "  ".join(
            f"{name} {value:.3g}"
            for name, value in point.items()
            if name not in ("step", "seconds")
        )
        print(("\r\033[K" if self.terminal else "") + f"validation: {shown}", flush=True)

    def line(
        self, step: int, seconds: float, share: float, horizon: int, loss: float, skipped: int
    ) -> None:
        """The progress line: once a second on a terminal, every 30 s elsewhere."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + (LINE_SECONDS if self.terminal else PLAIN_SECONDS)
        left = seconds * (1.0 - share) / share if share > 0.0 else float("nan")
        filled = int(BAR * min(share, 1.0))
        bar = "#" * filled + "." * (BAR - filled)
        text = (
            f"[{bar}] {100 * share:3.0f} %  update {step}  horizon {horizon}  loss {loss:.4f}  "
            f"skipped {skipped}  {_clock(seconds)} gone, {_clock(left)} left"
        )
        print(f"\r\033[K{text}" if self.terminal else text, end="" if self.terminal else "\n")
        sys.stdout.flush()

    def close(self, step: int, seconds: float, skipped: int) -> None:
        """End the logs."""
        if self.tensorboard is not None:
            self.tensorboard.close()
        self.file.close()
        print(
            ("\r\033[K" if self.terminal else "")
            + f"trained {step} updates in {_clock(seconds)}; {skipped} not finite and skipped",
            flush=True,
        )

    def _write(self, entry: dict[str, Any]) -> None:
        self.file.write(json.dumps(entry) + "\n")
        self.file.flush()


def _clock(seconds: float) -> str:
    if seconds != seconds or seconds < 0:
        return "?"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02d}"
