"""A history is run again: it gives the same, or the first difference is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from helpers import seed_lab

from kvnb import Lab
from kvnb.core.events import Front, Took
from kvnb.errors import JournalError
from kvnb.journal import Journal, Step, jsonl
from kvnb.journal.events import Event
from kvnb.journal.replay import rebuild, replay, verify
from kvnb.manager.command import Command


def undone_lab() -> Lab:
    lab = seed_lab(4)
    lab.undo()
    lab.undo()
    lab.append("r1", "yy")
    lab.undo()
    lab.release("r0")
    return lab


def forged(journal: Journal, number: int, change: Callable[[Step], tuple[Command, list[Event]]]) -> Journal:
    """The journal with one step changed, and every digest from there on made right again."""
    again = Journal(journal.behaviour, journal.name)
    for step in journal.steps:
        command, events = change(step) if step.number == number else (step.command, list(step.events))
        again.steps.append(again.next_step(command, events, step.cell))
    return again


def test_a_true_history_holds() -> None:
    lab = seed_lab()
    verdict = lab.verify()
    assert (verdict.holds, verdict.steps, verdict.digest) == (True, 6, lab.digest)


def test_a_new_pool_holds_with_no_step() -> None:
    lab = Lab(5, device="none")
    assert lab.verify() == (0, lab.digest, None)


def test_a_history_with_undos_holds() -> None:
    lab = undone_lab()
    assert lab.verify() == (9, lab.digest, None)


def test_replay_gives_the_same_steps_with_undos_too() -> None:
    for lab in (seed_lab(), undone_lab()):
        assert list(replay(lab.journal)) == lab.journal.steps


def test_an_invented_event_is_named_by_its_step_with_both_sides() -> None:
    journal = forged(seed_lab().journal, 3, lambda step: (step.command, [*step.events, Front((9,))]))
    verdict = verify(journal)
    assert (verdict.holds, verdict.steps, verdict.digest) == (False, 2, journal.steps[1].digest)
    difference = verdict.difference
    assert difference is not None
    assert (difference.number, str(difference.command), difference.why) == (3, "release r0", "the events differ")
    assert difference.recorded == (*difference.computed, Front((9,)))


def test_a_changed_event_is_named_by_its_step() -> None:
    swap = lambda step: (step.command, [Took((9, 8, 7, 6)) if isinstance(e, Took) else e for e in step.events])  # noqa: E731
    verdict = verify(forged(seed_lab().journal, 1, swap))
    assert verdict.difference is not None
    assert verdict.difference.number == 1


def test_a_changed_command_is_named_by_its_step() -> None:
    change = lambda step: (Command("admit", {"name": "r1", "text": "something else"}), list(step.events))  # noqa: E731
    verdict = verify(forged(seed_lab().journal, 2, change))
    assert verdict.difference is not None
    assert (verdict.difference.number, verdict.steps) == (2, 1)


def test_a_command_that_is_refused_now_is_named_by_its_step() -> None:
    change = lambda step: (Command("release", {"names": ["nobody"]}), list(step.events))  # noqa: E731
    verdict = verify(forged(seed_lab().journal, 3, change))
    assert verdict.difference is not None
    assert verdict.difference.number == 3
    assert "step 3 (release nobody) cannot be run again: no request nobody" in verdict.difference.why


def test_a_false_digest_is_named_by_its_step() -> None:
    journal = seed_lab().journal
    journal.steps[4] = journal.steps[4]._replace(digest="00" * 32)
    verdict = verify(journal)
    assert verdict.difference is not None
    assert (verdict.difference.number, verdict.difference.why) == (5, "the digest differs")


def test_an_undo_with_a_false_target_is_named_by_its_step() -> None:
    journal = undone_lab().journal
    restored = journal.steps[4].events[0]
    verdict = verify(forged(journal, 5, lambda step: (step.command, [restored._replace(k=1)])))  # type: ignore[call-arg]
    assert verdict.difference is not None
    assert verdict.difference.number == 5


def test_a_forged_file_is_not_loaded_and_verification_finds_the_forgery(tmp_path: Path) -> None:
    journal = forged(seed_lab().journal, 3, lambda step: (step.command, [*step.events, Front((99,))]))
    jsonl.save(journal, path := tmp_path / "forged.jsonl")
    with pytest.raises(JournalError, match=r"step 3 \(release r0\) does not do what the journal says"):
        Lab.load(path)
    difference = verify(jsonl.read(path).journal).difference
    assert difference is not None
    assert (difference.number, difference.recorded[-1]) == (3, Front((99,)))


def test_a_rebuilt_engine_goes_on_telling_its_events() -> None:
    execution = rebuild(seed_lab(2).journal)
    execution.run(Command("release", {"names": ["r0"]}))
    assert execution.events == list(seed_lab(3).journal.steps[2].events)
