"""The dashboard's Python half: what a click does, what a journal's step makes it say. Pages are in tests/browser."""

from __future__ import annotations

import gc
import json
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from dashboard_pages import Page
from dashboard_turns import Turns
from helpers import needs, seed_lab, snapshot

from kvnb import Lab
from kvnb.commands.panels import DRAWN, Clicks, close_resting, dashboard
from kvnb.errors import KvnbError
from kvnb.journal import jsonl
from kvnb.session import Session
from kvnb.views.dashboard.feed import News

needs("anywidget")
from ipywidgets.widgets.widget import _instances  # noqa: E402

from kvnb.views.dashboard.dashboard import Dashboard  # noqa: E402


@pytest.fixture(autouse=True)
def _none_rests() -> Iterator[None]:
    yield
    close_resting()


@pytest.fixture
def turns() -> Turns:
    return Turns()


@pytest.fixture
def opened(turns: Turns) -> Iterator[Callable[..., Dashboard]]:
    """Opens dashboards of labs, as the verb does, and closes them in the end."""
    open_ones: list[Dashboard] = []

    def make(lab: Lab, which: str = "", **options: Any) -> Dashboard:
        session = Session()
        session.labs[lab.name], session.current = lab, lab.name
        panel = Dashboard(lab.journal, Clicks(session, lab), which=which, by=turns, drawn_by=turns, **options)
        open_ones.append(panel)
        return panel

    yield make
    for panel in open_ones:
        panel.close()


def news(panel: Dashboard) -> News:
    return News(panel.board.facts, panel.board.blocks, panel.board.queue)


def click(panel: Dashboard, verb: str, name: str = "", text: str = "", tokens: int = 1) -> dict[str, Any]:
    """Fill the fields in, click, and give what the board then says."""
    controls = panel.controls
    controls.name.value, controls.text.value, controls.count.value = name, text, tokens
    controls.buttons[verb].click()
    return dict(panel.board.clicks)


def test_the_board_follows_the_journal_step_by_step(turns: Turns, opened: Callable[..., Dashboard]) -> None:
    lab = seed_lab(1)
    panel = opened(lab)
    seen = Page(news(panel))
    assert panel.board.facts["says"] == ["r0: 15 tokens, 0 block(s) from cache, 4 new"]
    lab.release("r0")
    assert panel.board.facts["step"] == 1, "a command itself tells nobody: it is the ticker's turn"
    turns.tick()
    seen.take(news(panel))
    assert panel.board.facts["step"] == 2
    assert all(not block.colours for block in seen.blocks.values()), "every block is free again"


def test_clicks_are_the_commands_that_one_would_have_typed(opened: Callable[..., Dashboard]) -> None:
    lab, typed = Lab(11, block_size=4, device="none"), Lab(11, block_size=4, device="none")
    panel = opened(lab)
    click(panel, "admit", "r0", "ABCDEFGHIJKLMNO")
    click(panel, "admit", "<b>'\"", "ABCDE $x {y};")
    click(panel, "append", "r0", "P")
    click(panel, "preempt", "r0")
    click(panel, "release", "<b>'\"")
    click(panel, "undo")
    typed.admit("r0", "ABCDEFGHIJKLMNO")
    typed.admit("<b>'\"", "ABCDE $x {y};")
    typed.append("r0", "P")
    typed.preempt("r0")
    typed.release("<b>'\"")
    typed.undo()
    assert lab.digest == typed.digest
    assert [step.origin for step in lab.journal.steps] == [{"clicked": True}] * 6
    assert typed.journal.steps[0].origin is None


def test_a_click_that_is_refused_says_why_in_one_line_and_changes_nothing(opened: Callable[..., Dashboard]) -> None:
    lab = seed_lab(1)
    panel = opened(lab)
    before = snapshot(lab)
    said = click(panel, "admit", "r1", "x" * 100)
    assert said == {
        "said": "r1 needs 25 blocks, the pool has 10: can never fit, make a pool of 26 or more",
        "wrong": True,
        "cell": "",
    }
    assert click(panel, "reset")["wrong"]
    assert snapshot(lab) == before


def test_what_was_clicked_and_done_is_a_cell(opened: Callable[..., Dashboard]) -> None:
    panel = opened(Lab(11, block_size=4, device="none"))
    click(panel, "admit", text="a b")
    click(panel, "append", "nobody", "x")
    assert click(panel, "append", text="c")["cell"] == "%%kvpool\nadmit r0 'a b'\nappend r0 c"


def test_the_cell_names_the_pool_when_another_is_in_use(turns: Turns) -> None:
    session = Session()
    lab, _ = session.new(11, name="my pool", device="none")
    session.new(11, name="other", device="none")
    clicks = Clicks(session, lab)
    assert clicks.written("undo") == "undo --pool 'my pool'"
    assert clicks.run("admit r0 abc") == "r0: 3 tokens, 0 block(s) from cache, 1 new"
    assert (len(lab.journal), len(session.lab().journal)) == (1, 0)


def test_a_pool_without_memory_has_no_button_that_generates(opened: Callable[..., Dashboard]) -> None:
    assert opened(seed_lab(1)).controls.buttons["generate"].disabled
    panel = opened(Lab(11, block_size=4, device="cpu", name="computes"))
    click(panel, "admit", "r0", "ABC")
    assert click(panel, "generate", "r0", tokens=3)["said"].startswith("r0 generates 3 tokens")
    origins = [step.origin or {} for step in panel.journal.steps]
    assert [(origin.get("model"), origin.get("clicked")) for origin in origins] == [(None, True), *[("tiny", True)] * 3]


def test_the_slider_goes_to_the_past_and_a_command_does_not_throw_one_out_of_it(
    turns: Turns, opened: Callable[..., Dashboard]
) -> None:
    lab = seed_lab(4)
    panel = opened(lab)
    seen = Page(news(panel))
    panel.controls.slider.value = 2
    turns.tick()
    seen.take(news(panel))
    assert (panel.board.facts["step"], panel.board.facts["now"]) == (2, False)
    assert len(seen.blocks[1].colours) == 2, "shared after the second step"
    lab.admit("r9", "abc")
    turns.tick()
    assert (panel.board.facts["step"], panel.controls.slider.value, panel.controls.slider.max) == (2, 2, 5)
    panel.controls.now.click()
    turns.tick()
    seen.take(news(panel))
    assert (panel.board.facts["step"], panel.board.facts["now"], panel.controls.slider.value) == (5, True, 5)


def test_a_click_in_the_past_acts_on_the_present_and_shows_it(turns: Turns, opened: Callable[..., Dashboard]) -> None:
    lab = seed_lab(4)
    panel = opened(lab)
    panel.travel(1)
    turns.tick()
    click(panel, "admit", "r9", "abc")
    turns.tick()
    assert (panel.board.facts["step"], panel.board.facts["now"], panel.controls.slider.value) == (5, True, 5)


def test_a_page_that_missed_a_frame_gets_every_block(opened: Callable[..., Dashboard]) -> None:
    panel = opened(Lab(1000, block_size=4, device="none"))
    panel.board._handle_custom_msg({"hello": 1}, [])
    assert len(panel.board.blocks) == 16 + 2 * 1000


def test_the_page_asks_of_blocks_as_they_were_at_the_step_it_shows(
    turns: Turns, opened: Callable[..., Dashboard], monkeypatch: pytest.MonkeyPatch
) -> None:
    panel, sent = opened(seed_lab(4)), []
    monkeypatch.setattr(panel.board, "send", lambda content, buffers=None: sent.append(content))
    panel.travel(2)
    panel.board._handle_custom_msg({"ask": 1, "select": 1}, [])
    assert sent[0]["lines"][1] == "in the table of r0 and r1"
    assert panel.selected == 1


def test_the_timeline_is_drawn_again_when_the_journal_grew_and_not_without_need(
    turns: Turns, opened: Callable[..., Dashboard]
) -> None:
    lab = seed_lab(2)
    panel = opened(lab, which="usage")
    turns.tick()
    first = json.loads(panel.board.figure)
    assert (first["which"], first["until"], first["dark"]) == ("usage", 2, False)
    panel.board.figure = ""
    turns.tick()
    assert panel.board.figure == "", "nothing happened"
    lab.release("r0")
    turns.tick()
    assert json.loads(panel.board.figure)["until"] == 3
    panel.board._handle_custom_msg({"dark": True}, [])
    turns.tick()
    assert json.loads(panel.board.figure)["dark"]
    panel.controls.choose.value = ""
    turns.tick()
    assert json.loads(panel.board.figure) == {}


def test_a_step_long_past_has_its_own_stretch_of_the_timeline(turns: Turns, opened: Callable[..., Dashboard]) -> None:
    lab = Lab(11, block_size=4, device="none")
    for _ in range(400):
        lab.admit("r0", "abc")
        lab.release("r0")
    panel = opened(lab, which="queue")
    panel.travel(100)
    turns.tick()
    assert json.loads(panel.board.figure)["until"] == 160
    panel.travel(750)
    turns.tick()
    assert json.loads(panel.board.figure)["until"] == 800


def test_a_new_pool_of_the_name_is_shown_from_then_on(turns: Turns, opened: Callable[..., Dashboard]) -> None:
    old, new = seed_lab(4), seed_lab(1)
    panel = opened(old)
    before, driver = panel.board.pool, panel.driver
    panel.follow(new.journal, driver)
    assert panel.board.pool != before
    assert (panel.board.facts["steps"], panel.controls.slider.max) == (1, 1)
    old.admit("r9", "abc")
    turns.tick()
    assert panel.board.facts["steps"] == 1


def test_a_pool_that_is_held_is_driven_after_a_click_on_go_on_or_a_typed_command(
    turns: Turns, opened: Callable[..., Dashboard]
) -> None:
    for go_on in (lambda panel, lab: panel.controls.go_on.click(), lambda panel, lab: lab.release("r0")):
        lab = seed_lab(2)
        panel = opened(lab, held="loaded from a file")
        assert all(button.disabled for button in panel.controls.buttons.values())
        click(panel, "reset")
        assert len(lab.journal) == 2
        go_on(panel, lab)
        turns.tick()
        assert not panel.controls.buttons["admit"].disabled
        assert panel.board.facts["held"] == ""


def test_what_is_closed_leaves_no_widget_and_hears_nothing(turns: Turns, opened: Callable[..., Dashboard]) -> None:
    lab = seed_lab(2)
    before = set(_instances)
    panel = opened(lab, which="usage")
    assert len(_instances) > len(before) + 30
    panel.close()
    panel.close()
    assert set(_instances) == before
    assert lab.journal.listeners == []
    assert turns.panels == []


def test_without_anybody_who_looks_there_is_no_widget(tmp_path: Any) -> None:
    lab = seed_lab()
    before = set(_instances)
    shown = dashboard(lab)
    bundle = shown._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    assert bundle["text/plain"].startswith("pool: 11 blocks of 4 tokens, step 6")
    assert set(_instances) == before
    assert dashboard(jsonl.read(lab.save(tmp_path / "run.jsonl")).journal).text == shown.text


def test_from_python_a_lab_has_one_dashboard_and_lets_go_of_it(live: None) -> None:
    lab = seed_lab()
    before = set(_instances)
    first, second = dashboard(lab), dashboard(lab)
    assert first.value is second.value
    marks = [shown._repr_mimebundle_()["text/html"].split('"')[1] for shown in (first, second)]
    assert marks[0] != marks[1]
    assert first.value.board.place == marks[1], "the newest output has the board"
    dashboard(lab, close=True)
    one = seed_lab(1)
    other = dashboard(one)
    assert other.value is first.value, "what was closed is there for the next"
    assert other.value.board.facts["steps"] == 1
    dashboard(one, close=True)
    close_resting()
    assert set(_instances) == before
    gone = weakref.ref(lab)
    del lab, first, second, other
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(("blocks", "which"), [(DRAWN, "queue"), (DRAWN + 1, "usage")])
def test_a_small_pool_opens_with_its_queue_and_a_large_one_with_its_usage(blocks: int, which: str, live: None) -> None:
    lab = Lab(blocks, block_size=4, device="none")
    assert dashboard(lab).value.controls.choose.value == which
    dashboard(lab, close=True)


def test_a_click_on_a_pool_that_is_gone_says_so(opened: Callable[..., Dashboard]) -> None:
    session = Session()
    lab, _ = session.new(11, device="none")
    clicks = Clicks(session, lab)
    session.close()
    with pytest.raises(KvnbError, match="no pool"):
        clicks.run("undo")
