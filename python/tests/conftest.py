"""Results that the tests read. The program makes them, on the model."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import wirespeed
from wirespeed.results import FLOW_RESULTS, GROUP_RESULTS, RESULTS

ROOT = Path(__file__).resolve().parents[2]

SWEEP = """\
schema = 1
name = "sweep"
[path]
rate = "100 Mbit/s"
rtt = "10 ms"
buffer = "1 bdp"
[[flow]]
congestion = "cubic"
[[flow]]
label = "late"
congestion = "cubic"
start = "0.5 s"
[run]
duration = "1500 ms"
repeat = 3
[sweep]
"flow.congestion" = ["reno", "cubic"]
"path.rtt" = ["20 ms", "5 ms"]
"path.loss" = [0, 1e-4]
"""


@pytest.fixture(scope="session")
def binary() -> Path:
    """The program: $WIRESPEED, or the one that `make build` makes."""
    path = Path(os.environ.get("WIRESPEED") or ROOT / "target/release/wirespeed")
    if not path.is_file():
        pytest.fail(f"{path} does not exist; type `make build`, or set WIRESPEED to a program")
    os.environ["WIRESPEED"] = str(path.resolve())
    return path.resolve()


@pytest.fixture(scope="session")
def scenario(tmp_path_factory: pytest.TempPathFactory, binary: Path) -> Path:
    path = tmp_path_factory.mktemp("scenario") / "sweep.toml"
    path.write_text(SWEEP)
    return path


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory, scenario: Path) -> Path:
    """24 runs, as the program leaves them."""
    out = tmp_path_factory.mktemp("recorded") / "sweep"
    wirespeed.run(scenario, out=out)
    return out


@pytest.fixture
def results(recorded: Path) -> wirespeed.Folder:
    return wirespeed.open(recorded)


Copy = Callable[[bool], Path]


@pytest.fixture
def copy(recorded: Path, tmp_path: Path) -> Copy:
    """Copies the results, with or without its tables of results, so that a test can damage them."""

    def make(with_results: bool) -> Path:
        out = tmp_path / "copy"
        shutil.copytree(recorded, out)
        if not with_results:
            for name in (RESULTS, FLOW_RESULTS, GROUP_RESULTS):
                (out / name).unlink()
        return out

    return make
