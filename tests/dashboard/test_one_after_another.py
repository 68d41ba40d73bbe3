"""A dashboard that goes on to another pool leaves nothing of the former; and what comes just when something else is done."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from dashboard_turns import Turns
from helpers import needs, seed_lab

from kvnb import Lab
from kvnb.commands import panels
from kvnb.commands.panels import Clicks, close_resting, dashboard, dashboard_verb, dock_verb
from kvnb.errors import MissingPackage
from kvnb.journal import State
from kvnb.session import Session
from kvnb.views.dashboard.feed import Feed
from kvnb.views.dashboard.lines import Fields

needs("anywidget")
from kvnb.views.dashboard.dashboard import Dashboard  # noqa: E402


@pytest.fixture(autouse=True)
def _live(live: None) -> Iterator[None]:
    yield
    close_resting()


def opened(lab: Lab, turns: Turns, which: str = "") -> Dashboard:
    session = Session()
    session.labs[lab.name], session.current = lab, lab.name
    return Dashboard(lab.journal, Clicks(session, lab), which=which, by=turns, drawn_by=turns)


def mark(shown: Any) -> str:
    return str(shown._repr_mimebundle_()["text/html"].split('"')[1])


def test_now_and_the_right_end_of_the_slider_are_the_present_though_the_slider_is_behind() -> None:
    lab, turns = seed_lab(4), Turns()
    panel = opened(lab, turns)
    panel.travel(1)
    turns.tick()
    lab.admit("r9", "abc")
    panel.controls.now.click()
    assert panel.step is None, "as when it is clicked during a cell, and heard at its end"
    panel.controls.slider.value = 2
    assert panel.step == 2
    panel.controls.slider.value = panel.controls.slider.max
    assert panel.step is None
    panel.close()


def test_what_is_typed_into_the_fields_is_not_for_the_next_pool() -> None:
    one, other = seed_lab(1), Lab(11, block_size=4, device="none", name="other")
    controls = dashboard(one).value.controls
    controls.name.value, controls.text.value, controls.count.value = "r7", "a secret", 77
    dashboard(one, close=True)
    assert dashboard(other).value.controls.fields == Fields("", "", 1)
    dashboard(other, close=True)


def test_an_old_result_shown_again_does_not_take_the_dashboard_of_another_pool() -> None:
    one, other = seed_lab(1), Lab(11, block_size=4, device="none", name="other")
    old = dashboard(one)
    mark(old)
    dashboard(one, close=True)
    new = dashboard(other)
    assert new.value is old.value
    place = mark(new)
    assert old._repr_mimebundle_()["text/plain"].startswith("pool: 11 blocks of 4 tokens, step 1")
    assert new.value.board.place == place
    dashboard(other, close=True)


def test_a_file_and_a_pool_named_after_it_have_a_dashboard_each(tmp_path: Path) -> None:
    session, path = Session(), seed_lab(2).save(tmp_path / "run.jsonl")
    session.new(11, name=f"file {path}", device="none")
    of_pool, of_file = dashboard_verb(session), dashboard_verb(session, str(path))
    again = dashboard_verb(session, str(tmp_path / "." / "run.jsonl"))
    assert of_pool.value is not of_file.value
    assert of_file.value.driver is None
    assert again.value is of_file.value
    session.close_all()


def test_a_side_panel_that_cannot_be_leaves_no_dashboard_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session()
    session.new(11, device="none")
    monkeypatch.setattr(panels, "find_spec", lambda name: None)
    with pytest.raises(MissingPackage, match="sidecar"):
        dock_verb(session)
    assert session.panels == {}


def test_a_name_that_no_message_can_carry_is_not_offered() -> None:
    lab, turns = Lab(11, block_size=4, device="none"), Turns()
    lab.admit("\ud800", "abc")
    lab.admit("r1", "abc")
    panel = opened(lab, turns)
    turns.tick()
    assert panel.controls.name.options == ("r1",)
    panel.close()


def test_a_timeline_that_is_chosen_just_as_another_begins_is_drawn_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    lab, turns = seed_lab(2), Turns()
    panel = opened(lab, turns, which="usage")
    turns.tick()
    wait, pace = panel.timeline._pace.wait, panel.timeline._pace

    def meanwhile(now: float, crowd: int) -> float | None:
        monkeypatch.setattr(pace, "wait", wait)
        waits = wait(now, crowd)
        panel.timeline.choose("queue")
        return waits

    lab.release("r0")
    monkeypatch.setattr(pace, "wait", meanwhile)
    turns.tick()
    turns.tick()
    assert json.loads(panel.board.figure)["which"] == "queue"
    panel.close()


def test_what_a_cell_does_while_a_click_runs_on_another_thread_is_not_clicked() -> None:
    lab = seed_lab(0)
    with lab.clicked():
        lab.admit("clicked", "abc")
        cell = Thread(target=lab.admit, args=("typed", "abc"))
        cell.start()
        cell.join()
    assert [step.origin for step in lab.journal.steps] == [{"clicked": True}, None]


def test_the_requests_of_a_pool_that_was_there_before_its_dashboard_are_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    lab, turns, woken = seed_lab(1), Turns(), list[bool]()
    panel = opened(Lab(11, block_size=4, device="none"), turns)
    turns.tick()
    monkeypatch.setattr(turns, "wake", lambda: woken.append(True))
    panel.timeline.close()
    panel.follow(lab.journal, panel.driver)
    assert woken
    turns.tick()
    assert panel.controls.name.options == ("r0",)
    turns.add(panel.timeline)
    panel.close()


@pytest.mark.parametrize("at", range(1, 11))
def test_news_that_are_interrupted_are_told_in_full_the_next_time(at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lab, turns, applied = seed_lab(1), Turns(), list[Any]()
    panel = opened(lab, turns)
    lab.admit("q", "z" * 13)
    lab.release("q")
    apply = State.apply

    def cut(state: State, event: Any) -> None:
        applied.append(event)
        if len(applied) == at:
            monkeypatch.undo()
            raise KeyboardInterrupt
        apply(state, event)

    monkeypatch.setattr(State, "apply", cut)
    with pytest.raises(KeyboardInterrupt):
        panel._heard({"hello": 1})
    turns.tick()
    assert (panel.feed.state.columns(), panel.feed.state.counters) == (lab.state.columns(), lab.state.counters)
    assert not panel.feed.behind
    panel.close()


def test_a_dashboard_whose_turn_to_another_pool_is_interrupted_stays_with_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    lab, other, turns = seed_lab(1), seed_lab(2), Turns()
    panel = opened(lab, turns)
    with monkeypatch.context() as patch:
        patch.setattr(Feed, "_see_all", interrupted)
        with pytest.raises(KeyboardInterrupt):
            panel.follow(other.journal, panel.driver)
    lab.release("r0")
    turns.tick()
    assert panel.board.facts["step"] == 2
    panel.follow(other.journal, panel.driver)
    assert (panel.board.facts["step"], lab.journal.listeners) == (2, [])
    panel.close()


def interrupted(*_: Any) -> None:
    raise KeyboardInterrupt
