"""Where a dashboard stands, in JupyterLab: in one output, beside the notebook, in the saved file, after a reload, a restart."""

from __future__ import annotations

import json
from typing import Any

import pytest
from dashboards import ask, board, do, docked, ready
from helpers import ROOT
from jupyter_pages import PANEL, NotebookPage, Server, code, exported, of_somebody_else

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PICTURES = ROOT / "build" / "screenshots"
FIRST, AGAIN, TYPED, DOCK, SCRATCH = 2, 3, 4, 5, 6
CELLS = code(
    "%load_ext kvnb",
    "%kvpool new 11 --device none;",
    "%kvpool dashboard",
    "%kvpool dashboard",
    "%kvpool admit r0 ABCDEFGHIJKLMNO;",
    "%kvpool dock",
    "",
)
STATIC = "free queue"
SIDE = ".jp-LinkedOutputView"
WIDGETS = "__import__('ipywidgets').widgets.widget._instances"
GONE = "The kernel that drew this is gone: run %kvpool dashboard again."
RESTART = f"{PANEL}.sessionContext.session.kernel.restart()"


@pytest.fixture(scope="module")
def opened(looked_at: NotebookPage) -> NotebookPage:
    looked_at.begin("places.ipynb", CELLS, 0)
    return looked_at


def boards(page: NotebookPage) -> int:
    return int(page.page.locator(".kvnb-step").count())


def is_static(page: NotebookPage, index: int) -> bool:
    """Whether the output below a cell shows what is in the file, and nothing over it."""
    shown = page.output(index)
    return "11 in all" in shown and page.cell(index).locator("canvas").count() == 0


def panels(page: NotebookPage) -> Any:
    return page.page.locator(".lm-TabBar-tab", has_text="kvnb: pool")


def test_there_is_one_board_in_the_newest_output_and_older_ones_show_what_they_showed(opened: NotebookPage) -> None:
    opened.run(1, FIRST)
    board(opened, FIRST).at(0)
    opened.run(AGAIN)
    opened.cell(FIRST).locator("canvas").first.wait_for(state="detached")
    assert is_static(opened, FIRST)
    board(opened, AGAIN).at(0)
    opened.run(TYPED)
    board(opened, AGAIN).at(1)
    opened.run(FIRST)
    opened.cell(AGAIN).locator("canvas").first.wait_for(state="detached")
    assert is_static(opened, AGAIN)
    assert "4 / 10 used" not in opened.output(AGAIN), "as it was when that cell ran"
    opened.run(FIRST)
    board(opened, FIRST).at(1)
    assert boards(opened) == 1


def test_a_docked_panel_is_one_and_goes_when_the_dashboard_comes_back_to_a_cell(opened: NotebookPage) -> None:
    opened.run(1, FIRST, DOCK)
    shown = docked(opened).at(0)
    assert is_static(opened, FIRST)
    assert is_static(opened, DOCK)
    opened.run(TYPED)
    shown.at(1)
    assert "r0: 15 tokens" in shown.tells("requests")
    shown.timeline(1)
    PICTURES.mkdir(parents=True, exist_ok=True)
    opened.page.screenshot(path=PICTURES / "dashboard-docked.png")
    opened.run(DOCK)
    docked(opened).at(1)
    assert panels(opened).count() == boards(opened) == 1
    opened.run(FIRST)
    board(opened, FIRST).at(1)
    panels(opened).wait_for(state="detached")
    assert boards(opened) == 1


def test_a_panel_that_was_closed_by_hand_comes_again_and_close_closes_it(opened: NotebookPage) -> None:
    opened.run(1, DOCK)
    docked(opened).at(0)
    panels(opened).locator(".lm-TabBar-tabCloseIcon").click()
    panels(opened).wait_for(state="detached")
    opened.run(TYPED, DOCK)
    docked(opened).at(1)
    assert panels(opened).count() == 1
    assert ask(opened, f"sum(type(widget).__name__ == 'Board' for widget in {WIDGETS}.values())") == 1
    do(opened, SCRATCH, "%kvpool dock --close")
    panels(opened).wait_for(state="detached")
    opened.run(FIRST)
    board(opened, FIRST).at(1)
    before = ask(opened, f"len({WIDGETS})")
    do(opened, SCRATCH, "%kvpool dashboard --close")
    opened.cell(FIRST).locator("canvas").first.wait_for(state="detached")
    assert is_static(opened, FIRST)
    assert ask(opened, f"len({WIDGETS})") == before, "it waits for the next pool"


def test_a_page_that_is_loaded_again_has_its_board_and_its_panel_back(opened: NotebookPage) -> None:
    opened.run(1, TYPED, DOCK)
    docked(opened).at(1)
    do(opened, SCRATCH, "%kvpool new 11 --name second --device none;\n%kvpool dashboard\n%kvpool admit r0 ABCD;")
    board(opened, SCRATCH).at(1)
    opened.command("docmanager:save")
    opened.page.reload()
    ready(opened)
    shown, beside = board(opened, SCRATCH).at(1), docked(opened).at(1)
    assert shown.click("admit", "r1", "HELLO").startswith("✓ r1: ")
    shown.at(2).timeline(2)
    assert beside.click("release", "r0").startswith("✓ r0 ")
    beside.at(2).timeline(2)
    assert panels(opened).count() == 1
    do(opened, SCRATCH, "%kvpool close second")


def test_without_its_kernel_cells_show_the_static_form_and_the_panel_says_so(opened: NotebookPage) -> None:
    opened.run(1, DOCK)
    docked(opened).at(0)
    do(opened, SCRATCH, "%kvpool new 11 --name second --device none;\n%kvpool dashboard")
    board(opened, SCRATCH).at(0)
    opened.page.evaluate(RESTART)
    opened.cell(SCRATCH).locator("canvas").first.wait_for(state="detached")
    opened.page.get_by_text(GONE).wait_for()
    assert is_static(opened, SCRATCH)
    ready(opened)
    opened.run_all()
    assert ask(opened, "len(get_ipython()._kvnb_extension.magics.session.panels)") == 2
    opened.run(TYPED)
    board(opened, SCRATCH).at(1)


def test_the_saved_file_has_no_widget_and_does_not_grow(notebook: NotebookPage, server: Server) -> None:
    notebook.begin("mine.ipynb", CELLS[:-2])
    sizes = []
    for _ in range(3):
        notebook.run_all()
        board(notebook, AGAIN).at(1)
        saved = notebook.saved()
        sizes.append((server.notebooks / "mine.ipynb").stat().st_size)
    assert abs(sizes[2] - sizes[1]) < 50, "the second time it is said that a pool is replaced; but for that, numbers"
    assert "widget" not in json.dumps(saved["metadata"])
    kinds = {kind for cell in saved["cells"][1:] for output in cell["outputs"] for kind in output["data"]}
    assert kinds == {"text/plain", "text/html", "application/vnd.kvnb.record+json"}
    server.write("theirs.ipynb", of_somebody_else(saved["cells"]))
    for name, trusted in (("mine.ipynb", True), ("theirs.ipynb", False)):
        server.calm({name})
        notebook.open(name)
        assert notebook.page.evaluate(f"{PANEL}.content.model.cells.get({AGAIN}).trusted") == trusted
        assert is_static(notebook, FIRST)
        assert is_static(notebook, AGAIN)


@pytest.mark.filterwarnings("ignore:Your element with mimetype:UserWarning")
def test_an_exported_page_shows_the_static_form(server: Server) -> None:
    page = exported(server, "mine.ipynb")
    assert page.count("11 in all") == 2
    assert "jupyter.widget-view" not in page
