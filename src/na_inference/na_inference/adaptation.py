# SPDX-License-Identifier: Apache-2.0
"""Adapts the model to this arm in a worker process; the guard there decides whether it is used."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

MINUTES = 1.0  # wall clock that the worker may train for
SPARE_SECONDS = 300.0  # for starting it, and for judging before and after
FEWEST_LABELS = 600  # ticks: ten seconds at 60 Hz


class AdaptationError(RuntimeError):
    """Nothing was adapted; the text says why and what to do."""


@dataclass(frozen=True)
class Job:
    """What the worker is given.

    Attributes:
        command: words before the arguments.
        robot: robot name or file.
        model: the model in use.
        data: folder with the recording.
        out: the file that the adapted model is to be written to.
    """

    command: tuple[str, ...]
    robot: str
    model: Path
    data: Path
    out: Path

    def words(self) -> list[str]:
        """The whole command line."""
        return [
            *_gently(),
            *self.command,
            *("--robot", self.robot),
            *("--model", str(self.model)),
            *("--data", str(self.data)),
            *("--out", str(self.out)),
            *("--minutes", f"{MINUTES:g}"),
        ]


def _gently() -> tuple[str, ...]:
    """Words that start the worker with a low priority: it must not make ticks late."""
    nice = shutil.which("nice")
    return (nice, "-n", "15") if nice else ()


def training_command(given: Sequence[str]) -> tuple[str, ...]:
    """The command asked for, else `./na train adapt` of the workspace that this runs in.

    Raises:
        AdaptationError: neither exists.
    """
    words = tuple(word for word in given if word)
    if words:
        return words
    workspace = os.environ.get("NA_WORKSPACE")
    if workspace and (Path(workspace) / "na").is_file():
        return (str(Path(workspace) / "na"), "train", "adapt")
    raise AdaptationError(
        "not adapted: no training package here (NA_WORKSPACE is not set); set the parameter "
        "adapt_command, for example to ['/path/to/na', 'train', 'adapt']"
    )


def check_labels(ticks: int, labelled: int) -> None:
    """Raise AdaptationError unless there is enough to learn from."""
    if labelled < FEWEST_LABELS:
        raise AdaptationError(
            f"not adapted: {labelled} of the {ticks} remembered ticks carry a force label, "
            f"expected at least {FEWEST_LABELS}; hold known weights and publish what they are on "
            "/nad/label (SetForceLabel), or move freely with a label of 0 N"
        )


@contextmanager
def work_folder() -> Iterator[Path]:
    """A new folder for one job; it stays when the job's model is used, since the model is in it."""
    folder = Path(tempfile.mkdtemp(prefix="na-adapt-"))
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def run(job: Job) -> Path:
    """Run the worker to its end and return the new model's file.

    Raises:
        AdaptationError: the guard kept the old model, or the worker failed.
    """
    try:
        process = subprocess.run(
            job.words(),
            capture_output=True,
            text=True,
            timeout=60.0 * MINUTES + SPARE_SECONDS,
            check=False,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
    except OSError as error:
        raise AdaptationError(f"not adapted: {shlex.join(job.command)}: {error}") from error
    except subprocess.TimeoutExpired as error:
        raise AdaptationError(
            f"not adapted: the worker took longer than {error.timeout:.0f} s"
        ) from error
    words = (process.stdout + process.stderr).strip().splitlines()
    last = " | ".join(words[-6:]) or "it said nothing"
    if process.returncode != 0:
        raise AdaptationError(f"old model kept (exit code {process.returncode}): {last}")
    if not job.out.is_file():
        raise AdaptationError(f"old model kept: the worker wrote no {job.out}: {last}")
    return job.out
