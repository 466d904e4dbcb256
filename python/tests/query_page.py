"""The page on queries: its scenario, and the code of each section."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import duckdb
import polars as pl
from conftest import ROOT

PAGE = ROOT / "docs/how-to/query-results.md"


@dataclass(frozen=True)
class Section:
    """A section with one block of SQL and one of Python."""

    heading: str
    sql: str
    python: str
    output: str | None
    """The recorded rows; `None` if there are none."""


def scenario() -> str:
    """The scenario that all queries of the page are about."""
    [block] = _blocks(PAGE.read_text(), "toml")
    return block


def sections() -> list[Section]:
    """The sections with code, in the order of the page: the first opens the tables, and each other one is a query."""
    found = []
    for text in PAGE.read_text().split("\n## ")[1:]:
        match _blocks(text, "sql"), _blocks(text, "python"):
            case [[sql], [python]]:
                output = _blocks(text, "text")
                found.append(Section(text.splitlines()[0], sql, python, output[0] if output else None))
            case [[], []]:
                pass
            case _:
                raise AssertionError(f"not one block of each language: {text.splitlines()[0]}")
    return found


def _blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.S | re.M)


class Session:
    """Executes the sections in the current directory; each may use what the first one defines."""

    def __init__(self) -> None:
        self._connection = duckdb.connect()
        self._names: dict[str, Any] = {}
        opening, *self.queries = sections()
        self.sql(opening)
        self.python(opening)

    def sql(self, section: Section) -> pl.DataFrame:
        """The rows of the last statement."""
        cursor = self._connection.execute(section.sql)
        names = [column[0] for column in cursor.description or ()]
        return pl.DataFrame(cursor.fetchall(), schema=names, orient="row", infer_schema_length=None)

    def python(self, section: Section) -> pl.DataFrame | None:
        """The frame that the code assigns to a name."""
        before = {name for name, _ in self._frames()}
        exec(section.python, self._names)
        frames = [frame for name, frame in self._frames() if name not in before]
        assert len(frames) <= 1, section.heading
        return frames[0] if frames else None

    def _frames(self) -> Iterator[tuple[str, pl.DataFrame]]:
        return ((name, value) for name, value in self._names.items() if isinstance(value, pl.DataFrame))
