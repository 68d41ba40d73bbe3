"""The dashboard in Notebook 7, and what fifty of them leave behind. Run with ``pytest -m heavy tests/browser``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from dashboards import ask, board, do
from helpers import ROOT, needs
from jupyter_pages import NotebookPage, Server, code, fresh_page

pytestmark = [pytest.mark.browser, pytest.mark.heavy]

PANEL, SCRATCH = 2, 3
CELLS = code(
    "%load_ext kvnb",
    "%kvpool new 2000 --device none;\n%kvpool admit r0 ABCDEFGHIJKLMNO;\n%kvpool admit r1 ABCDEFGHIJxxxx;",
    "%kvpool dashboard",
    "",
)
WIDGETS = "__import__('ipywidgets').widgets.widget._instances"
RESIDENT = "int(open('/proc/self/statm').read().split()[1]) * 4096"
CLOSE = "get_ipython()._kvnb_extension.magics.session.close_panel('pool')"
# Without handles of elements: what a test holds, a page keeps.
THERE = "document.querySelector('.jp-Notebook .kvnb-timeline')?.dataset.until === '2'"
GONE = "document.querySelector('.jp-Notebook canvas') === null"
MIB = 1 << 20


class Figures(NamedTuple):
    """What is in use while no dashboard is open: of the kernel, and of the page after its rubbish was collected."""

    widgets: int
    resident: int
    heap: int
    buffers: int
    nodes: int
    listeners: int


def figures(page: NotebookPage, cdp: Any) -> Figures:
    for _ in range(3):
        cdp.send("HeapProfiler.collectGarbage")
    heap, dom = cdp.send("Runtime.getHeapUsage"), cdp.send("Memory.getDOMCounters")
    buffers = heap.get("backingStorageSize", 0)
    ask(page, "__import__('gc').collect()")
    widgets, resident = ask(page, f"len({WIDGETS})"), ask(page, RESIDENT)
    return Figures(widgets, resident, heap["usedSize"], buffers, dom["nodes"], dom["jsEventListeners"])


def test_a_dashboard_opened_and_closed_fifty_times_leaves_kernel_and_page_level(notebook: NotebookPage) -> None:
    notebook.begin("fifty.ipynb", CELLS, 0, 1)
    cdp = notebook.page.context.new_cdp_session(notebook.page)
    found = []
    for opened in range(1, 51):
        notebook.run(PANEL)
        notebook.page.wait_for_function(THERE)
        ask(notebook, CLOSE)
        notebook.page.wait_for_function(GONE)
        if opened in (10, 30, 50):
            found.append(figures(notebook, cdp))
    for one in found:
        print(one)
    first, _, last = found
    assert last.widgets == first.widgets, "those of the one that waits to be opened again"
    assert last.resident - first.resident < 16 * MIB
    assert last.buffers - first.buffers < 4 * MIB
    assert last.heap - first.heap < 4 * MIB
    assert last.nodes - first.nodes < 100
    assert last.listeners - first.listeners < 400


@pytest.fixture
def plain(tmp_path_factory: pytest.TempPathFactory, browser: Any) -> Iterator[NotebookPage]:
    """A page of Notebook 7."""
    needs("notebook")
    server = Server(tmp_path_factory.mktemp("notebook"), "notebook")
    with fresh_page(server, browser) as page:
        yield page
        # Notebook 7 says this of itself.
        page.complaints[:] = [said for said in page.complaints if "reading 'schema'" not in said]
    server.close()


def test_notebook_7_draws_it_follows_it_and_drives_it(plain: NotebookPage) -> None:
    page = plain
    page.begin("plain.ipynb", CELLS, 0, 1, PANEL)
    shown = board(page, PANEL).at(2)
    assert shown.click("append", "r1", "yy").startswith("✓ r1: ")
    shown.at(3).timeline(3)
    do(page, SCRATCH, "%kvpool release r0;")
    # With the mouse: Notebook 7 takes the arrow keys of every slider.
    handle = shown.at(4).slid(4).slider
    handle.scroll_into_view_if_needed()
    at, track = handle.bounding_box(), shown.host.locator(".noUi-base").bounding_box()
    page.page.mouse.move(at["x"] + at["width"] / 2, at["y"] + at["height"] / 2)
    page.page.mouse.down()
    page.page.mouse.move(track["x"] + track["width"] / 2, at["y"] + at["height"] / 2, steps=6)
    page.page.mouse.up()
    shown.at(2, " of 4, the past")
    shown.button("now").click()
    shown.at(4)
    pictures = ROOT / "build" / "screenshots"
    pictures.mkdir(parents=True, exist_ok=True)
    page.page.screenshot(path=pictures / "dashboard-notebook-7.png")
    page.run(PANEL)
    board(page, PANEL)
