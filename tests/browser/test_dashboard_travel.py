"""The past in a dashboard, and one selection for all pictures of a pool, in JupyterLab."""

from __future__ import annotations

import re

import pytest
from dashboards import LAB, Board, ask, board, do
from jupyter_pages import NotebookPage, code
from test_block_map import colour, middle
from test_selection_in_timelines import HALO

from kvnb.views.theme import REQUESTS

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PANEL, STEPS, SCRATCH = 2, 3, 4
CELLS = code(
    "%load_ext kvnb",
    "%kvpool new 11 --device none;",
    "%kvpool dashboard",
    "%%kvpool\nadmit r0 ABCDEFGHIJKLMNO\nadmit r1 ABCDEFGHIJxxxx\nrelease r0\nadmit r2 ABCDEFGHZZ",
    "",
)
RINGED = "nodes => nodes.filter(node => node.style.outline).map(node => node.textContent.match(/\\d+/)[0])"


@pytest.fixture(scope="module")
def opened(looked_at: NotebookPage) -> NotebookPage:
    looked_at.begin("travel.ipynb", CELLS, 0)
    return looked_at


@pytest.fixture
def shown(opened: NotebookPage) -> Board:
    """A dashboard at step 4 of 4."""
    opened.run(1, PANEL, STEPS)
    return board(opened, PANEL).at(4).slid(4)


def test_the_keyboard_travels_and_every_picture_shows_the_past(shown: Board) -> None:
    shown.timeline(4)
    present = {kind: shown.tells(kind) for kind in ("map", "queue", "requests")}
    gauges = shown.text("gauges")
    shown.slider.press("ArrowLeft")
    shown.at(3, " of 4, the past")
    shown.slider.press("ArrowLeft")
    shown.slider.press("ArrowLeft")
    shown.at(1, " of 4, the past")
    assert shown.text("says").startswith("r0: 15 tokens, 0 block(s) from cache, 4 new")
    assert shown.text("gauges").startswith("4 / 10 used")
    r0 = REQUESTS[0].fill
    assert [colour(shown.canvas("map"), block, 0.15) for block in (1, 2, 3, 4)] == [r0] * 4
    assert shown.tells("map").startswith("Block map of 11 blocks: 4 used by one, 0 shared")
    assert shown.tells("queue").startswith("Free queue of 6 blocks, front first: 5, 6, 7, 8, 9, 10")
    assert shown.tells("requests") == "Requests: r0: 15 tokens, blocks 1 2 3 4"
    veiled = shown.timeline(4, step=1)
    shapes = veiled.evaluate("plot => plot.layout.shapes.slice(-2).map(({ type, x0, x1 }) => [type, x0, x1])")
    assert shapes == [["rect", 1.5, 4.6], ["line", 1.5, 1.5]], "what came later is dimmed"
    shown.slider.press("Home")
    shown.at(0, " of 4, the past")
    shown.button("now").click()
    shown.at(4)
    assert {kind: shown.tells(kind) for kind in present} == present
    assert shown.text("gauges") == gauges
    assert shown.timeline(4, step=4).evaluate("plot => plot.layout.shapes.filter(({ type }) => type === 'rect').length") == 0


def test_the_handle_is_dragged_into_the_past_and_back(shown: Board, opened: NotebookPage) -> None:
    track, handle = shown.host.locator(".noUi-base").bounding_box(), shown.slider.bounding_box()
    middle_of = handle["x"] + handle["width"] / 2, handle["y"] + handle["height"] / 2
    opened.page.mouse.move(*middle_of)
    opened.page.mouse.down()
    opened.page.mouse.move(track["x"] + track["width"] / 2, middle_of[1], steps=6)
    shown.at(2, " of 4, the past")
    opened.page.mouse.move(track["x"] + track["width"] + 5, middle_of[1], steps=6)
    opened.page.mouse.up()
    shown.at(4)


def test_play_goes_step_by_step_to_the_present(shown: Board, opened: NotebookPage) -> None:
    shown.slider.press("Home")
    shown.at(0, " of 4, the past")
    seen = "window.seen = []"
    look = f"step => {{ {seen}; new MutationObserver(() => seen.push(step.textContent)).observe(step, {{ childList: true }}); }}"
    shown.host.locator(".kvnb-step").evaluate(look)
    shown.host.locator(".widget-play button").first.click()
    shown.at(4)
    played = [int(re.findall(r"\d+", text)[0]) for text in opened.page.evaluate("window.seen")]
    assert sorted(set(played)) == [1, 2, 3, 4]
    assert played == sorted(played)


def test_new_steps_leave_the_past_in_peace_and_a_click_returns_to_the_present(shown: Board, opened: NotebookPage) -> None:
    shown.slider.press("Home")
    shown.slider.press("ArrowRight")
    shown.at(1, " of 4, the past")
    do(opened, SCRATCH, "%kvpool release r1\n%kvpool release r2")
    shown.timeline(6)
    assert shown.text("step").startswith("step 1 of 4, the past") or shown.text("step").startswith("step 1 of 6, the past")
    assert shown.tells("requests") == "Requests: r0: 15 tokens, blocks 1 2 3 4"
    assert shown.click("admit", "r9", "HELLO") == "✓ r9: 5 tokens, 0 block(s) from cache, 2 new"
    shown.at(7).slid(7)
    assert shown.tells("requests").startswith("Requests: r9: 5 tokens, blocks ")
    shown.slider.press("ArrowLeft")
    shown.at(6, " of 7, the past")
    assert shown.tells("requests") == "Requests: none"
    assert shown.click("append", "nobody", "x").startswith("✕ no request nobody")
    shown.at(7)


def test_undo_while_in_the_past_is_a_step_of_the_present(shown: Board, opened: NotebookPage) -> None:
    shown.slider.press("Home")
    shown.at(0, " of 4, the past")
    assert shown.click("undo").startswith("✓ ")
    shown.at(5)
    assert ask(opened, f"[*{LAB}.state.requests]") == ["r1"]


def test_one_block_is_selected_in_every_picture_of_the_pool(shown: Board, opened: NotebookPage) -> None:
    page = opened.page
    shown.timeline(4)
    do(opened, SCRATCH, "%kvpool show tables")
    tiles = opened.cell(SCRATCH).locator(".jp-RenderedHTML b")
    shown.drawn.canvas("map").evaluate("canvas => canvas.scrollIntoView({ block: 'center' })")
    plain = {kind: shown.canvas(kind).evaluate("c => c.toDataURL()") for kind in ("map", "queue", "requests")}

    def ringed(*kinds: str) -> None:
        for kind, before in plain.items():
            same = f"([c, was]) => (c.toDataURL() === was) !== {str(kind in kinds).lower()}"
            page.wait_for_function(same, arg=[shown.canvas(kind).element_handle(), before])

    def halo() -> set[str]:
        return set(shown.host.locator(".kvnb-timeline .textpoint text").evaluate_all(HALO))

    x, y = middle(shown.canvas("map"), 3)
    shown.canvas("map").click(position={"x": x, "y": y})
    ringed("map", "queue")
    assert halo() == {"3"}
    tiles.filter(has_text=re.compile(r"^\s*1\b")).first.click()
    assert set(tiles.evaluate_all(RINGED)) == {"1"}
    assert halo() == {"1"}
    ringed("map", "requests")
    shown.canvas("requests").focus()
    shown.canvas("requests").press("End")
    last = shown.tells("requests").split()[-1]
    page.wait_for_function("([node, id]) => node.textContent.startsWith(`block ${id}:`)", arg=[
        shown.host.locator(".kvnb-said").first.element_handle(), last,
    ])  # fmt: skip
    assert set(tiles.evaluate_all(RINGED)) == {last}
    assert halo() == {last}
    shown.canvas("queue").focus()
    shown.canvas("queue").press("Home")
    first = re.findall(r"front first: (\d+)", shown.tells("queue"))[0]
    assert halo() == {first}
    panel = "get_ipython()._kvnb_extension.magics.session.panels['pool'].dashboard"
    assert ask(opened, f"{panel}.selected") == int(first)
    shown.canvas("queue").press("Escape")
    assert halo() == set()
    ringed()
    assert tiles.evaluate_all(RINGED) == []
