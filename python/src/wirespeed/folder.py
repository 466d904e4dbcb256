"""A folder of results, as `wirespeed run` and `wirespeed probe` write it."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import pyarrow as pa

from .command import PathLike
from .definitions import Metric, of_schema
from .errors import NoSuchName, NotResults, Unreadable
from .frames import FrameKind, convert, to_pandas, to_polars
from .problems import Problem, entries, is_run, read_info, scan
from .recorded_run import RecordedRun
from .results import (
    FLOW_RESULTS,
    GROUP_RESULTS,
    RESULTS,
    Tables,
    build,
    factor_columns,
    metric_columns,
    read_results,
    row_counts,
)

if TYPE_CHECKING:
    import pandas
    import polars


def open_folder(path: PathLike, *, binary: PathLike | None = None) -> Folder:
    """Opens a folder of results, or a single run directory. No run is read before it is asked for.

    Args:
        path: for example `wirespeed-out/first-look`.
        binary: the program that computes the metrics of a folder without `results.parquet`.

    Raises:
        NotResults: the path is not a folder, or it holds no results.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise NotResults(folder, "it is not a folder" if folder.exists() else "it does not exist")
    # The number of runs does not matter for this.
    has_results = (folder / RESULTS).exists() or (folder / "runs").is_dir() or is_run(folder)
    if not has_results and not entries(folder):
        raise NotResults(folder, f"it has no {RESULTS} and no runs; write a folder of `wirespeed run`")
    return Folder(folder, binary)


class Folder:
    """A folder of results. :func:`wirespeed.open` makes it.

    Each table is read when it is first asked for, and kept.

    Attributes:
        path: the folder.
    """

    def __init__(self, path: Path, binary: PathLike | None = None) -> None:
        self.path = path
        self._binary = binary

    def __repr__(self) -> str:
        return f"Folder({str(self.path)!r})"

    def __len__(self) -> int:
        """The number of complete runs."""
        return int(self.results.num_rows)

    @cached_property
    def results(self) -> pa.Table:
        """A row for each complete run, as an Arrow table.

        The columns are the identity of the run (`id`, `study`, `substrate`, `repeat`, `seed`, `started`, `copy_of`, `limit`), each
        factor as text, each factor with a number as `NAME.value` (s, bit/s, byte or plain), the metrics, and the cost. The
        metadata of a field has its `unit` and `doc`. A metric that the run does not have is null.

        Raises:
            Unreadable: `results.parquet` is damaged, foreign, or of a newer format version.
            BinaryNotFound: there is no `results.parquet`, and no wirespeed to compute the metrics.
        """
        if (self.path / RESULTS).exists():
            return read_results(self.path / RESULTS)
        return self._built.runs

    @cached_property
    def flow_results(self) -> pa.Table:
        """A row for each flow of each complete run, as an Arrow table: `id`, `flow`, `label`, `kind`, `congestion`, metrics.

        Raises:
            Unreadable: `flow_results.parquet` is damaged, foreign, or of a newer format version.
            BinaryNotFound: there is no `flow_results.parquet`, and no wirespeed to compute the metrics.
        """
        if (self.path / FLOW_RESULTS).exists():
            return read_results(self.path / FLOW_RESULTS)
        return self._built.flows

    @cached_property
    def group_results(self) -> pa.Table:
        """A row for each group of flows of each complete run, as an Arrow table: `id`, `group`, `class`, `flows`, metrics.

        `class` is `tcp`, `tcp-finite` for TCP with a size, `udp`, or `tcp-leg` for TCP to a splitter, and `flows` the number of
        flows in the group. Runs that
        were recorded without groups have no rows.

        Raises:
            Unreadable: `group_results.parquet` is damaged, foreign, or of a newer format version.
            BinaryNotFound: there is no `group_results.parquet`, and no wirespeed to compute the metrics.
        """
        if (self.path / GROUP_RESULTS).exists():
            return read_results(self.path / GROUP_RESULTS)
        return self._built.groups

    @cached_property
    def _built(self) -> Tables:
        return build(self.path, self._binary)

    @cached_property
    def runs(self) -> pandas.DataFrame:
        """:attr:`results` as a pandas frame."""
        return to_pandas(self.results)

    def runs_polars(self) -> polars.DataFrame:
        """:attr:`results` as a Polars frame."""
        return to_polars(self.results)

    @cached_property
    def flows(self) -> pandas.DataFrame:
        """:attr:`flow_results` as a pandas frame."""
        return to_pandas(self.flow_results)

    def flows_polars(self) -> polars.DataFrame:
        """:attr:`flow_results` as a Polars frame."""
        return to_polars(self.flow_results)

    @cached_property
    def groups(self) -> pandas.DataFrame:
        """:attr:`group_results` as a pandas frame."""
        return to_pandas(self.group_results)

    def groups_polars(self) -> polars.DataFrame:
        """:attr:`group_results` as a Polars frame."""
        return to_polars(self.group_results)

    @property
    def ids(self) -> list[str]:
        """The ids of the complete runs."""
        ids: list[str] = self.results["id"].to_pylist()
        return ids

    @property
    def factors(self) -> dict[str, list[str]]:
        """The levels of each factor, as text, in the order of the runs."""
        found = {}
        for name in factor_columns(self.results.schema):
            levels = self.results[name].unique().to_pylist()
            found[name] = [level for level in levels if level is not None]
        return found

    @property
    def metrics(self) -> dict[str, Metric]:
        """The metrics that the runs have, each with its unit and definition."""
        return of_schema(self.results.schema, metric_columns(self.results.schema))

    def run(self, id: str) -> RecordedRun:
        """One run by its id, for example `congestion=bic,r0`.

        Raises:
            NoSuchName: there is no complete run of that id.
            Unreadable: the run is incomplete, damaged, foreign, or of a newer format version.
        """
        return RecordedRun(self._directory(id))

    def _directory(self, run: str) -> Path:
        # An id may come from a file of others: it is a name, never a path.
        if run and run not in {".", ".."} and "/" not in run and "\0" not in run:
            for directory in (self.path / "runs" / run, self.path / run):
                if is_run(directory):
                    read_info(directory)
                    return directory
            if run in self._places:
                return self._places[run]
        raise NoSuchName("run", run, self.ids)

    @cached_property
    def _places(self) -> dict[str, Path]:
        """The directory of each run, for folders in which it does not follow from the id. This reads each `run.json`."""
        places: dict[str, Path] = {}
        for directory in entries(self.path):
            try:
                places.setdefault(read_info(directory)["id"], directory)
            except Unreadable:
                continue  # `problems` has the reason
        return places

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
        """A table of all complete runs, with the column `id` before the others. This reads every run.

        A run without the table has no rows.

        Args:
            name: for example `flows`, `queues` or `ledger`.
            kind: `pandas`, `polars` or `arrow`.
            columns: read these only.

        Raises:
            NoSuchName: no run has that table, or there is no such column.
            NotKept: no run has that table, since the scenario did not keep it.
            Unreadable: a run of `results.parquet` cannot be read.
        """
        parts, known = [], set()
        for id in self.ids:
            run = self.run(id)
            known.update(run.tables)
            if name in run.tables:
                rows = run.table(name, "arrow", columns)
                ids = pa.array([id] * rows.num_rows, pa.string())
                parts.append(rows.add_column(0, "id", ids))
        if not parts:
            for run in (self.run(id) for id in self.ids):
                if run.series != "all":
                    raise run.missing(name)
            raise NoSuchName("table", name, sorted(known))
        return convert(pa.concat_tables(parts, promote_options="permissive"), kind)

    @overload
    def ledger(self, kind: Literal["pandas"] = ...) -> pandas.DataFrame: ...
    @overload
    def ledger(self, kind: Literal["polars"]) -> polars.DataFrame: ...
    @overload
    def ledger(self, kind: Literal["arrow"]) -> pa.Table: ...
    def ledger(self, kind: FrameKind = "pandas") -> Any:
        """The loss ledger of all runs: `id`, `direction`, `entry`, `stage`, `place`, `cause`, `packets`, `source`.

        In each run and direction, sent = delivered + lost + in flight + unexplained.

        Raises:
            Unreadable: a run of `results.parquet` cannot be read.
        """
        return convert(self.table("ledger", "arrow"), kind)

    @cached_property
    def damaged(self) -> list[Problem]:
        """Entries that are not readable runs, and disagreements with `results.parquet`, each with the reason.

        This reads each `run.json`. :meth:`problems` also compares checksums.
        """
        return self.problems()

    def problems(self, *, checksums: bool = False) -> list[Problem]:
        """The same as :attr:`damaged`, read again.

        Args:
            checksums: read every file of every run and compare it with `SHA256SUMS`.
        """
        listed, own = None, []
        if (self.path / RESULTS).exists():
            try:
                listed = row_counts(read_results(self.path / RESULTS))
            except Unreadable as error:
                own = [Problem.of(error)]
        return own + scan(entries(self.path), listed, checksums=checksums)
