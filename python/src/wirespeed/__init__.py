"""Results of wirespeed as data frames and figures.

    import wirespeed

    results = wirespeed.open("wirespeed-out/first-look")
    results.runs                                        # pandas: a row for each run
    results.run("congestion=bic,r0").table("flows")     # a table of one run
    wirespeed.figures.goodput_over_time(results.run("congestion=bic,r0"))

Values are in base units: bit/s, byte, s, and ns where a name ends in `_ns`. A value that was not measured is null, never 0.
"""

from . import figures
from .command import ExpectationMissed, Substrate, Value, find_binary, run
from .definitions import Metric, metrics
from .errors import (
    BinaryNotFound,
    CommandFailed,
    Damaged,
    Foreign,
    Incomplete,
    Interrupted,
    MissingPackage,
    NewerFormat,
    NoSuchName,
    NothingToDraw,
    NotKept,
    NotResults,
    Unavailable,
    Unreadable,
    UsageError,
    WirespeedError,
)
from .folder import Folder
from .folder import open_folder as open
from .problems import Problem, ProblemKind
from .recorded_run import RecordedRun

__version__ = "0.1.0"

__all__ = [
    "BinaryNotFound",
    "CommandFailed",
    "Damaged",
    "ExpectationMissed",
    "Folder",
    "Foreign",
    "Incomplete",
    "Interrupted",
    "Metric",
    "MissingPackage",
    "NewerFormat",
    "NoSuchName",
    "NotKept",
    "NotResults",
    "NothingToDraw",
    "Problem",
    "ProblemKind",
    "RecordedRun",
    "Substrate",
    "Unavailable",
    "Unreadable",
    "UsageError",
    "Value",
    "WirespeedError",
    "figures",
    "find_binary",
    "metrics",
    "open",
    "run",
]
