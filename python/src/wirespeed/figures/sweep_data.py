"""The values of a metric by setting."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..errors import NoSuchName, NothingToDraw
from ..folder import Folder
from ..results import NUMBER
from .statistics import Estimate, estimate

Where: TypeAlias = Mapping[str, str]
"""The level, as text, of each named factor."""


@dataclass(frozen=True)
class SweepData:
    """A metric of the runs that are observations of their own."""

    factors: list[str]
    rows: list[dict[str, Any]]
    values: list[float]
    unit: str
    units: dict[str, str]
    head: str

    @classmethod
    def of(cls, folder: Folder, metric: str, where: Where | None, drawn: Sequence[str] | None) -> SweepData:
        """Selects the rows; with `drawn`, all other factors have one level."""
        table = folder.results
        known = folder.metrics
        if metric not in known:
            raise NoSuchName("metric", metric, list(known))
        factors = list(folder.factors)
        fixed = {resolve(factors, name): level for name, level in (where or {}).items()}
        for name, level in fixed.items():
            if level not in folder.factors[name]:
                raise NoSuchName(f"level of {name}", level, folder.factors[name])
        numbers = [name for name in table.column_names if name.removesuffix(NUMBER) in factors]
        wanted = ["id", "study", "substrate", "copy_of", *numbers, metric]
        present = [name for name in dict.fromkeys(wanted) if name in table.column_names]
        rows = [
            row
            for row in table.select(present).to_pylist()
            if row[metric] is not None
            and math.isfinite(row[metric])
            and all(row[name] == level for name, level in fixed.items())
        ]
        # In a setting, a copy and its original are one observation.
        rows = list(
            {
                (*(row[name] for name in factors), row.get("copy_of") or row["id"]): row
                for row in reversed(rows)
            }.values()
        )[::-1]
        if not rows:
            raise NothingToDraw(f"{folder.path}: no run has {metric}")
        free = [name for name in factors if len({row[name] for row in rows}) > 1]
        if drawn is not None:
            taken = {resolve(factors, name) for name in drawn}
            for name in free:
                if name not in taken:
                    levels = ", ".join(f"`{level}`" for level in folder.factors[name])
                    raise NothingToDraw(
                        f"{name} has the levels {levels}; choose one: where={{{name!r}: ...}}"
                    )
        units = {
            name: (table.schema.field(name).metadata or {}).get(b"unit", b"").decode() for name in present
        }
        studies = sorted({f"{row.get('study')} on {row.get('substrate')}" for row in rows})
        fixed_words = [f"{name} {level}" for name, level in fixed.items()]
        head = "; ".join([", ".join(studies), *fixed_words])
        return cls(factors, rows, [float(row[metric]) for row in rows], known[metric].unit, units, head)

    def factor(self, name: str) -> str:
        """The full name of a factor."""
        return resolve(self.factors, name)

    def levels(self, factor: str) -> list[str]:
        """The levels, in the order of the runs."""
        return list(dict.fromkeys(str(row[factor]) for row in self.rows if row[factor] is not None))

    def numbers(self, factor: str) -> dict[str, float]:
        """The number of each level; empty if one has none."""
        found = {str(row[factor]): row.get(factor + NUMBER) for row in self.rows if row[factor] is not None}
        numbers = {level: float(number) for level, number in found.items() if number is not None}
        return numbers if len(numbers) == len(found) else {}

    def ordered(self, factor: str) -> list[str]:
        """The levels, by their numbers if all have one."""
        numbers = self.numbers(factor)
        return (
            sorted(self.levels(factor), key=lambda level: numbers[level]) if numbers else self.levels(factor)
        )

    def estimates(self, factors: Sequence[str]) -> dict[tuple[str, ...], Estimate]:
        """Mean and interval of each combination of levels."""
        groups: dict[tuple[str, ...], list[float]] = {}
        for row, value in zip(self.rows, self.values, strict=True):
            groups.setdefault(tuple(str(row[name]) for name in factors), []).append(value)
        return {key: estimate(values) for key, values in groups.items()}

    def conditions(self, cells: Iterable[Estimate], note: str) -> str:
        """A line with the study, the chosen levels, what is drawn, and the number of observations."""
        counts = sorted({cell.n for cell in cells})
        n = f"n = {counts[0]}" if len(counts) == 1 else f"n = {counts[0]} to {counts[-1]}" if counts else ""
        return "; ".join(filter(None, [self.head, note, n]))


def resolve(factors: Sequence[str], name: str) -> str:
    """The factor of that name, or the only one whose name ends so."""
    if name in factors:
        return name
    match [factor for factor in factors if factor.rpartition(".")[2] == name]:
        case [factor]:
            return factor
        case []:
            raise NoSuchName("factor", name, factors)
        case several:
            raise NoSuchName("factor", name, several)
