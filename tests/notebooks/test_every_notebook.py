"""Every notebook that lies in the folder: made from its text, the same from a fresh kernel, with papermill, as a report."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from helpers import ROOT, needs
from notebook_files import (
    NOTEBOOKS,
    Fresh,
    NotebookFile,
    build,
    code_cells,
    errors,
    nbformat,
    same_but_for_rounding,
    shown,
    without_count,
)

from kvnb.cli import main
from kvnb.journal.verification import Checked, verify_file

NAMES = sorted(path.stem for path in NOTEBOOKS.glob("*.md"))
ROUNDED = ("02-memory",)
"""Print numbers that a model computed."""
LARGE = ("02-memory",)
"""May need more memory than the smallest machine that Binder lends."""
MEGABYTES = 700
OTHER = {"num_blocks": 41, "block_size": 16}


@pytest.fixture(params=NAMES)
def notebook(request: pytest.FixtureRequest) -> NotebookFile:
    if request.param in ROUNDED:
        needs("torch")
    return NotebookFile(request.param)


@pytest.fixture
def as_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels that others start have the environment of those that the notebooks are built in."""
    for name, value in {**build.ENVIRONMENT, "PYTHONPATH": str(ROOT)}.items():
        monkeypatch.setenv(name, value)


def is_marked(cell: Any) -> bool:
    """Whether it is meant to fail."""
    return "raises-exception" in cell.metadata.get("tags", ())


# --- the file --------------------------------------------------------------------------------------------------


def test_every_text_has_a_notebook_and_every_notebook_a_text():
    assert [path.stem for path in sorted(NOTEBOOKS.glob("*.ipynb"))] == NAMES
    assert len(NAMES) >= 4


def test_it_is_made_from_the_text(notebook: NotebookFile):
    source, saved = notebook.source(), notebook.saved()
    for ours, theirs in zip(source.cells, saved.cells, strict=True):
        assert (theirs.cell_type, theirs.id, theirs.source, theirs.metadata) == (
            ours.cell_type, ours.id, ours.source, ours.metadata,
        )  # fmt: skip
    assert saved.metadata == source.metadata


def test_every_cell_ran_in_order_and_only_the_marked_ones_failed(notebook: NotebookFile):
    cells = code_cells(notebook.saved())
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert errors(notebook.saved()) == [cell for cell in cells if is_marked(cell)]


def test_the_parameters_come_first(notebook: NotebookFile):
    assert code_cells(notebook.source())[0].metadata.tags == ["parameters"]


def test_the_file_is_small_has_no_widgets_and_says_nothing_of_the_machine(notebook: NotebookFile):
    text = notebook.path.read_text(encoding="utf-8")
    assert len(text) < 1_000_000
    for word in ("widget-state", "widget-view", "iopub.", '"version"', "data-kvnb-place"):
        assert word not in text, word
    assert not re.findall(r"(?<![\w.])/(?:tmp|home|root|work|Users)/", text)


# --- running it ------------------------------------------------------------------------------------------------


def test_a_fresh_kernel_prints_what_is_saved(notebook: NotebookFile, fresh: Fresh):
    for now, then in zip(shown(fresh(notebook.name).notebook), shown(notebook.saved()), strict=True):
        assert len(now) == len(then)
        for one, other in zip(now, then, strict=True):
            same = same_but_for_rounding(one, other) if notebook.name in ROUNDED else one == other
            assert same, f"{other}\n--- is now ---\n{one}"


@pytest.mark.slow
def test_another_kernel_gives_the_same_bytes_and_running_all_again_in_it_the_same_outputs(notebook: NotebookFile, fresh: Fresh):
    first, again = notebook.run_all(2)
    assert nbformat.writes(first) == nbformat.writes(fresh(notebook.name).notebook)
    then, now = (json.dumps([without_count(cell.outputs) for cell in code_cells(run)]) for run in (first, again))
    assert same_but_for_rounding(now, then) if notebook.name in ROUNDED else now == then


def test_its_kernel_has_room_on_a_small_machine(notebook: NotebookFile, fresh: Fresh, capsys: pytest.CaptureFixture[str]):
    cost = fresh(notebook.name).cost
    with capsys.disabled():
        print(
            f"\n{notebook.name}: first picture after {cost.first_picture:.1f} s, all in {cost.seconds:.1f} s,"
            f" the kernel had {cost.megabytes:.0f} MB at most"
        )
    assert cost.megabytes < MEGABYTES or notebook.name in LARGE


@pytest.mark.slow
def test_papermill_runs_it_with_other_parameters_and_what_it_leaves_verifies_too(
    notebook: NotebookFile, as_built: None, tmp_path: Path
):
    papermill = needs("papermill")
    out = tmp_path / "out.ipynb"
    known = papermill.inspect_notebook(str(notebook.path))
    values = {name: value for name, value in OTHER.items() if name in known}
    assert values, f"has {', '.join(known)}, and none of {', '.join(OTHER)}"
    meant = [cell.id for cell in code_cells(notebook.source()) if is_marked(cell)]
    try:
        papermill.execute_notebook(str(notebook.path), str(out), parameters=values, cwd=str(ROOT), progress_bar=False)
    except papermill.PapermillExecutionError:
        assert meant, "no cell of this notebook is meant to fail"
    ran = nbformat.read(out, as_version=4)
    assert [cell.id for cell in errors(ran)] == meant
    assert all(cell.execution_count for cell in code_cells(ran)), "an error that is meant stops nothing"
    pools = [checked.journal.behaviour for checked in assert_verifies(out)]
    assert any(all(getattr(pool, name) == value for name, value in values.items()) for pool in pools)


@pytest.mark.slow
def test_its_report_verifies_and_has_the_pools_of_the_notebook(notebook: NotebookFile, fresh: Fresh, tmp_path: Path):
    nbformat.write(fresh(notebook.name).notebook, tmp_path / "lesson.ipynb")
    pools = [checked.journal.digest for checked in assert_verifies(tmp_path / "lesson.ipynb")]
    assert pools == [checked.journal.digest for checked in verify_file(notebook.path).journals]


def assert_verifies(notebook: Path) -> Sequence[Checked]:
    """The pools of a notebook, which verifies as it is and as a report; both by the commands of a shell."""
    needs("nbconvert")
    page = notebook.with_suffix(".html")
    for words in (["verify", notebook], ["report", notebook, "-o", page], ["verify", page]):
        assert main([str(word) for word in words]) == 0, words
    pools, again = verify_file(notebook).journals, verify_file(page).journals
    assert [checked.journal.digest for checked in again] == [checked.journal.digest for checked in pools]
    return pools
