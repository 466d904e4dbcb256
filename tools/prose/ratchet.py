"""The committed counts: a rule's findings in an area may become fewer, never more.

The table is in TOML: a rule in brackets, then a line for each area with findings. An area without a line has none, and
may get none.
"""

import re
from typing import NamedTuple

Counts = dict[str, dict[str, int]]  # by rule, then by area

HEAD = """\
# How often each rule of tools/prose finds something, by area. An area that is not listed has no findings.
# `make prose UPDATE=1` writes this file. It lowers counts and never raises one.
"""


class Change(NamedTuple):
    rule: str
    area: str
    now: int
    allowed: int


def read(table: str) -> Counts:
    counts: Counts = {}
    for number, line in enumerate(table.splitlines(), 1):
        if rule := re.fullmatch(r"\[([a-z-]+)\]", line):
            areas = counts.setdefault(rule[1], {})
        elif (count := re.fullmatch(r'"([^"]+)" = (\d+)', line)) and counts:
            areas[count[1]] = int(count[2])
        elif line and not line.startswith("#"):
            raise ValueError(f"counts.toml, line {number}: expected [RULE] or \"AREA\" = NUMBER, got: {line}")
    return counts


def write(counts: Counts) -> str:
    rules = (
        f"\n[{rule}]\n" + "".join(f'"{area}" = {number}\n' for area, number in sorted(areas.items()) if number)
        for rule, areas in counts.items()
    )
    return HEAD + "".join(rules)


def changes(allowed: Counts, now: Counts) -> list[Change]:
    """Counts that differ. A rule that the table does not have is new: nothing of it has risen."""
    return [
        Change(rule, area, areas.get(area, 0), allowed[rule].get(area, 0))
        for rule, areas in now.items()
        if rule in allowed
        for area in sorted(areas.keys() | allowed[rule].keys())
        if areas.get(area, 0) != allowed[rule].get(area, 0)
    ]


def lowered(allowed: Counts, now: Counts) -> Counts:
    """The table after an improvement. New rules enter it with today's counts, removed ones leave it."""
    return {
        rule: {area: min(number, allowed[rule].get(area, 0)) for area, number in areas.items()}
        if rule in allowed
        else areas
        for rule, areas in now.items()
    }
