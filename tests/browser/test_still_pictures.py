"""The pictures that are HTML, in JupyterLab, light and dark; a block is selected in them and in canvases together.

Screenshots are left in ``build/screenshots``.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from helpers import ROOT
from jupyter_pages import NotebookPage, Server, code
from test_block_map import canvas, middle, settled
from test_in_jupyterlab import LIGHTNESS

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PICTURES = ROOT / "build" / "screenshots"
STEP, LATER, OTHER, UNSEEN = 3, 13, 15, 16
LOOKS = {
    "show tables": 5, "show map": 6, "show diagram": 7, "diff 0 2": 8, "show block 1": 9, "show map --contents": 10,
    "prove r1": 11,
}  # fmt: skip
BLOCKS = 12
CELLS = code(
    "%load_ext kvnb",
    "%kvpool new 11 --device cpu",
    "%kvpool admit r0 ABCDEFGHIJKLMNO",
    "%kvpool admit r1 ABCDEFGHIJxxxx",
    "%kvpool release r0",
    *(f"%kvpool {look}" for look in LOOKS),
    "%kvpool show blocks",
    "%kvpool show tables",
    "%kvpool new 11 --name other --device none",
    "%kvpool admit r9 ABCDEFGHIJKLMNO",
    "from kvnb.views.canvas import close_all; close_all()",
)


@pytest.fixture(scope="module")
def drawn(looked_at: NotebookPage) -> NotebookPage:
    """A notebook of all these pictures."""
    looked_at.begin("stills.ipynb", CELLS, *range(LATER))
    return looked_at


def picture(notebook: NotebookPage, index: int) -> Any:
    """The HTML below a cell, on the screen."""
    found = notebook.cell(index).locator(".jp-RenderedHTML").first
    found.scroll_into_view_if_needed()
    return found


@pytest.mark.parametrize("theme", ["Dark", "Light"])
def test_every_picture_is_there_and_its_words_stand_out(drawn: NotebookPage, theme: str) -> None:
    settled(drawn, theme)
    PICTURES.mkdir(parents=True, exist_ok=True)
    for look, index in LOOKS.items():
        found = picture(drawn, index)
        box = found.bounding_box()
        assert box["width"] > 300, look
        assert box["height"] > 30, look
        words = [word for word in found.evaluate(LIGHTNESS) if word[0].strip() != "*"]
        assert len(words) >= 3, look
        assert [word for word, ink, behind in words if abs(ink - behind) < 0.2] == [], look
        name = re.sub(r"\W+", "-", look)
        drawn.cell(index).screenshot(path=PICTURES / f"{name}-{theme.lower()}.png")


def test_the_diagram_is_an_image_that_is_loaded_and_told_in_words(drawn: NotebookPage) -> None:
    image = picture(drawn, LOOKS["show diagram"]).locator("img")
    assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") > 600
    assert image.bounding_box()["height"] > 200
    assert "Path:" in image.get_attribute("alt")


def ringed(notebook: NotebookPage, index: int) -> list[str]:
    """The text of the tiles below a cell that have the ring of the selected block."""
    rings = "nodes => nodes.filter(node => node.style.outline).map(node => node.textContent)"
    return list(notebook.cell(index).locator(".jp-RenderedHTML b").evaluate_all(rings))


def choose(notebook: NotebookPage, block_id: int) -> None:
    """Click a block on the map."""
    drawn = canvas(notebook, BLOCKS)
    x, y = middle(drawn, block_id)
    drawn.click(position={"x": x, "y": y})


def tile(notebook: NotebookPage, index: int, block_id: int) -> Any:
    """The first tile of a block in the picture below a cell."""
    return picture(notebook, index).locator("b", has_text=re.compile(rf"^\s*{block_id}\b")).first


def test_a_block_selected_on_the_map_is_ringed_in_every_picture_of_its_pool(drawn: NotebookPage) -> None:
    choose(drawn, 1)
    for index in (STEP, LOOKS["show tables"], LOOKS["show map"], LOOKS["diff 0 2"], LOOKS["show block 1"], 10):
        found = ringed(drawn, index)
        assert found, index
        assert {re.match(r"\s*\d+", text)[0].strip() for text in found} == {"1"}, "a tile, no other number"  # type: ignore[index]
    drawn.cell(LOOKS["show tables"]).screenshot(path=PICTURES / "selected-in-tables.png")
    choose(drawn, 5)
    assert ringed(drawn, LOOKS["show block 1"]) == []
    assert [text[0] for text in ringed(drawn, LOOKS["show tables"])] == ["5"]


def test_a_tile_that_is_clicked_is_selected_on_the_map_and_escape_selects_none(drawn: NotebookPage) -> None:
    said = drawn.cell(BLOCKS).locator(".kvnb-said")
    tile(drawn, LOOKS["show tables"], 2).click()
    drawn.page.wait_for_function("said => said.textContent.startsWith('block 2')", arg=said.element_handle())
    assert ringed(drawn, STEP)
    drawn.page.keyboard.press("Escape")
    drawn.page.wait_for_function("said => said.textContent === 'no block selected'", arg=said.element_handle())
    assert ringed(drawn, STEP) == ringed(drawn, LOOKS["show tables"]) == []


def test_a_picture_drawn_later_knows_what_is_selected_and_another_pool_does_not(drawn: NotebookPage) -> None:
    choose(drawn, 2)
    drawn.run(LATER, LATER + 1, OTHER)
    drawn.page.wait_for_timeout(100)
    assert ringed(drawn, LATER)
    assert ringed(drawn, OTHER) == []
    tile(drawn, OTHER, 3).click()
    assert [text[0] for text in ringed(drawn, OTHER)] == ["3"]
    assert ringed(drawn, LATER), "one selection a pool"


def test_tiles_select_each_other_when_the_canvases_are_closed(drawn: NotebookPage) -> None:
    drawn.run(UNSEEN)
    drawn.cell(BLOCKS).locator("canvas").wait_for(state="detached")
    tile(drawn, LOOKS["show tables"], 1).click()
    assert ringed(drawn, LOOKS["show block 1"])
    assert ringed(drawn, BLOCKS), "the map's static form takes part too"


@pytest.mark.filterwarnings("ignore:Your element with mimetype:UserWarning")
def test_no_ring_is_saved(drawn: NotebookPage, server: Server) -> None:
    drawn.command("docmanager:save")
    saved = json.loads((server.notebooks / "stills.ipynb").read_text())
    assert "outline" not in json.dumps([cell["outputs"] for cell in saved["cells"]])
