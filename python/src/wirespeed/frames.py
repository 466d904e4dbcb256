"""Conversion of Arrow tables into the data frames of pandas and Polars."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, assert_never

import pyarrow as pa

from .errors import MissingPackage

if TYPE_CHECKING:
    import pandas
    import polars

FrameKind: TypeAlias = Literal["pandas", "polars", "arrow"]


def load(module: str) -> Any:
    """Imports a module of an extra.

    Raises:
        MissingPackage: the package is not installed.
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise  # one of its own dependencies, which its message names
        raise MissingPackage(package) from error


def to_pandas(table: pa.Table) -> pandas.DataFrame:
    """The table as a pandas frame. Null becomes `NaN`, and whole numbers with nulls become floats."""
    load("pandas")
    frame: pandas.DataFrame = table.to_pandas()
    return frame


def to_polars(table: pa.Table) -> polars.DataFrame:
    """The table as a Polars frame. Null stays null."""
    frame: polars.DataFrame = load("polars").from_arrow(table)
    return frame


def convert(table: pa.Table, kind: FrameKind) -> Any:
    """The table as the asked kind of frame."""
    match kind:
        case "pandas":
            return to_pandas(table)
        case "polars":
            return to_polars(table)
        case "arrow":
            return table
        case _:
            assert_never(kind)
