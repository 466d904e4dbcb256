"""Errors of this package. All derive from :class:`WirespeedError`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


class WirespeedError(Exception):
    """Base class of all errors of this package."""


class NotResults(WirespeedError):
    """A path is not a folder of results."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path


class Unreadable(WirespeedError):
    """A file cannot be read as what its name says. Subclasses have the cause."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class Damaged(Unreadable):
    """A file is truncated, changed or contradicts itself."""


class Foreign(Unreadable):
    """A file or directory was not written by wirespeed."""


class NewerFormat(Unreadable):
    """A file has a format version that this package does not read."""


class Incomplete(Unreadable):
    """A run did not end, so its data is not whole."""


class NoSuchName(WirespeedError, KeyError):
    """There is no run, table, column, factor or flow of that name."""

    def __init__(self, kind: str, name: str, known: Sequence[str]) -> None:
        shown = ", ".join(known[:20]) + (", ..." if len(known) > 20 else "")
        self.message = f"there is no {kind} `{name}`; those there are: {shown or 'none'}"
        super().__init__(self.message)
        self.name = name

    def __str__(self) -> str:
        return self.message  # KeyError would print it in quotes


class NotKept(NoSuchName):
    """The scenario of a run did not keep the series that a table holds (`run.series`)."""

    def __init__(self, name: str, run: str, kept: str) -> None:
        super().__init__("table", name, [])
        self.message = f'run {run} has no table `{name}`: with `run.series = "{kept}"` it is not kept; metrics of the run are there'
        self.args = (self.message,)


class MissingPackage(WirespeedError, ImportError):
    """A package of an extra is not installed."""

    def __init__(self, package: str) -> None:
        super().__init__(f"{package} is not installed; type: pip install 'wirespeed[{package}]'")


class NothingToDraw(WirespeedError):
    """The data for a figure is missing, or its settings are ambiguous."""


class BinaryNotFound(WirespeedError):
    """The program `wirespeed` is not installed."""


class CommandFailed(WirespeedError):
    """The program ended with an exit code other than 0.

    Attributes:
        code: the exit code; negative if a signal ended the program.
        message: what the program printed to standard error.
        command: the command line.
    """

    def __init__(self, code: int, message: str, command: Sequence[str]) -> None:
        super().__init__(message or f"exit code {code} of: {' '.join(command)}")
        self.code = code
        self.message = message
        self.command = tuple(command)


class UsageError(CommandFailed):
    """Exit code 2: the command line, the scenario or a named folder is wrong."""


class Unavailable(CommandFailed):
    """Exit code 3: something is missing, unreachable or unreadable, or a run failed."""


class Interrupted(CommandFailed):
    """Exit code 130: the program was interrupted. Completed runs are kept."""
