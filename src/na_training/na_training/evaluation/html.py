# SPDX-License-Identifier: Apache-2.0
"""One self-contained HTML page of tables and pictures."""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping, Sequence
from typing import Any

from na_training.evaluation.report import Table

STYLE = (
    "body{font-family:sans-serif;margin:2em;max-width:75em}table{border-collapse:collapse;"
    "margin-bottom:2em}td,th{border-bottom:1px solid #ccc;padding:.2em .7em;text-align:right}"
    "td:first-child,th:first-child{text-align:left}img{max-width:100%}pre{background:#f4f4f4;"
    "padding:1em;overflow:auto}"
)


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4g}"
    return html.escape(str(value))


def page(
    title: str,
    notes: Mapping[str, str],
    tables: Sequence[Table],
    pictures: Mapping[str, bytes],
) -> str:
    """Return the page; pictures are PNG bytes and are embedded."""
    parts = [
        f"<!doctype html><meta charset='utf-8'><title>{html.escape(title)}</title>",
        f"<style>{STYLE}</style><h1>{html.escape(title)}</h1><dl>",
        *(f"<dt>{html.escape(k)}</dt><dd>{html.escape(v)}</dd>" for k, v in notes.items()),
        "</dl>",
    ]
    for table in tables:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in table.columns)
        rows = "".join(
            "<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row) + "</tr>"
            for row in table.rows
        )
        parts.append(f"<h2>{html.escape(table.title)}</h2><table><tr>{head}</tr>{rows}</table>")
    for name, data in pictures.items():
        encoded = base64.b64encode(data).decode()
        parts.append(
            f"<h2>{html.escape(name)}</h2><img alt='{html.escape(name)}' "
            f"src='data:image/png;base64,{encoded}'>"
        )
    return "\n".join(parts) + "\n"
