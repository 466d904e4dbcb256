"""Quantities with units, as scenarios write them."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

_BASE_UNITS = {
    # A duration, in s.
    "ps": ("1e-12", "s"),
    "ns": ("1e-9", "s"),
    "us": ("1e-6", "s"),
    "µs": ("1e-6", "s"),
    "ms": ("1e-3", "s"),
    "s": ("1", "s"),
    "min": ("60", "s"),
    "h": ("3600", "s"),
    # A rate, in bit/s.
    "bit/s": ("1", "bit/s"),
    "kbit/s": ("1e3", "bit/s"),
    "Mbit/s": ("1e6", "bit/s"),
    "Gbit/s": ("1e9", "bit/s"),
    "Tbit/s": ("1e12", "bit/s"),
    # A size, in byte.
    "B": ("1", "B"),
    "kB": ("1e3", "B"),
    "KB": ("1e3", "B"),
    "MB": ("1e6", "B"),
    "GB": ("1e9", "B"),
    "TB": ("1e12", "B"),
    "KiB": (str(2**10), "B"),
    "MiB": (str(2**20), "B"),
    "GiB": (str(2**30), "B"),
    "TiB": (str(2**40), "B"),
    # A multiple of the bandwidth-delay product of the path.
    "bdp": ("1", "BDP"),
}
_FORM = re.compile(r"([0-9_]*(?:\.[0-9_]*)?) *([^0-9. ]\S*)?", re.ASCII)
_MISSING = "\u2013"


class Quantity(NamedTuple):
    """A number in a base unit."""

    value: float
    unit: str
    """`s`, `bit/s`, `B`, `BDP`, or empty for a plain number."""


def quantity(value: object) -> Quantity | None:
    """The value of a factor as a number: itself, or a quantity in base units. `None` for other values."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return Quantity(float(value), "")
    match = _FORM.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None or not any(character.isdigit() for character in match[1]):
        return None
    number = Fraction(match[1].replace("_", "").rstrip("."))
    if match[2] is None:
        # 0 needs no unit; any other number in quotes is a word.
        return Quantity(0.0, "") if number == 0 else None
    if match[2] not in _BASE_UNITS:
        return None
    scale, unit = _BASE_UNITS[match[2]]
    return Quantity(float(number * Fraction(scale)), unit)


def factor_text(value: object) -> str:
    """The value of a factor as text, as wirespeed prints it: `1e-4`, `20 ms`, `true`."""
    match value:
        case str():
            return value
        case bool():
            return str(value).lower()
        case float() if value != 0 and abs(value) < 1e-3:
            return f"{Decimal(repr(value)).normalize():e}"
        case None:
            return _MISSING
        case _:
            return str(value)
