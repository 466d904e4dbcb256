from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from conftest import Copy

import wirespeed
from wirespeed import ProblemKind

RUNS = [
    f"congestion=cubic,loss={loss},rtt={rtt},r{repeat}"
    for loss in ("0", "1e-4")
    for rtt in ("5ms", "20ms")
    for repeat in (0, 1)
]


def found(folder: wirespeed.Folder) -> dict[str, ProblemKind]:
    problems = folder.problems()
    by_name = {
        (problem.path if problem.path.suffix == "" else problem.path.parent).name: problem.kind
        for problem in problems
    }
    assert len(by_name) == len(problems)
    return by_name


def test_healthy_folder_has_no_problems(results: wirespeed.Folder) -> None:
    assert results.damaged == []
    assert results.problems(checksums=True) == []


@pytest.mark.parametrize("with_results", [True, False])
def test_each_entry_is_reported_with_its_reason(copy: Copy, with_results: bool) -> None:
    runs = copy(with_results) / "runs"
    names = RUNS[:6]
    (runs / names[0] / "run.json").write_text("{")
    info = json.loads((runs / names[1] / "run.json").read_text())
    (runs / names[1] / "run.json").write_text(json.dumps(info | {"format_version": 9}))
    (runs / names[2] / "INCOMPLETE").write_text("kernel panic\n")
    (runs / names[3] / "run.json").write_text(json.dumps({**info, "id": 7}))
    (runs / names[4] / "run.json").unlink()
    (runs / names[5] / "run.json").unlink()
    os.mkfifo(runs / names[5] / "run.json")
    (runs / "notes").write_text("of a person")
    (runs / "plots").mkdir()
    shutil.copytree(runs / RUNS[6], runs / "again")
    folder = wirespeed.open(runs.parent)
    assert found(folder) == {
        names[0]: ProblemKind.DAMAGED,
        names[1]: ProblemKind.NEWER,
        names[2]: ProblemKind.INCOMPLETE,
        names[3]: ProblemKind.DAMAGED,
        names[4]: ProblemKind.FOREIGN,
        names[5]: ProblemKind.DAMAGED,
        "notes": ProblemKind.FOREIGN,
        "plots": ProblemKind.FOREIGN,
        "again": ProblemKind.DUPLICATE,
    }
    reasons = {problem.kind: str(problem) for problem in folder.damaged}
    assert reasons[ProblemKind.INCOMPLETE].endswith("incomplete: kernel panic")
    assert "format version 9, and this package reads up to 2" in reasons[ProblemKind.NEWER]
    assert f"is that of {runs / RUNS[6]}" in reasons[ProblemKind.DUPLICATE]
    if not with_results:
        # The others are there, each once.
        assert sorted(folder.ids) == sorted(set(wirespeed.open(runs.parent).ids))
        assert len(folder) == 18


def test_results_file_and_runs_are_compared(copy: Copy) -> None:
    runs = copy(True) / "runs"
    shutil.rmtree(runs / RUNS[0])
    shutil.copytree(runs / RUNS[1], runs / "new")
    info = json.loads((runs / "new/run.json").read_text())
    (runs / "new/run.json").write_text(json.dumps(info | {"id": "new"}))
    assert found(wirespeed.open(runs.parent)) == {RUNS[0]: ProblemKind.MISSING, "new": ProblemKind.UNLISTED}


def test_changed_file_is_found_by_its_checksum(copy: Copy) -> None:
    folder = wirespeed.open(copy(True))
    run = folder.run(RUNS[0])
    run.verify()
    with (run.path / "flows.parquet").open("ab") as file:
        file.write(b"x")
    assert folder.damaged == []
    [problem] = folder.problems(checksums=True)
    assert problem.path == run.path / "flows.parquet"
    assert "has changed since the run" in problem.reason
    with pytest.raises(wirespeed.Damaged, match="has changed"):
        run.verify()
    with pytest.raises(wirespeed.Damaged, match="not a readable Parquet file"):
        run.table("flows")
    (run.path / "flows.parquet").unlink()
    with pytest.raises(wirespeed.Damaged, match="is missing"):
        run.verify()


def test_checksums_name_no_files_elsewhere(copy: Copy) -> None:
    run = wirespeed.open(copy(True)).run(RUNS[0])
    with (run.path / "SHA256SUMS").open("a") as file:
        file.write(f"{'0' * 64}  ../../secret\n")
    with pytest.raises(wirespeed.Damaged, match="not a checksum"):
        run.verify()


def test_incomplete_run_is_not_opened(copy: Copy) -> None:
    path = copy(True)
    (path / "runs" / RUNS[0] / "INCOMPLETE").write_text("interrupted")
    with pytest.raises(wirespeed.Incomplete, match="interrupted"):
        wirespeed.open(path).run(RUNS[0])


@pytest.mark.parametrize("text", ["[]", "7", '"' + "a" * 10, "[" * 100_000, "null", "{}", "\udcff"])
def test_hostile_run_json_is_an_error(tmp_path: Path, text: str) -> None:
    run = tmp_path / "runs/a"
    run.mkdir(parents=True)
    (run / "run.json").write_bytes(text.encode(errors="surrogateescape"))
    [problem] = wirespeed.open(tmp_path).damaged
    assert problem.kind is ProblemKind.DAMAGED
