# SPDX-License-Identifier: Apache-2.0
"""The message reference in docs/, made from the comments in the .msg and .srv files."""

from __future__ import annotations

from pathlib import Path

HEAD = """# Messages and services of na_msgs

Made from the files in `src/na_msgs` by `./na docs`; change those, not this page.
"""


def reference(folder: Path) -> str:
    """The page for all messages and services in `folder` (with subfolders msg and srv)."""
    parts = [HEAD]
    for path in [*sorted((folder / "msg").glob("*.msg")), *sorted((folder / "srv").glob("*.srv"))]:
        parts.append(f"## {path.stem}\n")
        sections = path.read_text(encoding="utf-8").split("\n---\n")
        titles = ["Request", "Response"] if path.suffix == ".srv" else [""]
        for title, text in zip(titles, sections, strict=True):
            if title:
                parts.append(f"### {path.stem}: {title.lower()}\n")
            parts.append(_section(text))
    return "\n".join(parts)


def _section(text: str) -> str:
    """Introduction and table of one message."""
    intro: list[str] = []
    rows: list[tuple[str, str, str]] = []
    comments: list[str] = []
    seen_blank = False
    for line in text.strip().splitlines():
        line = line.strip()
        if line.startswith("#"):
            comments.append(line.lstrip("# ").rstrip())
            continue
        if not line:
            if comments and not rows and not seen_blank:
                intro, comments = comments, []
                seen_blank = True
            continue
        declaration, _, trailing = line.partition("#")
        kind, name = declaration.split(maxsplit=1)
        words = " ".join([*comments, trailing.strip()]).strip()
        shared = not comments and rows and not trailing and "=" not in name
        rows.append((name.strip(), kind, words or ("as above" if shared else "")))
        comments = []
    lines = [_paragraphs(intro)] if intro else []
    lines += ["| field | type | |", "|---|---|---|"]
    lines += [f"| `{name}` | `{kind}` | {_escaped(words)} |" for name, kind, words in rows]
    return "\n".join(lines) + "\n"


def _paragraphs(lines: list[str]) -> str:
    """Comment lines as paragraphs; an empty comment line separates them."""
    return "\n".join(line if line else "" for line in lines).strip() + "\n"


def _escaped(words: str) -> str:
    return words.replace("|", "\\|")
