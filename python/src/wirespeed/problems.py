"""Entries of a folder of results that are not readable runs, each with the reason."""

from __future__ import annotations

import hashlib
import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from .errors import Damaged, Foreign, Incomplete, NewerFormat, Unreadable
from .parquet import RUN_FORMAT_VERSION, newer

INFO = "run.json"
INCOMPLETE = "INCOMPLETE"
SUMS = "SHA256SUMS"

# As the program: a reason is a sentence, and the description of 10,000 flows takes some MB.
_LARGEST_REASON = 1 << 16
_LARGEST_INFO = 1 << 26


class ProblemKind(Enum):
    """Why an entry cannot be used."""

    DAMAGED = "damaged"
    """A file is truncated, changed or contradicts itself."""
    FOREIGN = "foreign"
    """It is not a run directory."""
    NEWER = "newer format"
    """It was written by a newer version of wirespeed."""
    INCOMPLETE = "incomplete"
    """The run did not end, or it is still running."""
    DUPLICATE = "duplicate id"
    """Another run directory or another row has the same id."""
    UNLISTED = "not in results.parquet"
    """The run is complete, and `results.parquet` is older than it."""
    MISSING = "no run directory"
    """`results.parquet` has a row for a run that the folder does not have."""


@dataclass(frozen=True)
class Problem:
    """An entry that is not a readable run."""

    kind: ProblemKind
    path: Path
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.kind.value}: {self.reason}"

    @classmethod
    def of(cls, error: Unreadable) -> Problem:
        """The problem that an error reports."""
        return cls(_KINDS[type(error)], error.path, error.reason)


_KINDS = {
    Damaged: ProblemKind.DAMAGED,
    Foreign: ProblemKind.FOREIGN,
    NewerFormat: ProblemKind.NEWER,
    Incomplete: ProblemKind.INCOMPLETE,
}


def is_run(directory: Path) -> bool:
    """Whether a directory is a run, be it complete or not."""
    return (directory / INFO).exists() or (directory / INCOMPLETE).exists()


def read_info(directory: Path) -> dict[str, Any]:
    """The content of `run.json` of a complete run.

    Raises:
        Foreign: it is not a run directory.
        Incomplete: the run did not end.
        NewerFormat: a newer version of wirespeed wrote it.
        Damaged: `run.json` cannot be understood.
    """
    if not directory.is_dir():
        raise Foreign(directory, "it is not a directory, and no run leaves it")
    mark, path = directory / INCOMPLETE, directory / INFO
    if mark.exists():
        reason = _read_text(mark, _LARGEST_REASON).strip()
        raise Incomplete(directory, reason or "the run did not end")
    if not path.exists():
        raise Foreign(directory, f"it has no {INFO}, so that it is not a run directory")
    try:
        info = json.loads(_read_text(path, _LARGEST_INFO))
    except (ValueError, RecursionError) as error:
        raise Damaged(path, f"it is not valid JSON: {error}") from error
    if not isinstance(info, dict):
        raise Damaged(path, "it is not a JSON object")
    version = info.get("format_version", 0)
    if isinstance(version, int) and version > RUN_FORMAT_VERSION:
        raise NewerFormat(path, newer(version, RUN_FORMAT_VERSION))
    wanted: dict[str, type] = {"id": str, "study": str, "factors": dict, "flows": list, "repeat": int}
    for key, kind in wanted.items():
        if not isinstance(info.get(key), kind):
            raise Damaged(path, f"its key `{key}` is missing or has another type")
    return info


def changed_files(directory: Path) -> Iterator[Damaged]:
    """An error for each file of a run that differs from `SHA256SUMS` or is missing. This reads the whole run.

    A run of an early build has no `SHA256SUMS`, and nothing is compared.
    """
    sums = directory / SUMS
    if not sums.exists():
        return
    for line in _read_text(sums, _LARGEST_INFO).splitlines():
        digest, _, name = line.partition(" ")
        name = name.lstrip(" *")
        path = directory / name
        if not name or "/" in name or len(digest) != 64:
            yield Damaged(sums, f"it has a line that is not a checksum: {line[:80]!r}")
        elif not path.is_file():
            yield Damaged(path, f"it is missing, and {SUMS} has it")
        elif _digest(path) != digest.lower():
            yield Damaged(path, f"its content is not that of {SUMS}; the file has changed since the run")


def scan(
    directories: Iterable[Path], listed: Mapping[str, int] | None = None, *, checksums: bool = False
) -> list[Problem]:
    """The problems of all entries.

    Args:
        directories: entries of the folder that should be run directories.
        listed: how many rows of `results.parquet` have each id; `None` without that file.
        checksums: read every file of every run and compare it with its checksum.
    """
    problems: list[Problem] = []
    places: dict[str, list[Path]] = defaultdict(list)
    unusable: set[str] = set()
    for directory in directories:
        try:
            info = read_info(directory)
            places[info["id"]].append(directory)
            for change in changed_files(directory) if checksums else ():
                raise change
        except Unreadable as error:
            problems.append(Problem.of(error))
            unusable.add(directory.name)
    problems += _duplicates(places)
    if listed is not None:
        problems += _disagreements(places, listed, unusable)
    return problems


def _duplicates(places: Mapping[str, list[Path]]) -> Iterator[Problem]:
    for run, paths in places.items():
        # The directory of a run has its id as its name.
        others = sorted(paths, key=lambda path: (path.name != run, path))
        for path in others[1:]:
            reason = f"its id `{run}` is that of {others[0]}, and only that one is used"
            yield Problem(ProblemKind.DUPLICATE, path, reason)


def _disagreements(
    places: Mapping[str, list[Path]], listed: Mapping[str, int], unusable: set[str]
) -> Iterator[Problem]:
    for run, rows in listed.items():
        if rows > 1:
            yield Problem(ProblemKind.DUPLICATE, Path("results.parquet"), f"{rows} rows have the id `{run}`")
        if run not in places and run not in unusable:
            yield Problem(ProblemKind.MISSING, Path("runs") / run, "results.parquet has a row for it")
    for run, paths in places.items():
        if run not in listed:
            reason = "the run is complete, and results.parquet has no row for it: run the scenario again"
            yield Problem(ProblemKind.UNLISTED, paths[0], reason)


def entries(folder: Path) -> list[Path]:
    """The entries below `runs/` of a folder of results, or the run directories where the program finds them.

    These are the folder itself, the directories in it, or those of folders in it that have `runs/`.
    """
    if is_run(folder):
        return [folder]
    if (folder / "runs").is_dir():
        return _listed(folder / "runs")
    found = [path for path in _listed(folder) if path.is_dir() and is_run(path)]
    if found:
        return found
    nested = [path for path in _listed(folder) if not path.is_symlink() and (path / "runs").is_dir()]
    return [entry for path in nested for entry in _listed(path / "runs")]


def _listed(folder: Path) -> list[Path]:
    with os.scandir(folder) as found:
        return sorted(Path(entry.path) for entry in found)


def _read_text(path: Path, most: int) -> str:
    if not path.is_file():
        raise Damaged(path, "it is not a regular file")
    try:
        with path.open("rb") as file:
            data = file.read(most + 1)
        if len(data) > most:
            raise Damaged(path, f"it has more than {most} bytes")
        return data.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise Damaged(path, f"it cannot be read: {error}") from error


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
