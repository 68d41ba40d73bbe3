from __future__ import annotations

from pathlib import Path

import pytest
from command_lines import run

from kvnb.commands.complete import complete
from kvnb.commands.table import VERBS
from kvnb.session import Session


@pytest.fixture
def busy(session: Session) -> Session:
    """Two pools; in the one in use two requests run and one is preempted."""
    run(session, "new 11", "new 40 --name 'second pool'", "admit r0 ABCDEFGH", "admit 'my req' ABCDEFGHIJKL", "admit paused AB")
    run(session, "preempt paused", "use pool", "admit only ABCDE", "use 'second pool'")
    return session


def fits(session: Session, line: str) -> list[str]:
    return [candidate.text for candidate in complete(session, line)[1]]


def kinds(session: Session, line: str) -> set[str]:
    return {candidate.kind for candidate in complete(session, line)[1]}


def test_a_line_begins_with_a_verb(session: Session) -> None:
    assert fits(session, "") == list(VERBS)
    assert fits(session, "re") == ["release", "reset", "reweight", "replay"]
    assert fits(session, "xyz") == []
    assert kinds(session, "") == {"verb"}


@pytest.mark.parametrize("verb", VERBS.values(), ids=list(VERBS))
def test_a_hyphen_brings_every_option_of_the_verb(busy: Session, verb: object) -> None:
    name, options = verb.name, verb.options  # type: ignore[attr-defined]
    assert fits(busy, f"{name} -") == [*options, "--help"]
    assert kinds(busy, f"{name} -") == {"option"}


def test_an_option_is_not_offered_twice(session: Session) -> None:
    assert fits(session, "new 11 --free-to back --free") == ["--free-order"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("release ", ["r0", "'my req'", "paused"]),
        ("release r0 ", ["'my req'", "paused"]),
        ("release 'my req' ", ["r0", "paused"]),
        ("release 'my", ["'my req'"]),
        ("release 'my r", ["'my req'"]),
        ('release "my r', ["'my req'"]),
        ("release my", ["'my req'"]),
        ("append ", ["r0", "'my req'"]),
        ("corrupt 'my req' ", ["1", "2", "3"]),
        ("corrupt nobody ", ["--with", "--pool", "--help"]),
        ("new 5 --model smo", ["smollm2"]),
        ("new 5 --tokenizer by", ["bytes"]),
        ("preempt p", []),
        ("admit ", ["paused"]),
        ("show request ", ["r0", "'my req'", "paused"]),
        ("release --pool pool ", ["only"]),
        ("release --pool 'second pool' ", ["r0", "'my req'", "paused"]),
        ("release --pool nowhere r", []),
        ("use ", ["pool", "'second pool'"]),
        ("close 's", ["'second pool'"]),
        ("usage --pool ", ["pool", "'second pool'"]),
        ("evict ", ["1", "2", "3"]),
        ("evict 1 ", ["2", "3"]),
        ("show block ", ["1", "2", "3"]),
        ("show ", ["state", "blocks", "queue", "tables", "map", "diagram", "block", "request"]),
        ("show q", ["queue"]),
        ("log ", ["steps", "events"]),
        ("new 11 --free-to ", ["front-back", "back"]),
        ("new 11 --free-order f", ["forward"]),
        ("new 11 --device ", ["auto", "cpu", "cuda", "mps", "none"]),
        ("reset ", ["--pool", "--help"]),
        ("new ", [*VERBS["new"].options, "--help"]),
        ("nothing ", []),
        ("admit r9 tex", []),
    ],
)
def test_what_fits_depends_on_the_verb_and_the_place(busy: Session, line: str, expected: list[str]) -> None:
    assert fits(busy, line) == expected


@pytest.mark.parametrize(
    ("name", "typed"),
    [("it's", "'it'\"'\"'s'"), ("$x", "'$x'"), ("-x", "'-x'"), ("{x}", "'{x}'"), ("a;", "'a;'"), ("<b>", "'<b>'"), ("é", "'é'")],
)
def test_an_offered_name_works_as_it_is_offered(session: Session, name: str, typed: str) -> None:
    run(session, "new 11", "admit $name A", name=name)
    assert fits(session, "release ") == [typed]
    run(session, f"release {typed}")
    assert session.lab().requests == ()


def test_files_are_offered_folder_by_folder(session: Session) -> None:
    Path("my dir").mkdir()
    for file in ("run.jsonl", "my dir/a b.jsonl", ".hidden"):
        Path(file).touch()
    assert fits(session, "load ") == ["'my dir/'", "run.jsonl"]
    assert fits(session, "load r") == ["run.jsonl"]
    assert fits(session, "load .h") == [".hidden"]
    assert fits(session, "load 'my dir/") == ["'my dir/a b.jsonl'"]
    assert fits(session, "load nowhere/x") == []
    assert fits(session, "new 11 --log run") == ["run.jsonl"]
    assert fits(session, "admit r0 --file r") == ["run.jsonl"]
    assert kinds(session, "load ") == {"file"}


def test_files_at_home_are_offered_behind_a_tilde(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("home").mkdir()
    Path("home/run.jsonl").touch()
    monkeypatch.setenv("HOME", str(Path("home").resolve()))
    assert fits(session, "load ~/r") == ["~/run.jsonl"]


def test_the_fragment_is_the_part_that_a_candidate_takes_the_place_of(busy: Session) -> None:
    assert complete(busy, "release 'my r")[0] == "'my r"
    assert complete(busy, "release r0 ")[0] == ""
    assert complete(busy, "sh")[0] == "sh"


def test_without_a_pool_verbs_and_options_are_still_offered(session: Session) -> None:
    assert fits(session, "release ") == ["--all", "--pool", "--help"]
    assert "show" in fits(session, "s")


def test_many_blocks_give_a_short_list(session: Session) -> None:
    run(session, "new 300", f"admit r0 {'A' * 1000}")
    assert len(fits(session, "evict ")) == 100
