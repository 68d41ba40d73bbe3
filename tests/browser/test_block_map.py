"""The block map and the free-queue strip in JupyterLab; screenshots are left in ``build/screenshots``."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from helpers import ROOT
from jupyter_pages import READY, NotebookPage, Server, code, exported, of_somebody_else

from kvnb.views.theme import HIT, REQUESTS

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PICTURES = ROOT / "build" / "screenshots"
MAP, STRIP, BIG, WIDGET = 1, 2, 3, 5
CELLS = code(
    """from kvnb import Lab
from kvnb.views.canvas import blocks_shown, queue_shown
lab, large = Lab(11, block_size=4, device="none"), Lab(100_000, block_size=4, device="none")
lab.admit("r0", "ABCDEFGHIJKLMNO"); lab.admit("r1", "ABCDEFGHIJxxxx"); lab.release("r0")
lab.admit("<b>r2</b>", "ABCDEFGHI")
large.admit("first", tokens=range(160_000)); large.admit("second", tokens=range(40_000)); large.release("first")
def show(lab, form): return form(lab.journal, lab.state, len(lab.journal))
""",
    "show(lab, blocks_shown)",
    "show(lab, queue_shown)",
    "show(large, blocks_shown)",
    "show(large, queue_shown)",
    "from kvnb.views.canvas.widgets import BlockMap, QueueStrip\nstrip = QueueStrip(lab.journal, lab.state); strip",
    "lab.admit('r3', 'z' * 8); strip.show_step()",
    "print(strip.selected)",
    "big = BlockMap(large.journal, large.state); big",
    "large.release('second'); big.show_step()",
    "lab.release('r1'); strip.show_step()",
)
COLOUR = """(canvas, [x, y]) => {
  const ratio = canvas.width / canvas.clientWidth, at = canvas.getContext('2d').getImageData(x * ratio, y * ratio, 1, 1).data;
  const parts = [...at].slice(0, 3).map(part => part.toString(16).padStart(2, '0'));
  return '#' + parts.join('').toUpperCase() + (at[3] ? '' : ' none');
}"""


@pytest.fixture(scope="module")
def opened(looked_at: NotebookPage) -> NotebookPage:
    """The notebook with all cells run but those that change something."""
    looked_at.begin("map.ipynb", CELLS, 0, 1, 2, 3, 4, 5, 8)
    return looked_at


def canvas(notebook: NotebookPage, index: int) -> Any:
    """The canvas below a cell, once it is drawn."""
    found = notebook.cell(index).locator("canvas.kvnb-map, canvas.kvnb-queue")
    found.scroll_into_view_if_needed()
    notebook.page.wait_for_function(
        "canvas => canvas.dataset.seq && canvas.dataset.moving !== 'true'", arg=found.element_handle()
    )
    return found


def middle(drawn: Any, block_id: int, across: float = 0.5, down: float = 0.5) -> tuple[float, float]:
    """Where a block is on a map, in CSS pixels of its canvas."""
    data = drawn.evaluate("canvas => ({...canvas.dataset})")
    columns, pitch = int(data["columns"]), float(data["pitch"])
    row, column = divmod(block_id, columns)
    side = pitch * (30 / 36 if pitch >= 20 else 1)
    return 7 + float(data["left"]) + column * pitch + across * side, 7 + float(data["top"]) + row * pitch + down * side


def colour(drawn: Any, block_id: int, across: float = 0.5, down: float = 0.5) -> str:
    return str(drawn.evaluate(COLOUR, middle(drawn, block_id, across, down)))


def settled(notebook: NotebookPage, theme: str) -> None:
    notebook.command("apputils:change-theme", theme=f"JupyterLab {theme}")
    notebook.page.wait_for_function(f"document.body.dataset.jpThemeLight === '{str(theme == 'Light').lower()}'")
    notebook.page.wait_for_timeout(400)


@pytest.mark.parametrize("theme", ["Dark", "Light"])
def test_blocks_have_their_colours_in_both_themes_down_to_pixels(opened: NotebookPage, theme: str) -> None:
    settled(opened, theme)
    PICTURES.mkdir(parents=True, exist_ok=True)
    small = canvas(opened, MAP)
    opened.cell(MAP).screenshot(path=PICTURES / f"block-map-11-{theme.lower()}.png")
    r1, r2 = REQUESTS[1].fill, REQUESTS[2].fill
    assert colour(small, 6, 0.15) == r1
    assert (colour(small, 1, 0.15, 0.3), colour(small, 1, 0.15, 0.8)) == (r1, r2), "shared: two colours"
    assert colour(small, 1, -0.05, 0.5) == HIT.upper(), "just hit: a ring"
    assert colour(small, 8, 0.2, 0.2) == "#000000 none", "free and empty: nothing but a dashed line"
    opened.cell(STRIP).screenshot(path=PICTURES / f"free-queue-11-{theme.lower()}.png")
    large = canvas(opened, BIG)
    opened.cell(BIG).screenshot(path=PICTURES / f"block-map-100000-{theme.lower()}.png")
    assert colour(large, 5_000) == REQUESTS[1].fill
    kept, empty = colour(large, 30_000, 0.1, 0.9), colour(large, 90_000, 0.1, 0.9)
    assert REQUESTS[1].fill not in (kept, empty)
    canvas(opened, BIG + 1)
    opened.cell(BIG + 1).screenshot(path=PICTURES / f"free-queue-100000-{theme.lower()}.png")


def test_a_block_that_is_pointed_at_tells_what_is_known_of_it(opened: NotebookPage) -> None:
    drawn = canvas(opened, MAP)
    x, y = middle(drawn, 1)
    drawn.hover(position={"x": x, "y": y})
    tip = opened.page.locator(".kvnb-tip", has_text="block 1: shared, ref_cnt 2")
    tip.get_by_text("in the table of r1 and <b>r2</b>").wait_for()
    assert re.search(r"hash [0-9a-f]{16}", tip.inner_text())
    assert tip.locator("b").count() == 0, "names are text"
    x, y = middle(drawn, 8)
    drawn.hover(position={"x": x, "y": y})
    opened.page.locator(".kvnb-tip").get_by_text(re.compile(r"place \d of 5 in the free queue")).wait_for()
    opened.page.mouse.move(5, 5)
    assert opened.page.locator(".kvnb-tip:visible").count() == 0


def test_a_click_selects_the_block_in_every_canvas_and_is_told_to_the_kernel(opened: NotebookPage) -> None:
    drawn, queue, strip = canvas(opened, MAP), canvas(opened, STRIP), canvas(opened, WIDGET)
    before = {queue: queue.evaluate("c => c.toDataURL()"), strip: strip.evaluate("c => c.toDataURL()")}
    x, y = middle(drawn, 9)
    drawn.click(position={"x": x, "y": y})
    for other, picture in before.items():
        opened.page.wait_for_function("([c, was]) => c.toDataURL() !== was", arg=[other.element_handle(), picture])
    strip.focus()
    strip.press("End")
    opened.run(7)
    chosen = opened.output(7).strip()
    assert chosen == strip.get_attribute("aria-label").split(", ")[-1].split()[0]
    assert f"block {chosen}" in opened.cell(WIDGET).locator(".kvnb-said").inner_text()
    strip.press("Escape")
    opened.run(7)
    assert opened.output(7).strip() == "None"


def test_arrow_keys_move_the_selection_and_enter_tells_about_it(opened: NotebookPage) -> None:
    drawn = canvas(opened, MAP)
    drawn.focus()
    for key in ("Home", "ArrowRight", "ArrowRight", "End", "ArrowLeft", "Enter"):
        drawn.press(key)
    opened.page.locator(".kvnb-tip", has_text="block 9: free and empty").wait_for()
    assert drawn.evaluate("canvas => document.activeElement === canvas")
    drawn.press("Escape")
    assert opened.page.locator(".kvnb-tip:visible").count() == 0
    drawn.press("Escape")
    assert "no block selected" in opened.cell(MAP).locator(".kvnb-said").inner_text()


def test_screen_readers_are_told_what_there_is(opened: NotebookPage) -> None:
    drawn = canvas(opened, MAP)
    assert drawn.get_attribute("role") == "img"
    says = "Block map of 11 blocks: 3 used by one, 2 shared, 1 free and cached, 4 free and empty"
    assert drawn.get_attribute("aria-label").startswith(says)
    assert canvas(opened, STRIP).get_attribute("aria-label").startswith("Free queue of 5 blocks, front first: ")


def test_a_large_map_zooms_to_tiles_and_back(opened: NotebookPage) -> None:
    drawn = canvas(opened, BIG)
    small = float(drawn.get_attribute("data-pitch"))
    drawn.focus()
    for _ in range(9):
        drawn.press("+")
    opened.page.wait_for_function("canvas => canvas.dataset.pitch >= 36", arg=drawn.element_handle())
    opened.cell(BIG).screenshot(path=PICTURES / "block-map-100000-zoomed.png")
    box = drawn.bounding_box()
    opened.page.mouse.move(box["x"] + 200, box["y"] + 100)
    before = drawn.get_attribute("data-left")
    opened.page.mouse.down()
    opened.page.mouse.move(box["x"] + 260, box["y"] + 130, steps=3)
    opened.page.mouse.up()
    opened.page.wait_for_function("([canvas, left]) => canvas.dataset.left !== left", arg=[drawn.element_handle(), before])
    opened.page.mouse.wheel(0, 400)
    drawn.dblclick(position={"x": 100, "y": 100})
    opened.page.wait_for_function("([canvas, pitch]) => canvas.dataset.pitch == pitch", arg=[drawn.element_handle(), small])
    opened.cell(BIG).get_by_label("Zoom in").click()
    opened.page.wait_for_function("([canvas, pitch]) => canvas.dataset.pitch > pitch", arg=[drawn.element_handle(), small])
    opened.cell(BIG).get_by_label("All blocks").click()
    assert opened.cell(MAP).get_by_label("Zoom in").is_hidden(), "where all is readable there is nothing to zoom"


def test_an_update_from_a_later_cell_moves_for_a_moment_and_says_what_changed(opened: NotebookPage) -> None:
    strip = canvas(opened, WIDGET)
    opened.page.evaluate(
        """canvas => { window.seen = []; new MutationObserver(() => window.seen.push(canvas.dataset.moving))
        .observe(canvas, { attributes: true, attributeFilter: ['data-moving'] }); }""",
        strip.element_handle(),
    )
    opened.run(6)
    opened.page.wait_for_function("c => c.dataset.seq === '1' && c.dataset.moving === 'false'", arg=strip.element_handle())
    assert "true" in opened.page.evaluate("window.seen")
    assert "left the front" in opened.output(WIDGET)
    assert "Free queue of 3 blocks" in strip.get_attribute("aria-label")


def test_nothing_moves_where_the_reader_asked_for_that(opened: NotebookPage) -> None:
    opened.page.emulate_media(reduced_motion="reduce")
    strip = canvas(opened, WIDGET)
    seq = strip.get_attribute("data-seq")
    opened.page.evaluate("window.seen = []")
    opened.run(10)
    opened.page.wait_for_function("([c, seq]) => c.dataset.seq !== seq", arg=[strip.element_handle(), seq])
    assert "true" not in opened.page.evaluate("window.seen")
    opened.page.emulate_media(reduced_motion="no-preference")


def test_a_large_map_is_drawn_again_when_a_later_cell_changes_it(opened: NotebookPage) -> None:
    drawn = canvas(opened, 8)
    assert colour(drawn, 5_000) == REQUESTS[1].fill
    opened.run(9)
    opened.page.wait_for_function("canvas => canvas.dataset.seq === '1'", arg=drawn.element_handle())
    assert colour(drawn, 5_000) != REQUESTS[1].fill


def test_without_its_kernel_a_notebook_shows_the_static_form_whether_it_is_trusted_or_not(
    notebook: NotebookPage, server: Server
) -> None:
    notebook.begin("mine.ipynb", CELLS, 0, 1, 2, 3)
    assert "11 in all" not in notebook.output(1), "live, the canvas stands in its place"
    saved = notebook.saved()
    notebook.page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    notebook.cell(MAP).locator("canvas.kvnb-map").wait_for(state="detached")
    assert "11 in all" in notebook.output(MAP)
    notebook.page.wait_for_function(READY)
    assert "widget" not in json.dumps(saved["metadata"])
    assert {kind for cell in saved["cells"] for output in cell["outputs"] for kind in output["data"]} == {
        "text/plain",
        "text/html",
    }
    server.write("theirs.ipynb", of_somebody_else(saved["cells"]))
    for name, trusted in (("mine.ipynb", True), ("theirs.ipynb", False)):
        notebook.open(name)
        assert notebook.page.evaluate("window.jupyterapp.shell.currentWidget.content.model.cells.get(1).trusted") == trusted
        assert "11 in all" in notebook.output(1)
        assert "reused next" in notebook.output(2)
        image = notebook.cell(3).locator("img")
        image.scroll_into_view_if_needed()
        assert image.evaluate("image => image.naturalWidth") > 600
        assert "Block map, 100,000 blocks" in image.get_attribute("alt")
        assert notebook.page.locator("canvas").count() == 0


def test_a_page_that_is_loaded_again_has_its_canvas_back(notebook: NotebookPage) -> None:
    notebook.begin("again.ipynb", CELLS, 0, 1)
    canvas(notebook, MAP)
    notebook.command("docmanager:save")
    notebook.page.reload()
    notebook.page.wait_for_function(READY)
    assert colour(canvas(notebook, MAP), 6, 0.15) == REQUESTS[1].fill
    assert "11 in all" not in notebook.output(MAP)


@pytest.mark.filterwarnings("ignore:Your element with mimetype:UserWarning")
def test_an_exported_page_shows_the_static_form(opened: NotebookPage, server: Server) -> None:
    opened.command("docmanager:save")
    page = exported(server, "map.ipynb")
    assert "11 in all" in page
    assert 'alt="Block map, 100,000 blocks' in page
