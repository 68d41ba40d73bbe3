"""The third notebook: it is made from its text, prints what is saved, runs as people run it, and what it claims is so."""

from __future__ import annotations

from typing import Any

import pytest
from helpers import SEED_PROMPTS, needs
from notebook_files import NotebookFile, build, code_cells, errors, nbformat, shown

from kvnb import Lab

needs("plotly")

WATCH = NotebookFile("03-watch")
PLOTLY = "application/vnd.plotly.v1+json"


@pytest.fixture(scope="module")
def fresh() -> Any:
    return WATCH.executed()


def outputs(notebook: Any) -> list[Any]:
    """What is displayed, cell after cell; records left out."""
    found = [output for cell in code_cells(notebook) for output in cell.outputs if output.output_type == "display_data"]
    return [output for output in found if output.data.get("text/plain")]


def test_the_notebook_is_made_from_the_text():
    source, notebook = WATCH.source(), WATCH.saved()
    assert [(cell.id, cell.source) for cell in source.cells] == [(cell.id, cell.source) for cell in notebook.cells]
    assert notebook.metadata == source.metadata


def test_every_cell_ran_in_order_and_none_failed():
    cells = code_cells(WATCH.saved())
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert errors(WATCH.saved()) == []


def test_a_fresh_kernel_prints_the_same(fresh):
    assert shown(fresh) == shown(WATCH.saved())


def test_building_twice_gives_the_same_bytes(fresh):
    assert nbformat.writes(fresh) == nbformat.writes(build.execute(WATCH.source()))


def test_run_all_three_times_on_one_kernel_leaves_the_same():
    first, second, third = WATCH.run_all(3)
    assert first == second == third


@pytest.mark.parametrize("values", [{"num_blocks": 21}, {"num_blocks": 41, "block_size": 16}])
def test_it_runs_with_other_parameters(values):
    assert errors(WATCH.executed_with(**values)) == []


def test_every_picture_has_a_text_and_a_still_form_and_no_widget_is_in_the_file():
    for output in outputs(WATCH.saved()):
        assert output.data["text/html"]
        assert not [kind for kind in output.data if "widget" in kind]
    assert "widgets" not in WATCH.saved().metadata


def test_figures_are_small_and_the_file_is_under_a_megabyte():
    figures = [output.data[PLOTLY] for output in outputs(WATCH.saved()) if PLOTLY in output.data]
    figures += [o.data[PLOTLY] for cell in code_cells(WATCH.saved()) for o in cell.outputs if PLOTLY in o.get("data", {})]
    assert len(figures) >= 5
    assert max(len(str(figure)) for figure in figures) < 500_000
    assert WATCH.path.stat().st_size < 1_000_000


def test_all_three_exits_light_when_r0_ends():
    lab = Lab(11, block_size=4, device="none")
    for name in ("r0", "r1"):
        lab.admit(name, SEED_PROMPTS[name])
    lab.release("r0")
    text = "\n".join(part for cell in shown(WATCH.saved()) for part in cell)
    for says in ("to the FRONT, reused at once", "to the BACK, kept as cache", "still above 0: in use by others"):
        assert says in text
    assert lab.free_queue == (4, 7, 8, 9, 10, 3)


def test_the_large_pool_hits_evicts_and_is_full(fresh):
    says = next(part for cell in shown(fresh) for part in cell if "steps, usage" in part)
    assert "370 steps, usage 0." in says
    hits = int(says.split("usage")[1].split(", ")[1].split(" of")[0].replace(",", ""))
    assert hits > 20_000
