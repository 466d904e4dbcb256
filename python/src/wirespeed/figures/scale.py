"""Units that suit the size of the values of an axis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

_LARGER = {
    "bit/s": ((1e12, "Tbit/s"), (1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")),
    "bytes": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B")),
    "B": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B")),
    "ns": ((1e9, "s"), (1e6, "ms"), (1e3, "µs")),
    "s": ((1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
}


class Scale(NamedTuple):
    """How many base units are one unit of the axis."""

    divisor: float
    unit: str

    def of(self, values: Iterable[float | None]) -> list[float | None]:
        """The values in the unit of the axis."""
        return [None if value is None else value / self.divisor for value in values]

    def title(self, name: str) -> str:
        """The name with the unit."""
        return f"{name} / {self.unit}" if self.unit else name


def scale_of(unit: str, values: Iterable[float | None]) -> Scale:
    """The largest unit that the largest value reaches. Other units stay as they are."""
    largest = max((abs(value) for value in values if value is not None), default=0.0)
    choices: Sequence[tuple[float, str]] = _LARGER.get(unit, ())
    for divisor, name in choices:
        if largest >= divisor:
            return Scale(divisor, name)
    return Scale(1.0, unit)


def metric_title(name: str) -> str:
    """A metric's name in words, without its unit: `rtt q95` of `rtt_q95_ns`."""
    for ending in ("_bps", "_ns", "_bytes", "_packets", "_s"):
        name = name.removesuffix(ending)
    return name.replace("_", " ")
