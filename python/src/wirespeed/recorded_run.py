"""One run directory."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import pyarrow as pa

from .errors import NoSuchName, NothingToDraw, NotKept
from .frames import FrameKind, convert
from .parquet import read_parquet, read_schema
from .problems import changed_files, read_info

if TYPE_CHECKING:
    import pandas
    import polars


_SAMPLES = ("flows", "queues", "hosts", "cores", "threads")


class RecordedRun:
    """A complete run: what `run.json` says, and its tables.

    Attributes:
        path: the run directory.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"RecordedRun({str(self.path)!r})"

    @cached_property
    def info(self) -> dict[str, Any]:
        """The content of `run.json`.

        Raises:
            Unreadable: the run is incomplete, damaged, foreign, or of a newer format version.
        """
        return read_info(self.path)

    @property
    def id(self) -> str:
        """The swept factors and the repetition, for example `congestion=bic,r0`."""
        return str(self.info["id"])

    @property
    def factors(self) -> dict[str, Any]:
        """The swept factors, as the scenario has them."""
        return dict(self.info["factors"])

    @property
    def warnings(self) -> list[str]:
        """Sentences that a reader of the numbers needs to know."""
        return list(self.info.get("warnings", []))

    @property
    def labels(self) -> list[str]:
        """The label of each flow; the number of a flow is its index."""
        return [str(flow.get("label", number)) for number, flow in enumerate(self.info["flows"])]

    @property
    def tables(self) -> list[str]:
        """Names of the tables that the run has, for example `flows`."""
        return sorted(path.stem for path in self.path.glob("*.parquet"))

    @property
    def series(self) -> Literal["all", "thin", "none"]:
        """The rows that the run has of its tables of samples (`flows`, `queues`, `hosts`, `cores`, `threads`).

        `thin`: of each flow, queue, interface, core and thread the first row of each interval, and the last row. `thin` and
        `none` have no table `datagrams` and no `queue_delays`. Metrics are those of all rows in any case.
        """
        kept = self.info.get("series", {}).get("kept", "all")
        return "thin" if kept == "thin" else "none" if kept == "none" else "all"

    @overload
    def table(
        self, name: str, kind: Literal["pandas"] = ..., columns: list[str] | None = ...
    ) -> pandas.DataFrame: ...
    @overload
    def table(
        self, name: str, kind: Literal["polars"], columns: list[str] | None = ...
    ) -> polars.DataFrame: ...
    @overload
    def table(self, name: str, kind: Literal["arrow"], columns: list[str] | None = ...) -> pa.Table: ...
    def table(self, name: str, kind: FrameKind = "pandas", columns: list[str] | None = None) -> Any:
        """A table of the run.

        Most columns end in their unit, such as `rtt_ns`. Counters are cumulative. A value that was not measured is null.

        Args:
            name: for example `flows`, `queues` or `ledger`.
            kind: `pandas`, `polars` or `arrow`.
            columns: read these only.

        Raises:
            NoSuchName: the run does not have that table or column.
            NotKept: the run does not have that table, since its scenario did not keep it.
            Damaged: the file cannot be read.
            Unreadable: the run is incomplete, damaged, foreign, or of a newer format version.
        """
        path = self._path(name)
        if columns is not None:
            known = read_schema(path).names
            for column in columns:
                if column not in known:
                    raise NoSuchName(f"column of {name}", column, known)
        return convert(read_parquet(path, columns), kind)

    def _path(self, table: str) -> Path:
        _ = self.info  # a table of a run that is not complete may not be whole
        if table not in self.tables:
            raise self.missing(table)
        return self.path / f"{table}.parquet"

    def missing(self, table: str) -> NoSuchName:
        """The error for a table that the run does not have."""
        rows_of_packets = {"datagrams", "queue_delays"}
        was_dropped = {"all": set[str](), "thin": rows_of_packets, "none": {*_SAMPLES, *rows_of_packets}}
        if table in was_dropped[self.series]:
            return NotKept(table, self.id, self.series)
        return NoSuchName("table", table, self.tables)

    def definitions(self, name: str) -> dict[str, str]:
        """The definition of each column of a table, as the file has it.

        Raises:
            NoSuchName: the run does not have that table.
        """
        schema = read_schema(self._path(name))
        return {field.name: (field.metadata or {}).get(b"doc", b"").decode() for field in schema}

    def verify(self) -> None:
        """Compares every file of the run with its checksum.

        Raises:
            Damaged: a file differs from `SHA256SUMS`, or is missing.
        """
        for change in changed_files(self.path):
            raise change

    def flow_number(self, flow: int | str) -> int:
        """The number of a flow that is given by its number or its label.

        Raises:
            NoSuchName: there is no such flow.
            NothingToDraw: several flows have the label.
        """
        labels = self.labels
        if isinstance(flow, int):
            if not 0 <= flow < len(labels):
                raise NoSuchName("flow", str(flow), [str(number) for number in range(len(labels))])
            return flow
        match [number for number, label in enumerate(labels) if label == flow]:
            case [number]:
                return number
            case []:
                raise NoSuchName("flow", flow, labels)
            case numbers:
                raise NothingToDraw(f"the flows {numbers} have the label `{flow}`; give a number")
