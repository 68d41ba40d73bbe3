"""A block is selected in timelines together with the block map of its pool, in JupyterLab."""

from __future__ import annotations

from typing import Any

import pytest
from helpers import needs
from jupyter_pages import NotebookPage, code
from test_block_map import canvas, middle

pytestmark = [pytest.mark.browser, pytest.mark.slow]

MAP, QUEUE, LIVES = 3, 4, 5
CELLS = code(
    "%load_ext kvnb",
    "%kvpool new 11 --device none;",
    "%kvpool admit r0 ABCDEFGHIJKLMNO;",
    "%kvpool show blocks",
    "%kvpool timeline queue",
    "%kvpool timeline blocks",
)
SELECTED = "block => [...document[Symbol.for('kvnb.selected')].values()].includes(block)"
HALO = "nodes => nodes.filter(node => node.style.paintOrder === 'stroke').map(node => node.textContent.trim())"


@pytest.fixture(scope="module")
def drawn(looked_at: NotebookPage) -> NotebookPage:
    """A map and two timelines of one pool."""
    needs("plotly")
    looked_at.begin("selection.ipynb", CELLS, *range(len(CELLS)))
    canvas(looked_at, MAP)
    return looked_at


def numbers(page: NotebookPage, index: int, where: str) -> Any:
    """The block numbers of a figure."""
    figure = page.cell(index).locator(".js-plotly-plot")
    figure.scroll_into_view_if_needed()
    found = figure.locator(where)
    found.first.wait_for()
    return found


def test_a_block_that_is_clicked_on_the_map_has_a_halo_in_the_timelines(drawn: NotebookPage) -> None:
    shown = canvas(drawn, MAP)
    x, y = middle(shown, 7)
    numbers(drawn, QUEUE, ".textpoint text")
    canvas(drawn, MAP).click(position={"x": x, "y": y})
    discs = numbers(drawn, QUEUE, ".textpoint text").evaluate_all(HALO)
    assert discs
    assert set(discs) == {"7"}
    assert numbers(drawn, LIVES, ".ytick text").evaluate_all(HALO) == ["7"]


def test_a_disc_that_is_clicked_is_selected_in_every_picture(drawn: NotebookPage) -> None:
    numbers(drawn, QUEUE, ".textpoint text")
    disc = drawn.cell(QUEUE).locator(".js-plotly-plot .textpoint text", has_text="9").first
    disc.scroll_into_view_if_needed()
    box = disc.bounding_box()
    drawn.page.mouse.move(box["x"] + box["width"] / 2 + 40, box["y"] + 5)
    drawn.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=5)
    drawn.page.wait_for_timeout(300)
    drawn.page.mouse.down()
    drawn.page.mouse.up()
    drawn.page.wait_for_function(SELECTED, arg=9, timeout=10_000)
    assert set(numbers(drawn, QUEUE, ".textpoint text").evaluate_all(HALO)) == {"9"}
