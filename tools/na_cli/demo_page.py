# SPDX-License-Identifier: Apache-2.0
"""The demo's report: one HTML file with tables and plots inside, readable offline."""

from __future__ import annotations

import html
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from na_cli.live_force import LiveForce
from na_cli.report import cell, joint_unit
from na_core.nad.arrays import Episode

STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:72rem;margin:0 auto;padding:1rem;color:#1c2630}
h1{font-size:1.6rem}
h2{font-size:1.2rem;margin-top:2rem;border-bottom:1px solid #d4dae0}
table{border-collapse:collapse;display:block;overflow-x:auto}
td,th{padding:.2rem .8rem .2rem 0;text-align:left;white-space:nowrap}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
tr+tr{border-top:1px solid #e6eaee}
svg{width:100%;min-width:38rem;height:auto}
figure{margin:1rem 0;overflow-x:auto}
figcaption{color:#55616d}
p{overflow-wrap:anywhere}
.bad{color:#b3261e;font-weight:600}
.good{color:#1d6f42}
"""


@dataclass
class Page:
    """Sections of a report in the order in which they were added."""

    title: str
    parts: list[str] = field(default_factory=list)

    def heading(self, text: str) -> None:
        """Start a section."""
        self.parts.append(f"<h2>{html.escape(text)}</h2>")

    def paragraph(self, text: str) -> None:
        """Add a paragraph of plain text."""
        self.parts.append(f"<p>{html.escape(text)}</p>")

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Add a table; numbers stand right, yes and no in colour."""
        numeric = [
            all(isinstance(row[i], (int, float)) and not isinstance(row[i], bool) for row in rows)
            for i in range(len(columns))
        ]

        def line(tag: str, cells: Sequence[object]) -> str:
            made = []
            for value, right in zip(cells, numeric, strict=True):
                kind = ' class="n"' if right else ""
                if isinstance(value, bool):
                    kind = ' class="good"' if value else ' class="bad"'
                made.append(f"<{tag}{kind}>{html.escape(cell(value))}</{tag}>")
            return f"<tr>{''.join(made)}</tr>"

        body = "".join(line("td", row) for row in rows)
        self.parts.append(f"<table>{line('th', columns)}{body}</table>")

    def figure(self, figure: Any, caption: str) -> None:
        """Add a matplotlib figure as SVG, and close it."""
        text = io.StringIO()
        figure.savefig(text, format="svg", bbox_inches="tight", metadata={"Date": None})
        plt.close(figure)
        svg = text.getvalue()
        svg = svg[svg.index("<svg") :]
        self.parts.append(f"<figure>{svg}<figcaption>{html.escape(caption)}</figcaption></figure>")

    def write(self, path: Path) -> None:
        """Write the page."""
        path.write_text(
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(self.title)}'
            '</title><meta name="viewport" content="width=device-width,initial-scale=1">'
            f"<style>{STYLE}</style><h1>{html.escape(self.title)}</h1>{''.join(self.parts)}</html>",
            encoding="utf-8",
        )


def force_figure(force: LiveForce) -> Any:
    """Force by axis: truth, estimate and classical observer; contact gate as shading."""
    figure, axes = plt.subplots(3, 1, figsize=(10, 6.4), sharex=True, constrained_layout=True)
    time = force.time - force.time[0]
    for k, axis in enumerate(axes):
        axis.fill_between(
            time, 0, 1, where=force.contact, transform=axis.get_xaxis_transform(),
            color="#f4d58d", alpha=0.6, lw=0, label="contact gate open",
        )  # fmt: skip
        axis.plot(time, force.baseline[:, k], color="#9aa5b1", lw=0.8, label=force.baseline_name)
        axis.plot(time, force.truth[:, k], color="black", lw=1.2, label="truth (emulated)")
        axis.plot(time, force.estimate[:, k], color="#c0392b", lw=1.4, label="live estimate")
        axis.set_ylabel(f"F{'xyz'[k]} [N]")
        axis.set_ylim(*_limits(force, k))
        axis.grid(alpha=0.3)
    axes[0].legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, frameon=False)
    axes[-1].set_xlabel("time [s]")
    return figure


def _limits(force: LiveForce, k: int) -> tuple[float, float]:
    shown = np.concatenate([force.truth[:, k], force.estimate[:, k]])
    shown = shown[np.isfinite(shown)]
    low, high = (float(shown.min()), float(shown.max())) if len(shown) else (-1.0, 1.0)
    return min(low, -1.0) - 0.5, max(high, 1.0) + 0.5


def tracking_figure(episode: Episode) -> Any:
    """Goal and position of every joint of the follower."""
    track = episode.follower
    if track is None:
        raise ValueError(f"{episode.path}: no follower telemetry to draw")
    time = (track.stamp_ns - track.stamp_ns[0]) * 1e-9
    n = len(track.names)
    figure, axes = plt.subplots(n, 1, figsize=(10, 1.5 * n), sharex=True, constrained_layout=True)
    for j, axis in enumerate(axes):
        scale, unit = joint_unit(track.names[j])
        axis.plot(time, scale * track.goal_requested[:, j], "--", color="#2c6fbb", lw=1)
        axis.plot(time, scale * track.position[:, j], color="#1c2630", lw=1.2)
        axis.set_ylabel(f"{track.names[j].replace('_left_joint', '')}\n[{unit}]", fontsize=9)
        axis.grid(alpha=0.3)
    axes[-1].set_xlabel("time [s]")
    return figure


def telemetry_figure(episode: Episode) -> Any:
    """Current, voltage and temperature of every servo of the follower."""
    track = episode.follower
    if track is None:
        raise ValueError(f"{episode.path}: no follower telemetry to draw")
    time = (track.stamp_ns - track.stamp_ns[0]) * 1e-9
    figure, axes = plt.subplots(3, 1, figsize=(10, 5), sharex=True, constrained_layout=True)
    shown = (("current [A]", track.current), ("voltage [V]", track.voltage))
    for axis, (label, values) in zip(
        axes, (*shown, ("temperature [°C]", track.temperature)), strict=True
    ):
        axis.plot(time, values, lw=0.9, label=list(track.names))
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
    axes[0].legend(
        loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(track.names), frameon=False
    )
    axes[-1].set_xlabel("time [s]")
    return figure


def histogram_figure(episode: Episode, latency: np.ndarray[Any, Any] | None) -> Any:
    """Periods of the telemetry and, with an estimate, its latency; both in [ms]."""
    track = episode.follower
    if track is None:
        raise ValueError(f"{episode.path}: no follower telemetry to draw")
    periods = np.diff(track.stamp_ns[~track.stale]) * 1e-6
    shown = [("period of the telemetry [ms]", periods)]
    if latency is not None and len(latency):
        shown.append(("telemetry stamp to published estimate [ms]", 1e3 * latency))
    figure, axes = plt.subplots(
        1, len(shown), figsize=(10, 2.8), squeeze=False, constrained_layout=True
    )
    for axis, (label, values) in zip(axes[0], shown, strict=True):
        axis.hist(values, bins=60, color="#2c6fbb")
        axis.set_yscale("log")
        axis.set_xlabel(label)
        axis.set_ylabel("ticks")
        axis.grid(alpha=0.3)
    return figure
