"""The tables with a row for each run, for each flow of each run, and for each group of flows of each run.

wirespeed writes them as `results.parquet`, `flow_results.parquet` and `group_results.parquet`. For a folder of an older
build the same tables are made from each `run.json` and the output of `wirespeed report --json`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .command import PathLike, report_json
from .definitions import metrics as known_metrics
from .errors import Damaged, NotResults, Unreadable
from .parquet import check_version, read_parquet, with_version
from .problems import entries, read_info
from .quantities import factor_text, quantity

RESULTS = "results.parquet"
FLOW_RESULTS = "flow_results.parquet"
GROUP_RESULTS = "group_results.parquet"

NUMBER = ".value"
"""Ends the name of the column that has a factor as a number."""

IDENTITY = ("id", "study", "substrate", "repeat", "seed", "started", "copy_of", "limit")
_FLOW_IDENTITY = ("id", "flow", "label", "kind", "congestion")
_GROUP_IDENTITY = ("id", "group", "class", "flows")
_COSTS = ("cost_wall_s", "cost_cpu_s", "cost_packets")


def read_results(path: Path) -> pa.Table:
    """Reads `results.parquet`, `flow_results.parquet` or `group_results.parquet`.

    Raises:
        FileNotFoundError: the file does not exist.
        Damaged: it is not Parquet, or it has no column `id`.
        Foreign: another program wrote it.
        NewerFormat: a newer version of wirespeed wrote it.
    """
    table = read_parquet(path)
    check_version(path, table.schema)
    if "id" not in table.column_names:
        raise Damaged(path, "it has no column `id`")
    return table


def factor_columns(schema: pa.Schema) -> list[str]:
    """Names of the factors: they are texts, and metrics are numbers."""
    known = {*IDENTITY, *_COSTS}
    return [field.name for field in schema if field.name not in known and _is_text(field.type)]


def metric_columns(schema: pa.Schema) -> list[str]:
    """Names of the metrics, with those of cost left out."""
    known = {*IDENTITY, *_FLOW_IDENTITY, *_GROUP_IDENTITY, *_COSTS}
    numbers = {f"{factor}{NUMBER}" for factor in factor_columns(schema)}
    return [
        field.name
        for field in schema
        if field.name not in known | numbers and pa.types.is_floating(field.type)
    ]


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind))


@dataclass(frozen=True)
class _Row:
    info: dict[str, Any]
    result: dict[str, Any]


@dataclass(frozen=True)
class Tables:
    """The three tables of a folder."""

    runs: pa.Table
    flows: pa.Table
    groups: pa.Table


def build(folder: Path, binary: PathLike | None = None) -> Tables:
    """The tables of a folder without them. This reads all runs, and calls wirespeed for the metrics.

    Raises:
        BinaryNotFound: wirespeed is not installed.
        NotResults: the folder has no complete run.
        CommandFailed: wirespeed cannot read the folder.
    """
    infos: dict[str, dict[str, Any]] = {}
    for directory in entries(folder):
        try:
            info = read_info(directory)
        except Unreadable:
            continue  # `Folder.problems` has the reason
        if info["id"] not in infos or directory.name == info["id"]:
            infos[info["id"]] = info
    if not infos:
        raise NotResults(folder, "it has no complete run")
    # Several runs of one id: the first, as they are indistinguishable in the output.
    results: dict[str, dict[str, Any]] = {}
    for result in report_json(folder, binary)["runs"]:
        if result["complete"]:
            results.setdefault(result["id"], result)
    rows = [_Row(infos[run], results[run]) for run in infos if run in results]
    return Tables(_runs(rows, binary), _flows(rows, binary), _groups(rows, binary))


def _runs(rows: Sequence[_Row], binary: PathLike | None) -> pa.Table:
    of: list[tuple[str, pa.DataType, Callable[[_Row], Any]]] = [
        ("id", pa.string(), lambda row: row.info["id"]),
        ("study", pa.string(), lambda row: row.info["study"]),
        ("substrate", pa.string(), lambda row: row.info.get("substrate")),
        ("repeat", pa.uint64(), lambda row: row.info["repeat"]),
        ("seed", pa.uint64(), lambda row: row.info.get("seed")),
        ("started", pa.string(), lambda row: row.info.get("started")),
        ("copy_of", pa.string(), lambda row: row.info.get("copy_of")),
        ("limit", pa.string(), lambda row: row.result.get("limit")),
    ]
    columns = [_column(name, kind, [get(row) for row in rows]) for name, kind, get in of]
    for key in sorted({key for row in rows for key in row.info["factors"]}):
        columns += _factor(key, [row.info["factors"].get(key) for row in rows])
    columns += _metrics([row.result["metrics"] for row in rows], binary)
    costs = [row.info.get("cost", {}) for row in rows]
    columns += [
        _column("cost_wall_s", pa.float64(), [cost.get("wall_s") for cost in costs], unit="s"),
        _column("cost_cpu_s", pa.float64(), [cost.get("cpu_s") for cost in costs], unit="s"),
        _column("cost_packets", pa.uint64(), [cost.get("packets") for cost in costs], unit="packets"),
    ]
    return _table(columns)


def _flows(rows: Sequence[_Row], binary: PathLike | None) -> pa.Table:
    flows = [
        # Builds whose JSON has no flows give no metrics by flow.
        (
            row.info["id"],
            number,
            flow,
            (row.result.get("flows") or [{}] * (number + 1))[number].get("metrics", {}),
        )
        for row in rows
        for number, flow in enumerate(row.info["flows"])
    ]
    columns = [
        _column("id", pa.string(), [run for run, _, _, _ in flows]),
        _column("flow", pa.uint64(), [number for _, number, _, _ in flows]),
    ]
    columns += [
        _column(key, pa.string(), [flow.get(key) for _, _, flow, _ in flows]) for key in _FLOW_IDENTITY[2:]
    ]
    return _table(columns + _metrics([metrics for _, _, _, metrics in flows], binary))


def _groups(rows: Sequence[_Row], binary: PathLike | None) -> pa.Table:
    # Builds whose JSON has no groups give no rows.
    groups = [(row.info["id"], group) for row in rows for group in row.result.get("groups", [])]
    columns = [
        _column("id", pa.string(), [run for run, _ in groups]),
        _column("group", pa.string(), [group["label"] for _, group in groups]),
        _column("class", pa.string(), [group["class"] for _, group in groups]),
        _column("flows", pa.uint64(), [len(group["flows"]) for _, group in groups]),
    ]
    return _table(columns + _metrics([group["metrics"] for _, group in groups], binary))


_Column = tuple[pa.Field, pa.Array]


def _column(name: str, kind: pa.DataType, values: Iterable[Any], *, unit: str = "", doc: str = "") -> _Column:
    notes = {key: text for key, text in (("unit", unit), ("doc", doc)) if text}
    return pa.field(name, kind, metadata=notes or None), pa.array(values, type=kind)


def _factor(key: str, values: Sequence[Any]) -> list[_Column]:
    texts = [None if value is None else factor_text(value) for value in values]
    columns = [_column(key, pa.string(), texts, doc="factor, as the scenario has it")]
    numbers = [quantity(value) for value in values]
    if any(number is not None for number in numbers):
        # 0 has the unit of the others.
        unit = next((number.unit for number in numbers if number and number.value != 0), "")
        plain = [None if number is None else number.value for number in numbers]
        doc = "the factor as a number; null for words"
        columns.append(_column(f"{key}{NUMBER}", pa.float64(), plain, unit=unit, doc=doc))
    return columns


def _metrics(rows: Sequence[dict[str, Any]], binary: PathLike | None) -> list[_Column]:
    found = {name for row in rows for name in row}
    if not found:
        return []
    known = known_metrics(binary)
    names = [name for name in known if name in found] + sorted(found - known.keys())
    columns = []
    for name in names:
        metric = known.get(name)
        unit, doc = (metric.unit, metric.definition) if metric else ("", "")
        columns.append(_column(name, pa.float64(), [row.get(name) for row in rows], unit=unit, doc=doc))
    return columns


def _table(columns: Sequence[_Column]) -> pa.Table:
    schema = pa.schema([field for field, _ in columns])
    return with_version(pa.Table.from_arrays([values for _, values in columns], schema=schema))


def row_counts(results: pa.Table) -> dict[str, int]:
    """How many rows have each id."""
    return {entry["values"]: entry["counts"] for entry in pc.value_counts(results["id"]).to_pylist()}
