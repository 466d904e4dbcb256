from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from conftest import ROOT
from nbclient import NotebookClient

NOTEBOOK = ROOT / "python/examples/first-look.ipynb"


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory, binary: Path) -> list[Any]:
    """The outputs of each cell of code, in a folder with the scenarios of the repository."""
    folder = tmp_path_factory.mktemp("notebook")
    (folder / "scenarios").symlink_to(ROOT / "scenarios")
    notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    return [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]


def test_notebook_runs_and_each_cell_shows_its_result(executed: list[Any]) -> None:
    kinds = [{kind for output in outputs for kind in output.get("data", {})} for outputs in executed]
    assert all("text/plain" in kind or "application/vnd.plotly.v1+json" in kind for kind in kinds), kinds
    assert [len(outputs) for outputs in executed] == [1] * len(executed)
    # Figures are shown once, and as pictures.
    assert sum("image/png" in kind for kind in kinds) == 2
    assert sum("application/vnd.plotly.v1+json" in kind for kind in kinds) == 1
    table = executed[0][0]["data"]["text/plain"]
    assert all(name in table for name in ("reno", "cubic", "bic", "goodput_bps"))
    assert executed[2][0]["data"]["text/plain"] == "[]"


def test_committed_notebook_has_no_outputs() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(notebook)
    assert [cell.outputs for cell in notebook.cells if cell.get("outputs")] == []
