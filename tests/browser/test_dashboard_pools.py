"""Dashboards of several pools, of pools that come and go, of journals from files, and of 100,000 blocks, in JupyterLab."""

from __future__ import annotations

import pytest
from dashboards import LAB, Messages, ask, board, do
from helpers import ROOT
from jupyter_pages import NotebookPage, code
from test_block_map import colour

from kvnb.views.theme import REQUESTS

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PICTURES = ROOT / "build" / "screenshots"
FIRST, SECOND, SCRATCH = 2, 3, 4
CELLS = code(
    "%load_ext kvnb", "%kvpool new 11 --device none;", "%kvpool dashboard --pool pool", "%kvpool dashboard --pool second", ""
)


@pytest.fixture(scope="module")
def messages(looked_at: NotebookPage) -> Messages:
    return Messages(looked_at)


@pytest.fixture(scope="module")
def opened(looked_at: NotebookPage, messages: Messages) -> NotebookPage:
    looked_at.begin("pools.ipynb", CELLS, 0)
    return looked_at


def test_two_dashboards_of_two_pools_stay_apart(opened: NotebookPage, messages: Messages) -> None:
    do(opened, SCRATCH, "%kvpool new 11 --device none;\n%kvpool new 7 --name second --device none;")
    opened.run(FIRST, SECOND)
    first, second = board(opened, FIRST).at(0), board(opened, SECOND).at(0)
    assert first.click("admit", "mine", "HELLO").startswith("✓ mine: ")
    assert second.click("admit", "yours", "HELLO WORLD").startswith("✓ yours: ")
    assert first.at(1).tells("requests").startswith("Requests: mine: 5 tokens")
    assert second.at(1).tells("requests").startswith("Requests: yours: 11 tokens")
    assert first.host.locator("pre").text_content() == "%%kvpool\nadmit mine HELLO --pool pool"
    messages.all.clear()
    many = f"for i in range(1_500):\n    for name in ('pool', 'second'):\n        lab = {LAB[:-1]}name)\n"
    do(opened, SCRATCH, f"{many}        lab.admit(f'q{{i}}', 'HELLO'); lab.release(f'q{{i}}')")
    first.at(3_001), second.at(3_001)
    assert messages.most_in_a_second() <= 10, "together"


def test_a_new_pool_of_the_name_takes_over_the_open_dashboard(opened: NotebookPage) -> None:
    opened.run(1, FIRST)
    first = board(opened, FIRST).at(0)
    first.click("admit", "old", "HELLO")
    do(opened, SCRATCH, "%kvpool new 21 --device none;\n%kvpool admit young HELLO;")
    assert first.at(1).tells("map").startswith("Block map of 21 blocks: 2 used by one")
    assert first.tells("requests").startswith("Requests: young: 5 tokens")
    assert first.text("clicked") == ""
    assert not first.host.locator("pre").is_visible(), "what was clicked on the old pool is no cell for the new one"
    assert "21 blocks of 4 tokens" in first.host.inner_text()
    first.timeline(1)


WIDGETS = "len(__import__('ipywidgets').widgets.widget._instances)"


def test_closing_a_pool_takes_its_board_away(opened: NotebookPage) -> None:
    opened.run(1, FIRST)
    board(opened, FIRST).at(0)
    before = ask(opened, WIDGETS)
    do(opened, SCRATCH, "%kvpool close pool")
    opened.cell(FIRST).locator("canvas").first.wait_for(state="detached")
    assert "11 in all" in opened.output(FIRST)
    do(opened, SCRATCH, "%kvpool close second")
    assert ask(opened, WIDGETS) == before / 2, "one of the two waits for the next pool"


def test_a_journal_from_a_file_is_looked_through_and_a_loaded_pool_goes_on_when_one_says_so(opened: NotebookPage) -> None:
    opened.run(1)
    do(
        opened,
        SCRATCH,
        "%kvpool admit r0 ABCDEFGHIJKLMNO;\n%kvpool release r0;\n%kvpool save kept.jsonl --force\n%kvpool close pool",
    )
    do(opened, SCRATCH, "%kvpool dashboard kept.jsonl")
    shown = board(opened, SCRATCH).at(2).slid(2)
    assert "a journal file, to look through" in shown.text("step")
    assert all(
        shown.button(verb).is_disabled() for verb in ("admit", "append", "generate", "release", "preempt", "reset", "undo")
    )
    assert not shown.button("go on").is_visible()
    shown.slider.press("ArrowLeft")
    assert shown.at(1, " of 2, the past").tells("requests").startswith("Requests: r0: 15 tokens")
    do(opened, SCRATCH, "%kvpool load kept.jsonl;\n%kvpool dashboard")
    shown = board(opened, SCRATCH).at(2)
    assert "loaded from kept.jsonl, not driven yet" in shown.text("step")
    assert shown.button("admit").is_disabled()
    shown.button("go on").click()
    shown.button("go on").wait_for(state="hidden")
    assert shown.click("admit", "r1", "ABCDEFGH").startswith("✓ r1: 8 tokens, 1 block(s) from cache")
    assert "not driven" not in shown.at(3).text("step")
    do(opened, SCRATCH, "%kvpool load kept.jsonl --copy;\n%kvpool dashboard\n%kvpool admit r2 HELLO;")
    shown = board(opened, SCRATCH).at(3)
    assert shown.button("admit").is_enabled(), "a command goes on too"


def test_of_a_hundred_thousand_blocks_a_command_sends_those_that_it_changed(opened: NotebookPage, messages: Messages) -> None:
    do(
        opened,
        SCRATCH,
        f"""%kvpool new 100000 --name large --device none;
lab = {LAB}
lab.admit("a", tokens=range(160_000)); lab.admit("b", tokens=range(200_000, 240_000)); lab.release("a")
%kvpool dashboard""",
    )
    shown = board(opened, SCRATCH).at(3)
    shown.timeline(3, which="usage")
    assert "10,000 / 99,999 used" in shown.text("gauges")
    blocks = shown.canvas("map")
    assert colour(blocks, 45_000) == REQUESTS[1].fill
    assert REQUESTS[1].fill not in (colour(blocks, 30_000), colour(blocks, 90_000))
    # The ten thousands that just came back are marked so: the next message tells that they are no longer.
    admit = f"{LAB}.admit({{name!r}}, {{name!r}} * 24).step.number"
    ask(opened, admit.format(name="c"))
    shown.at(4)
    assert colour(blocks, 50_003) == REQUESTS[2].fill
    messages.all.clear()
    ask(opened, admit.format(name="d"))
    shown.at(5)
    drawn = [message for message in messages.comms() if "blocks" in message.state]
    assert len(drawn) == 1
    assert drawn[0].size < 8_000, "the few blocks, the ends of the queue, the figures"
    assert colour(blocks, 50_003) == REQUESTS[2].fill
    second = ask(opened, f"{LAB}.block_table('d')[-1]")
    assert colour(blocks, second) == REQUESTS[3].fill
    PICTURES.mkdir(parents=True, exist_ok=True)
    shown.timeline(5)
    opened.cell(SCRATCH).screenshot(path=PICTURES / "dashboard-100000.png")
    assert shown.click("release", "b").startswith("✓ b finishes: ")
    shown.at(6)
    assert colour(blocks, 45_000) != REQUESTS[1].fill
