from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import wirespeed
from wirespeed.command import output


def test_run_opens_its_results(tmp_path: Path, scenario: Path) -> None:
    folder = wirespeed.run(
        scenario,
        out=tmp_path / "out",
        set={"run.repeat": 1, "path.rtt": "7 ms", 'sweep."path.loss"': [0, 1e-5]},
        seed=3,
        jobs=1,
    )
    # `--set` of a swept key replaces the axis.
    assert sorted(folder.factors["path.loss"]) == ["0", "1e-5"]
    assert set(folder.runs["path.rtt"]) == {"7 ms"}
    assert len(folder) == 4


def test_default_folder_is_that_of_the_program(
    tmp_path: Path, scenario: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = wirespeed.run(
        scenario, set={"run.repeat": 1, "flow.congestion": "bbr", "path.loss": 0, "path.rtt": "5 ms"}
    )
    assert folder.path == Path("wirespeed-out/sweep")
    assert len(folder) == 1


def test_missed_expectation_has_the_folder_and_the_bound(tmp_path: Path, scenario: Path) -> None:
    strict = tmp_path / "strict.toml"
    strict.write_text(scenario.read_text() + '[expect]\ngoodput_bps = { min = "1 Gbit/s" }\n')
    with pytest.raises(wirespeed.ExpectationMissed, match="goodput_bps") as caught:
        wirespeed.run(strict, out=tmp_path / "out", set={"run.repeat": 1})
    assert caught.value.code == 1
    assert len(caught.value.folder) == 8
    assert {missed["metric"] for missed in caught.value.missed} == {"goodput_bps"}
    assert {missed["run"] for missed in caught.value.missed} == set(caught.value.folder.ids)


def test_wrong_scenario_is_a_usage_error_with_its_message(tmp_path: Path, scenario: Path) -> None:
    with pytest.raises(wirespeed.UsageError, match="unknown congestion control `nonsense`") as caught:
        wirespeed.run(scenario, out=tmp_path / "out", set={"flow.congestion": "nonsense"})
    assert caught.value.code == 2
    assert "--set" in caught.value.command
    with pytest.raises(wirespeed.UsageError):
        wirespeed.run(tmp_path / "none.toml")


def program(path: Path, text: str) -> Path:
    path.write_text(f"#!{sys.executable}\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (2, wirespeed.UsageError),
        (3, wirespeed.Unavailable),
        (130, wirespeed.Interrupted),
        (101, wirespeed.CommandFailed),
    ],
)
def test_each_exit_code_has_its_error(tmp_path: Path, code: int, kind: type[wirespeed.CommandFailed]) -> None:
    text = f"import sys; print('x no room', file=sys.stderr); sys.exit({code})"
    stub = program(tmp_path / "stub", text)
    with pytest.raises(wirespeed.CommandFailed) as caught:
        wirespeed.run("a.toml", binary=stub)
    assert type(caught.value) is kind
    assert (caught.value.code, str(caught.value)) == (code, "x no room")


def test_values_are_passed_as_toml(tmp_path: Path) -> None:
    stub = program(
        tmp_path / "stub", "import json, sys; print(json.dumps(sys.argv[1:]), file=sys.stderr); sys.exit(3)"
    )
    settings: dict[str, wirespeed.Value] = {"a": 'x "y" µ', "b": 1e-5, "c": True, "d": ["p", 2]}
    with pytest.raises(wirespeed.Unavailable) as caught:
        wirespeed.run("a.toml", on="netns", set=settings, fresh=True, binary=stub)
    arguments = json.loads(caught.value.message)
    assert arguments[:5] == ["run", "a.toml", "--json", "--on", "netns"]
    assert arguments[5:-1:2] == ["--set"] * 4
    assert arguments[6:-1:2] == ['a="x \\"y\\" µ"', "b=1e-05", "c=true", 'd=["p", 2]']
    assert arguments[-1] == "--fresh"
    with pytest.raises(ValueError, match="JSON compliant"):
        wirespeed.run("a.toml", set={"a": float("nan")}, binary=stub)


def test_interrupt_reaches_the_program_once(tmp_path: Path) -> None:
    text = f"""
import pathlib, signal, sys, time
count = 0
def note(*_):
    global count
    count += 1
signal.signal(signal.SIGINT, note)
pathlib.Path({str(tmp_path / "started")!r}).touch()
while count == 0:
    time.sleep(0.01)
time.sleep(0.2)
pathlib.Path({str(tmp_path / "interrupts")!r}).write_text(str(count))
"""
    stub = program(tmp_path / "stub", text)

    def interrupt() -> None:
        while not (tmp_path / "started").exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        wirespeed.run("a.toml", binary=stub)
    assert (tmp_path / "interrupts").read_text() == "1"


def test_binary_is_found_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("argument", "variable", "scripts", "path"):
        (tmp_path / name).mkdir()
        program(tmp_path / name / "wirespeed", "")
    scripts = str(tmp_path / "scripts")
    monkeypatch.setattr("sysconfig.get_path", lambda _: scripts)
    monkeypatch.setenv("WIRESPEED", str(tmp_path / "variable/wirespeed"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    assert wirespeed.find_binary(tmp_path / "argument/wirespeed").parent.name == "argument"
    assert wirespeed.find_binary().parent.name == "variable"
    monkeypatch.delenv("WIRESPEED")
    assert wirespeed.find_binary().parent.name == "scripts"
    (tmp_path / "scripts/wirespeed").unlink()
    assert wirespeed.find_binary().parent.name == "path"
    (tmp_path / "path/wirespeed").unlink()
    with pytest.raises(wirespeed.BinaryNotFound, match="put it on the PATH"):
        wirespeed.find_binary()
    monkeypatch.setenv("WIRESPEED", str(tmp_path / "none"))
    with pytest.raises(wirespeed.BinaryNotFound, match=r"\$WIRESPEED is .*none, which is not a program"):
        wirespeed.find_binary()


def test_definitions_of_all_metrics(results: wirespeed.Folder) -> None:
    known = wirespeed.metrics()
    assert set(results.metrics) <= set(known)
    assert known["goodput_bps"].unit == "bit/s"
    assert known["link_utilisation"].unit == ""
    assert known["jain_index"].definition.startswith("(sum x)^2 / (n sum x^2)")
    assert known["jain_index"].definition.endswith(".")
    assert {
        name: metric.unit for name, metric in known.items() if name.endswith("_ns") and metric.unit != "ns"
    } == {}
    assert {name for name in known if name.endswith("_packets") and known[name].unit != "packets"} == set()


def test_output_accepts_only_the_given_codes(binary: Path) -> None:
    assert output(["--version"]).startswith("wirespeed ")
    with pytest.raises(wirespeed.UsageError, match="nonsense"):
        output(["nonsense"])


def test_package_needs_pyarrow_only(recorded: Path) -> None:
    hidden = "pandas polars plotly matplotlib numpy"
    text = f"""
import sys
for name in {hidden!r}.split():
    sys.modules[name] = None
import wirespeed
results = wirespeed.open(sys.argv[1])
assert len(results) == 24
assert results.ledger("arrow").num_rows > 24
for ask in (lambda: results.runs, results.runs_polars,
            lambda: wirespeed.figures.cdf(results, "goodput_bps"),
            lambda: wirespeed.figures.cdf(results, "goodput_bps", backend="matplotlib")):
    try:
        ask()
    except wirespeed.MissingPackage as error:
        print(error)
"""
    printed = subprocess.run(
        [sys.executable, "-c", text, str(recorded)], check=True, capture_output=True, text=True
    )
    hints = [line.partition("type: ")[2] for line in printed.stdout.splitlines()]
    assert hints == [f"pip install 'wirespeed[{name}]'" for name in hidden.split()[:4]]
