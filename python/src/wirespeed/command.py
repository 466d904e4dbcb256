"""Calls of the program `wirespeed`."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from .errors import BinaryNotFound, CommandFailed, Interrupted, Unavailable, UsageError

if TYPE_CHECKING:
    from .folder import Folder

PathLike: TypeAlias = str | os.PathLike[str]
Substrate: TypeAlias = Literal["model", "kernel", "netns", "hosts"]
Value: TypeAlias = str | int | float | bool | Sequence["Value"]

VARIABLE = "WIRESPEED"
"""The environment variable with the path of the program."""

_KINDS: dict[int, type[CommandFailed]] = {2: UsageError, 3: Unavailable, 130: Interrupted}


class ExpectationMissed(CommandFailed):
    """Exit code 1: a bound of `[expect]` was missed. The results are kept.

    Attributes:
        folder: the results.
        missed: for each missed bound: `run` (its id), `metric`, `bound`, `value`.
    """

    def __init__(
        self, message: str, command: Sequence[str], folder: Folder, missed: list[dict[str, Any]]
    ) -> None:
        super().__init__(1, message, command)
        self.folder = folder
        self.missed = missed


def find_binary(binary: PathLike | None = None) -> Path:
    """The program: the argument, `$WIRESPEED`, the one that pip installed for this Python, or the one on the PATH.

    Raises:
        BinaryNotFound: there is none, or the named file is not a program.
    """
    for named, origin in ((binary, "the argument `binary`"), (os.environ.get(VARIABLE), f"${VARIABLE}")):
        if named:
            path = shutil.which(named)
            if path is None:
                raise BinaryNotFound(f"{origin} is {os.fspath(named)}, which is not a program")
            return Path(path)
    found = shutil.which("wirespeed", path=sysconfig.get_path("scripts")) or shutil.which("wirespeed")
    if found is None:
        raise BinaryNotFound(
            f"the program wirespeed was not found; put it on the PATH (make install), or set {VARIABLE} to its path"
        )
    return Path(found)


def output(arguments: Sequence[str], *, binary: PathLike | None = None, accept: Sequence[int] = (0,)) -> str:
    """What a command prints to standard output.

    Args:
        arguments: those after the name of the program.
        binary: the program; by default that of :func:`find_binary`.
        accept: the exit codes that are no error.

    Raises:
        BinaryNotFound: wirespeed is not installed.
        CommandFailed: the exit code is another one; a subclass for each code.
    """
    command = [str(find_binary(binary)), *arguments]
    code, printed, message = _call(command)
    if code not in accept:
        raise _error(code, message, command)
    return printed


def run(
    scenario: PathLike,
    *,
    out: PathLike | None = None,
    on: Substrate = "model",
    set: Mapping[str, Value] | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    fresh: bool = False,
    binary: PathLike | None = None,
) -> Folder:
    """Runs every setting of a scenario, and opens the results. Complete runs are reused.

    Args:
        scenario: the scenario file.
        out: the folder for the results; by default `wirespeed-out/NAME` in the current directory.
        on: the substrate.
        set: values that replace those of the scenario, by key: `{"path.rtt": "20 ms", "run.repeat": 5}`. A list replaces
            an axis: `{'sweep."path.loss"': [0, 1e-4]}`.
        seed: the seed of all random numbers; by default that of the scenario.
        jobs: runs at a time; by default one a core.
        fresh: repeat runs that are already complete.
        binary: the program; by default that of :func:`find_binary`.

    Raises:
        BinaryNotFound: wirespeed is not installed.
        ExpectationMissed: exit code 1; it has the folder.
        UsageError: exit code 2: the scenario or an argument is wrong.
        Unavailable: exit code 3: something is missing, or a run failed.
        Interrupted: exit code 130.
        CommandFailed: any other exit code.
    """
    from .folder import open_folder

    command = [str(find_binary(binary)), "run", os.fspath(scenario), "--json", "--on", on]
    if out is not None:
        command += ["--out", os.fspath(out)]
    for key, value in (set or {}).items():
        # JSON of such values is also TOML, and quotes keep a text a text.
        command += ["--set", f"{key}={json.dumps(value, ensure_ascii=False, allow_nan=False)}"]
    if seed is not None:
        command += ["--seed", str(seed)]
    if jobs is not None:
        command += ["--jobs", str(jobs)]
    if fresh:
        command.append("--fresh")
    code, printed, message = _call(command)
    if code not in (0, 1):
        raise _error(code, message, command)
    results = json.loads(printed)
    folder = open_folder(Path("wirespeed-out", results["study"]) if out is None else out, binary=binary)
    if code == 1:
        missed = [
            {"run": one["id"]} | {key: bound[key] for key in ("metric", "bound", "value")}
            for one in results["runs"]
            for bound in one.get("expectations", [])
            if not bound["passed"]
        ]
        sentences = [
            f"{one['run']}: {one['metric']} is {one['value']}, expected {one['bound']}" for one in missed
        ]
        raise ExpectationMissed("\n".join(sentences) or message, command, folder, missed)
    return folder


def report_json(folder: Path, binary: PathLike | None = None) -> dict[str, Any]:
    """The results of all recorded runs that can be read, with their metrics: `wirespeed report FOLDER --json`.

    Raises:
        BinaryNotFound: wirespeed is not installed.
        CommandFailed: the program cannot read the folder.
    """
    with tempfile.TemporaryDirectory(prefix="wirespeed-report-") as page:
        arguments = ["report", str(folder.absolute()), "--json", "--out", page]
        # 3: some runs cannot be read, and the output has the others.
        printed = output(arguments, binary=binary, accept=(0, 3))
    try:
        results: dict[str, Any] = json.loads(printed)
    except ValueError:
        raise Unavailable(
            3, f"{folder} has no run that the program can read", ["wirespeed", *arguments]
        ) from None
    return results


def _call(command: Sequence[str]) -> tuple[int, str, str]:
    """-> the exit code, the standard output and the standard error."""
    # In a process group of its own: Ctrl+C reaches this process only, which passes it on once.
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        process_group=0,
    )
    with process:
        try:
            printed, message = process.communicate()
        except BaseException:
            # The program keeps the runs that are complete.
            process.send_signal(signal.SIGINT)
            process.communicate()
            raise
    return process.returncode, printed, message.strip()


def _error(code: int, message: str, command: Sequence[str]) -> CommandFailed:
    return _KINDS.get(code, CommandFailed)(code, message, command)
