from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from command_lines import refusal, run

from kvnb import Lab
from kvnb.journal import jsonl
from kvnb.journal.log_file import LogFile
from kvnb.session import Session


def names_of(session: Session) -> list[str]:
    """The pools as ``list`` tells them, the one in use with a star."""
    return [("*" if row["current"] else "") + row["name"] for row in run(session, "list").value]


def test_the_newest_pool_is_in_use_and_use_and_close_change_that(session: Session) -> None:
    run(session, "new 11", "new 12 --name b", "new 13 --name 'a c'")
    assert names_of(session) == ["pool", "b", "*a c"]
    assert str(run(session, "use pool")).startswith("pool: 11 blocks of 4 tokens, step 0")
    assert names_of(session) == ["*pool", "b", "a c"]
    assert str(run(session, "close b")) == "b is closed, pool is in use"
    assert str(run(session, "close")) == "pool is closed, a c is in use"
    assert str(run(session, "close 'a c'")) == "a c is closed, no pool is left"
    assert str(run(session, "list")) == "no pool yet: make one with `new 11`"


def test_list_says_size_step_and_usage_of_each_pool(session: Session) -> None:
    run(session, "new 11 --log a.jsonl", "admit r0 ABCDEFGHIJKLMNO", "new 21 --block-size 16 --name big")
    assert str(run(session, "list")).splitlines() == [
        "  pool: 11 blocks of 4 tokens, step 1, usage 0.40",
        "* big: 21 blocks of 16 tokens, step 0, usage 0.00",
    ]
    assert run(session, "list").value[0]["log"] == "a.jsonl"


def test_new_replaces_the_pool_of_that_name_and_says_so(session: Session) -> None:
    assert "replaces" not in str(run(session, "new 11 --log a.jsonl"))
    old = session.lab()
    says = str(run(session, "admit r0 ABC", "new 12"))
    assert "it replaces pool, a pool of 1 step, which is closed" in says
    assert names_of(session) == ["*pool"]
    assert old.log_path is None
    assert session.lab() is not old


def test_new_says_what_a_newcomer_has_to_know(session: Session) -> None:
    says = str(run(session, "new 11"))
    assert "block 0 is the null block, 10 blocks can be used" in says
    assert "vLLM's default is 16" in says
    assert "vLLM's default" not in str(run(session, "new 11 --block-size 16"))


def test_a_pool_has_the_settings_that_its_line_names(session: Session) -> None:
    lab = run(
        session, "new 11 --no-prefix-caching --free-to back --free-order forward --full-hit --tokenizer bytes --device none"
    ).value
    assert isinstance(lab, Lab)
    behaviour = lab.behaviour
    assert (behaviour.prefix_caching, behaviour.free_to, behaviour.free_order) == (False, "back", "forward")
    assert (behaviour.full_hit, behaviour.tokenizer, behaviour.block_size) == (True, "bytes", 4)


def test_each_started_journal_has_its_own_id(session: Session) -> None:
    ids = [run(session, line).value.journal_id for line in ("new 11", "new 11 --name b", "new 11")]
    assert ids == ["pool#1", "b#2", "pool#3"]


@pytest.mark.parametrize("line", ["new 0 --log a.jsonl", "new 11 --tokenizer no.json --log a.jsonl", "new 11 --log no/a.jsonl"])
def test_a_refused_new_leaves_the_old_pool_with_its_log(session: Session, line: str) -> None:
    old = run(session, "new 11 --log a.jsonl").value
    run(session, "admit r0 ABCDE")
    refusal(session, line)
    assert_still_writes(session, old)


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_a_new_that_fails_after_it_began_the_log_leaves_the_old_pool_with_its_log(
    session: Session, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    old = run(session, "new 11 --log a.jsonl").value
    run(session, "admit r0 ABCDE")
    start = LogFile.start

    def torn(self: LogFile, journal: Any) -> None:
        monkeypatch.setattr(LogFile, "start", start)
        start(self, journal)
        raise error

    monkeypatch.setattr(LogFile, "start", torn)
    with pytest.raises((KeyboardInterrupt, OSError)):
        run(session, "new 20 --log a.jsonl")
    assert_still_writes(session, old)


def assert_still_writes(session: Session, old: Lab) -> None:
    assert session.lab() is old
    assert names_of(session) == ["*pool"]
    assert jsonl.read(Path("a.jsonl")).journal.digest == old.digest
    run(session, "admit again ABCDE")
    assert jsonl.read(Path("a.jsonl")).journal.digest == old.digest
    assert run(session, "verify a.jsonl").value.holds


class InterruptAfter:
    """Raises KeyboardInterrupt when kvnb has run this many lines."""

    def __init__(self, lines: int) -> None:
        self.left = lines

    def __call__(self, frame: FrameType, event: str, arg: Any) -> InterruptAfter | None:
        if "/kvnb/" not in frame.f_code.co_filename:
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self


# An interrupt between opening a file and its `with` leaves the file to the garbage collector, which warns.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("options", ["", "--log old{n}.jsonl", "--log new{n}.jsonl"])
def test_a_new_interrupted_anywhere_leaves_the_old_pool_or_the_new_one_whole(session: Session, options: str) -> None:
    run(session, "new 3 --name warm --log warm.jsonl", "close warm")
    for n in range(1, 2000):
        session.close_all()
        run(session, f"new 2 --device none --log old{n}.jsonl", "admit r0 A")
        finished = interrupted_after(n, lambda n=n: run(session, f"new 3 --device none {options.format(n=n)}"))
        lab = session.lab()
        assert names_of(session) == ["*pool"]
        assert not lab.log_path or jsonl.read(lab.log_path).journal.digest == lab.digest, f"interrupted after {n} lines"
        run(session, "admit r1 A" if lab.behaviour.num_blocks == 3 else "release r0")
        assert not lab.log_path or jsonl.read(lab.log_path).journal.digest == lab.digest, f"interrupted after {n} lines"
        if finished:
            return
    pytest.fail("new runs more lines than were tried")


def interrupted_after(lines: int, act: Callable[[], Any]) -> bool:
    """Whether ``act`` came to its end before kvnb had run that many lines."""
    before = sys.gettrace()
    sys.settrace(InterruptAfter(lines))
    try:
        act()
    except KeyboardInterrupt:
        return False
    finally:
        sys.settrace(before)
    return True
