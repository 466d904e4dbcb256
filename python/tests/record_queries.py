"""Records the output of the queries in the page on queries: python tests/record_queries.py

It runs the scenario of the page with $WIRESPEED, and replaces the blocks of text of the page.
"""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
from query_page import PAGE, Session, scenario

import wirespeed

MOST_ROWS = 7
MOST_LETTERS = 44


def main() -> None:
    page = PAGE.read_text()
    with tempfile.TemporaryDirectory(prefix="wirespeed-queries-") as place, contextlib.chdir(place):
        Path("share.toml").write_text(scenario())
        wirespeed.run("share.toml")
        for day in (26, 27):
            wirespeed.run("share.toml", seed=day, out=f"campaigns/day=2026-11-{day}")
        session = Session()
        for section in session.queries:
            begin = page.index(f"## {section.heading}\n")
            before = page.index(section.python, begin) + len(section.python) + len("```\n\n")
            block = "```text\n"
            assert page.startswith(block, before), f"{section.heading}: no block of text after the code"
            after = page.index("```\n", before + len(block))
            page = page[:before] + block + text(session.sql(section)) + page[after:]
    PAGE.write_text(page)


def text(frame: pl.DataFrame) -> str:
    """The first rows, in columns."""
    rows = [frame.columns, *([cell(value) for value in row] for row in frame.head(MOST_ROWS).iter_rows())]
    widths = [max(len(row[index]) for row in rows) for index in range(frame.width)]
    are_words = [kind == pl.String for kind in frame.dtypes]
    lines = []
    for row in rows:
        columns = zip(row, widths, are_words, strict=True)
        cells = [value.ljust(width) if is_word else value.rjust(width) for value, width, is_word in columns]
        lines.append("  ".join(cells).rstrip())
    if frame.height > MOST_ROWS:
        lines.append(f"... ({frame.height} rows)")
    return "\n".join(lines) + "\n"


def cell(value: Any) -> str:
    match value:
        case float():
            return f"{value:.4g}"
        case str() if len(value) > MOST_LETTERS:
            return value[: MOST_LETTERS - 3] + "..."
        case None:
            return "null"
        case _:
            return str(value)


if __name__ == "__main__":
    main()
