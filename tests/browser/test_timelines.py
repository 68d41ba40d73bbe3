"""Timelines in JupyterLab: drawn in light and dark, hovered, reopened untrusted, exported; nothing is asked of another host."""

from __future__ import annotations

import re
from typing import Any

import pytest
from helpers import ROOT, needs
from jupyter_pages import NotebookPage, Server, code, exported, of_somebody_else, without_scripts

pytestmark = [pytest.mark.browser, pytest.mark.slow]

HELPERS = [str(ROOT / "tests"), str(ROOT / "tests" / "views" / "figures")]
CELLS = code(
    f"import sys; sys.path[:0] = {HELPERS}\n"
    "from helpers import seed_lab\n"
    "from journals import history\n"
    "from kvnb.views.figures.timeline import timeline_shown",
    *(f"timeline_shown(seed_lab().journal, {name!r})" for name in ("queue", "usage", "blocks")),
    *(f"timeline_shown(history(3_000, 1_000), {name!r})" for name in ("queue", "usage", "blocks")),
    "timeline_shown(seed_lab().journal, 'prefill')",
)
PLOT = ".jp-RenderedPlotly"


@pytest.fixture(scope="module")
def drawn(looked_at: NotebookPage) -> NotebookPage:
    """A notebook with seven timelines."""
    needs("plotly")
    looked_at.begin("timelines.ipynb", CELLS, *range(len(CELLS)))
    return looked_at


def plot(page: NotebookPage, index: int) -> Any:
    """The plotly figure below a cell, drawn."""
    found = page.cell(index).locator(PLOT)
    found.scroll_into_view_if_needed()
    found.locator(".main-svg").first.wait_for()
    return found


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
@pytest.mark.parametrize("index", range(1, 8))
def test_a_timeline_is_drawn_and_its_title_stands_out(drawn: NotebookPage, theme: str, index: int) -> None:
    drawn.command("apputils:change-theme", theme=theme)
    title = plot(drawn, index).locator(".gtitle tspan tspan").first
    red, *_ = map(float, re.findall(r"[\d.]+", title.evaluate("node => getComputedStyle(node).fill")))
    assert red < 100 if theme.endswith("Light") else red > 200
    drawn.page.wait_for_timeout(300)
    assert plot(drawn, index).bounding_box()["height"] > 250


def hovered(page: NotebookPage, index: int, target: str) -> str:
    """What a figure says when the mouse comes to the last such element; it is tried again while the page still moves."""
    found = plot(page, index)
    label = found.locator(".hoverlayer g").first
    for step in range(40):
        box = found.locator(target).last.bounding_box()
        page.page.mouse.move(box["x"] + box["width"] / 2 + step % 3, box["y"] + box["height"] / 2)
        page.page.wait_for_timeout(250)
        if label.is_visible():
            fills = found.locator(".hoverlayer text, .hoverlayer tspan").evaluate_all(FILLS)
            assert len(set(fills)) == 1, "a hover has one colour, whatever the page's is"
            return str(found.locator(".hoverlayer").text_content())
    raise AssertionError("nothing is said")


FILLS = "nodes => nodes.filter(node => node.textContent.trim()).map(node => getComputedStyle(node).fill)"


def test_a_hover_tells_block_place_step_and_command(drawn: NotebookPage) -> None:
    says = hovered(drawn, 1, ".point")
    assert "block 5, place 2" in says
    assert "step 5, admit r2" in says
    assert "carries a hash" in says


def test_a_hover_over_usage_tells_the_step_and_every_kind(drawn: NotebookPage) -> None:
    says = hovered(drawn, 2, ".barlayer .point")
    assert "step 6, admit r3" in says
    for part in ("10 used by one", "0 shared", "0 free and cached", "0 free and empty", "30% of the tokens", "1 evicted"):
        assert part in says


def test_a_hover_over_prefills_tells_what_a_step_computed_and_what_was_saved_so_far(drawn: NotebookPage) -> None:
    says = hovered(drawn, 7, ".barlayer .point")
    assert "step 6, admit r3" in says
    for part in ("8 computed", "30 %: 20 of 66 saved so far"):
        assert part in says


def test_a_long_history_has_a_slider_and_its_commands(drawn: NotebookPage) -> None:
    found = plot(drawn, 5)
    assert found.locator(".rangeslider-container").count() == 1
    assert re.search(r"(admit|append|release) r\d+", found.locator(".xaxislayer-above").first.text_content())


def test_reopened_by_somebody_else_they_are_there_and_wake_up(drawn: NotebookPage) -> None:
    for index in range(1, 8):
        plot(drawn, index)
    drawn.begin("their-timelines.ipynb", of_somebody_else(drawn.saved()["cells"]))
    assert not drawn.page.evaluate("window.jupyterapp.shell.currentWidget.content.model.cells.get(1).trusted")
    shown = drawn.cell(1).locator(PLOT)
    shown.scroll_into_view_if_needed()
    assert shown.bounding_box()["height"] > 200
    # JupyterLab's extension shows the picture that it kept, and draws the figure when the mouse comes.
    shown.hover()
    shown.locator(".main-svg").first.wait_for()


@pytest.mark.filterwarnings("ignore:Your element with mimetype:UserWarning")
def test_an_exported_page_has_the_images(drawn: NotebookPage, server: Server) -> None:
    drawn.page.goto("about:blank")
    drawn.page.set_content(without_scripts(exported(server, "their-timelines.ipynb")))
    images = drawn.page.locator("img[src^='data:image/svg']")
    assert images.count() == 7
    widths = "nodes => Promise.all(nodes.map(node => node.decode().then(() => node.naturalWidth)))"
    assert images.evaluate_all(widths) == [860] * 7
    assert "admit r0" in images.first.get_attribute("alt")
