"""What verification says, as text."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import seed_lab
from made_notebooks import MadeNotebook

from kvnb import Lab
from kvnb.core.events import Front, Took
from kvnb.journal import Journal, jsonl, replay
from kvnb.journal.verification import verify_file
from kvnb.manager.command import Command
from kvnb.manager.events import Extended, Looked, RequestIs, Tokens
from kvnb.views.verdicts import verdict_text, verification_text


def forged(lab: Lab, number: int, command: Command, *events: object) -> Journal:
    """The journal with another step in this place and right digests, as somebody who knows the format makes it."""
    journal = Journal(lab.behaviour, lab.name)
    for step in lab.journal.steps:
        is_it = step.number == number
        journal.steps.append(journal.next_step(command if is_it else step.command, events if is_it else step.events))  # type: ignore[arg-type]
    return journal


def verdict(journal: Journal) -> str:
    return verdict_text(journal, replay.verify(journal), "it")


def test_a_journal_that_holds_says_so_in_one_line() -> None:
    lab = seed_lab()
    assert verdict(lab.journal) == f"it verifies: 6 steps done again give the same events, digest {lab.digest[:12]}"


def test_the_first_difference_shows_both_states() -> None:
    lab = Lab(5, block_size=4, device="none")
    lab.admit("a", "ABCDE")
    swapped = {Took: Took((2, 1)), Extended: Extended("a", (2, 1))}
    events = [swapped.get(type(event), event) for event in lab.journal.steps[0].events]
    assert verdict(forged(lab, 1, lab.journal.steps[0].command, *events)).split("\n") == [
        "it does NOT verify: the events differ at step 1 (admit a ABCDE)",
        "  recorded  Took(ids=(2, 1))",
        "  recorded  Extended(name='a', ids=(2, 1))",
        "  computed  Took(ids=(1, 2))",
        "  computed  Extended(name='a', ids=(1, 2))",
        "  the state as recorded:",
        "    pool: 5 blocks of 4 tokens, step 1",
        "      usage 0.50 = 1 - 2/4 free; cached 1 blocks, 0 of them free; free and empty 2",
        "      a: 5 tokens, running, block table [2 1]",
        "      free queue (front first, * = cached): 3 4",
        "  the state as computed now:",
        "    pool: 5 blocks of 4 tokens, step 1",
        "      usage 0.50 = 1 - 2/4 free; cached 1 blocks, 0 of them free; free and empty 2",
        "      a: 5 tokens, running, block table [1 2]",
        "      free queue (front first, * = cached): 3 4",
    ]


def test_a_step_that_is_refused_now_has_one_state(tmp_path: Path) -> None:
    journal = forged(seed_lab(2), 2, Command("release", {"names": ["nobody"]}), Took((7,)))
    says = verdict(journal)
    assert "step 2 (release nobody) cannot be run again: no request nobody" in says
    assert "the state as computed now: there is none" in says


@pytest.mark.parametrize(
    "command",
    [Command("release", {"names": 3}), Command("admit", {}), Command("\x1b[31m", {"name": "\n"}), Command(5, {})],  # type: ignore[arg-type]
)
def test_a_step_that_is_no_command_is_shown_without_being_obeyed(command: Command) -> None:
    says = verdict(forged(seed_lab(2), 2, command, Took((99,)), Took(("x",))))  # type: ignore[arg-type]
    assert "it does NOT verify" in says
    assert says.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    "event",
    [
        Front((2, 2)), Front((99,)), Front(("x",)), Tokens("r1", {}, 1, 1), Tokens("r1", 9, 1, "\x1b"),  # type: ignore[arg-type]
        RequestIs("r1", "run\x1b[31m"), Took((-1,)), Looked("r1", 1e308, "x", False),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_events_that_no_pool_makes_are_shown_and_the_text_comes_to_an_end(event: object) -> None:
    lab = seed_lab(2)
    says = verdict(forged(lab, 2, lab.journal.steps[1].command, *lab.journal.steps[1].events, event))
    assert "the events differ at step 2" in says
    assert says.replace("\n", "").isprintable()


def test_a_notebook_tells_of_each_journal_and_of_what_is_odd(tmp_path: Path) -> None:
    notebook = MadeNotebook("%kvpool new 11", "%kvpool admit r0 ABC", "%kvpool release r0", "%kvpool new 5 --name b")
    digest = notebook.session.lab("pool").digest[:12]
    path = notebook.save(tmp_path / "lesson.ipynb")
    first, *rest = verification_text(verify_file(path), "lesson.ipynb").split("\n")
    assert first == "lesson.ipynb verifies: 2 steps of 2 pools done again give the same events"
    assert rest[0] == f"  pool#1: 2 steps in cells [1] [2] [3], digest {digest}"
    assert rest[1].startswith("  b#2: 0 steps in cell [4], digest ")
    notebook.records(1)[0]["steps"][0]["events"][0][1] = "r\x1b"
    says = verification_text(verify_file(notebook.save(path)), "lesson.ipynb")
    assert says.split("\n")[:2] == [
        "lesson.ipynb does NOT verify:",
        "  cell 2 [2]: the digest chain breaks at step 1, what stands there was changed",
    ]
    assert f"  pool#1: 2 steps in cells [1] [2] [3], digest {digest}, does NOT verify" in says
    assert "    the events differ at step 1 (admit r0 ABC)" in says
    assert says.replace("\n", "").isprintable()


def test_an_unfinished_line_of_a_log_is_said(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    jsonl.save(seed_lab().journal, path)
    path.write_bytes(path.read_bytes() + b'{"step":7')
    found = verify_file(path)
    assert found.holds
    assert verification_text(found, "it").split("\n")[1] == "  an unfinished line at its end (9 bytes) was left out"
