"""The dashboard in JupyterLab: it is drawn, and follows what cells do; screenshots are left in ``build/screenshots``."""

from __future__ import annotations

import re

import pytest
from dashboards import LAB, WATCH, Messages, begin, board, do, numbers, ready
from helpers import ROOT
from jupyter_pages import NotebookPage, code
from test_block_map import colour, settled
from test_in_jupyterlab import LIGHTNESS

from kvnb.views.theme import HIT, REQUESTS

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PICTURES = ROOT / "build" / "screenshots"
PANEL, TYPED, BUSY = 2, 3, 4
CELLS = code(
    "%load_ext kvnb",
    "%kvpool new 11 --device none;",
    "%kvpool dashboard",
    "%%kvpool\nadmit r0 ABCDEFGHIJKLMNO\nrelease r0\nadmit r1 ABCDEFGHIJxxxx\nadmit <b>r2</b> ABCDEFGHZZ",
    "",
)
PYTHON = f"""lab = {LAB}
if lab.state.requests:
    lab.release(all=True)
for i in range(5_000):
    lab.admit(f"q{{i}}", f"ABCDEFGHIJKL{{i}}")
    lab.release(f"q{{i}}")
print(len(lab.journal), lab.digest[:8])"""
SCRIPT = f"""lines = [line for i in range(5_000) for line in (f"admit s{{i}} ABCDEFGHIJKL{{i}};", f"release s{{i}};")]
get_ipython().run_cell_magic("kvpool", "", "\\n".join(lines))
lab = {LAB}
print(len(lab.journal), lab.digest[:8])"""
OPENS = f"""%kvpool new 11 --name second --device none;
%kvpool dashboard
{PYTHON}"""


@pytest.fixture(scope="module")
def messages(looked_at: NotebookPage) -> Messages:
    return Messages(looked_at)


@pytest.fixture(scope="module")
def watched(looked_at: NotebookPage, messages: Messages) -> NotebookPage:
    """A dashboard, and later cells that changed its pool."""
    looked_at.begin("dashboard.ipynb", CELLS, 0, 1, PANEL)
    first = board(looked_at, PANEL).at(0)
    assert first.text("says") == "the new pool"
    assert first.text("gauges").startswith("0 / 10 used")
    assert first.tells("requests") == "Requests: none"
    first.timeline(0, which="queue")
    looked_at.run(TYPED)
    return looked_at


def test_commands_of_a_later_cell_change_every_part_of_the_dashboard(watched: NotebookPage) -> None:
    shown = board(watched, PANEL).at(4)
    assert shown.text("says") == "<b>r2</b>: 10 tokens, 2 block(s) from cache, 1 new"
    gauges = shown.text("gauges").split("\n")
    assert gauges[0] == "5 / 10 used"
    assert any(re.match(r"16 of \d+ tokens hit", line) for line in gauges)
    r1, r2 = REQUESTS[1].fill, REQUESTS[2].fill
    blocks = shown.canvas("map")
    assert (colour(blocks, 1, 0.15, 0.3), colour(blocks, 1, 0.15, 0.8)) == (r1, r2), "shared: two colours"
    assert colour(blocks, 1, -0.05, 0.5) == HIT.upper(), "just hit: a ring"
    assert shown.tells("map").startswith("Block map of 11 blocks: 3 used by one, 2 shared, ")
    assert shown.tells("queue").startswith("Free queue of 5 blocks, front first: ")
    assert "r1: 14 tokens, 8 from cache, blocks 1 2 " in shown.tells("requests")
    assert "<b>r2</b>: 10 tokens, 8 from cache, blocks 1 2 " in shown.tells("requests")
    assert shown.host.get_by_text("r2", exact=True).count() == 0, "a name is a text"
    plot = shown.timeline(4, which="queue")
    assert plot.locator(".xtick").last.text_content().endswith("<b>r2</b>")


@pytest.mark.parametrize("wide", [700, 1200, 1900])
@pytest.mark.parametrize("theme", ["Dark", "Light"])
def test_it_is_drawn_in_both_themes_on_narrow_and_wide_pages(watched: NotebookPage, theme: str, wide: int) -> None:
    watched.page.set_viewport_size({"width": wide, "height": 1400})
    settled(watched, theme)
    shown = board(watched, PANEL)
    shown.timeline(4, dark="true" if theme == "Dark" else "false")
    shown.drawn.host.evaluate("host => host.scrollIntoView()")
    PICTURES.mkdir(parents=True, exist_ok=True)
    watched.page.screenshot(path=PICTURES / f"dashboard-{wide}-{theme.lower()}.png")
    inside = (
        "host => [...host.querySelectorAll('div, canvas, button, text')].filter(node => node.checkVisibility())"
        ".every(node => node.getBoundingClientRect().right <= host.getBoundingClientRect().right + 1)"
    )
    assert shown.host.evaluate(inside)
    assert colour(shown.canvas("map"), 1, 0.15, 0.3) == REQUESTS[1].fill
    faint = [word for word, ink, behind in shown.host.evaluate(LIGHTNESS) if word.strip() and abs(ink - behind) < 0.25]
    assert faint == []


@pytest.mark.parametrize(
    ("source", "panel"), [(PYTHON, PANEL), (SCRIPT, PANEL), (OPENS, BUSY)], ids=["python", "script", "opens"]
)
def test_ten_thousand_commands_of_one_cell_are_followed_with_ten_messages_a_second(
    watched: NotebookPage, messages: Messages, source: str, panel: int
) -> None:
    board(watched, panel if panel == PANEL else PANEL)
    watched.page.evaluate(WATCH, panel)
    messages.all.clear()
    begin(watched, BUSY, source)
    watched.cell(BUSY).locator(".jp-OutputArea-output[data-mime-type*=stdout]").wait_for()
    steps, digest = watched.cell(BUSY).locator(".jp-OutputArea-output[data-mime-type*=stdout]").inner_text().split()
    shown = board(watched, panel).at(int(steps))
    assert digest in shown.text("step"), "the last state is what is shown in the end"
    while_it_ran = {numbers(text)[0] for text, status in watched.page.evaluate("window.seen") if status == "busy"}
    assert len(while_it_ran - {int(steps)}) >= 3, "and before that, what happened meanwhile"
    ready(watched)
    shown.timeline(int(steps))
    assert len(messages.comms()) > 5
    assert messages.most_in_a_second() <= 10


def test_a_command_after_all_that_is_shown_at_once(watched: NotebookPage) -> None:
    before = int(do(watched, BUSY, f"print(len({LAB}.journal))"))
    do(watched, BUSY, "%kvpool admit last HELLO;\n%kvpool dashboard")
    shown = board(watched, BUSY).at(before + 1)
    assert shown.text("says").startswith("last: 5 tokens")
    assert "last: 5 tokens" in shown.tells("requests")
