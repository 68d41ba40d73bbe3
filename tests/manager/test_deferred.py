"""Scheduled is not computed: tokens that wait for a forward pass, and passes that fail."""

from __future__ import annotations

import pytest
from cores import assert_holds, hashes, refusal, starred, table
from helpers import do, engine

from kvnb.core.events import Unhashed
from kvnb.errors import CommandError, OutOfBlocks, RequestError
from kvnb.manager import Behaviour
from kvnb.manager.command import Command
from kvnb.manager.engine import EngineCore
from kvnb.manager.events import Computed, Deferred
from kvnb.manager.worker import Scheduled


def test_a_deferred_prompt_is_found_before_it_is_computed() -> None:
    core = engine()
    do(core, "admit", name="a", text="ABCDEFGH", defer=True)
    do(core, "admit", name="b", text="ABCDEFGHx", defer=True)
    assert table(core, "b")[:2] == table(core, "a") == (1, 2)
    assert core.scheduler.scheduled() == [Scheduled("a", 0, tuple(b"ABCDEFGH")), Scheduled("b", 8, tuple(b"x"))]


def test_a_step_computes_all_that_was_deferred_in_the_order_of_scheduling() -> None:
    events: list[object] = []
    core = EngineCore(Behaviour(num_blocks=11, block_size=4), events.append)
    do(core, "admit", name="a", text="ABC", defer=True)
    do(core, "admit", name="b", text="xy", defer=True)
    assert Deferred("a", 3) in events
    do(core, "step")
    assert events[-1] == Computed(("a", "b"), 5)
    assert core.scheduler.scheduled() == []


def test_the_next_command_that_computes_takes_what_was_deferred_along() -> None:
    core = engine()
    do(core, "admit", name="a", text="ABC", defer=True)
    do(core, "append", name="a", text="D", defer=True)
    command = Command("admit", {"name": "b", "text": "xy"})
    core.plan(command)()
    assert core.scheduled(command) == [Scheduled("a", 0, tuple(b"ABCD")), Scheduled("b", 0, tuple(b"xy"))]


def test_drafts_are_computed_with_their_request() -> None:
    core = engine()
    do(core, "admit", name="a", text="ABC")
    do(core, "append", name="a", text="D", draft={"text": "EF"}, defer=True)
    assert core.scheduler.scheduled() == [Scheduled("a", 3, tuple(b"DEF"), 2)]


def test_what_is_not_computed_cannot_be_released_preempted_or_judged() -> None:
    core = engine()
    do(core, "admit", name="a", text="ABC")
    do(core, "append", name="a", text="D", draft={"text": "EF"}, defer=True)
    for verb, args in {"release": {"names": ["a"]}, "preempt": {"name": "a"}, "accept": {"name": "a", "k": 1}}.items():
        assert refusal(core, RequestError, verb, **args) == "a has 3 tokens to be computed: step first"
    do(core, "step")
    do(core, "accept", name="a", k=1)


def test_a_step_with_nothing_to_compute_is_refused() -> None:
    core = engine()
    do(core, "admit", name="a", text="ABC")
    assert refusal(core, RequestError, "step").startswith("no token waits to be computed")


def test_a_failed_admission_leaves_no_hash_and_a_preempted_request() -> None:
    core = engine()
    do(core, "admit", name="a", text="ABCDEFGHI", fail=True)
    assert (hashes(core), core.scheduler.find("a").status) == ({}, "preempted")
    assert starred(core) == "3 2 1 4 5 6 7 8 9 10"
    assert_holds(core)
    do(core, "admit", name="a")
    assert core.scheduler.find("a").num_tokens == 9


def test_a_failed_append_keeps_the_blocks_that_were_computed_before() -> None:
    core = engine()
    do(core, "admit", name="a", text="ABCDEFG")
    do(core, "append", name="a", text="H", fail=True)
    assert list(hashes(core)) == [1]
    assert core.scheduler.find("a").token_ids == list(b"ABCDEFGH")


def test_a_failed_step_preempts_all_that_were_in_it_the_last_first() -> None:
    events: list[object] = []
    core = EngineCore(Behaviour(num_blocks=11, block_size=4), events.append)
    do(core, "admit", name="a", text="ABCDEFGH", defer=True)
    do(core, "admit", name="b", text="ABCDEFGHxxxx", defer=True)
    do(core, "admit", name="done", text="z")
    assert core.scheduler.waiting == {}
    do(core, "append", name="a", text="I", defer=True)
    do(core, "append", name="b", text="y", fail=True)
    preempted = [event.name for event in events if getattr(event, "state", "") == "preempted"]  # type: ignore[attr-defined]
    assert preempted == ["b", "a"]
    assert [event.why for event in events if isinstance(event, Unhashed)] == []
    assert len(hashes(core)) == 3


def test_a_shared_block_that_was_not_computed_loses_its_hash_once() -> None:
    events: list[object] = []
    core = EngineCore(Behaviour(num_blocks=11, block_size=4), events.append)
    do(core, "admit", name="a", text="ABCDEFGH", defer=True)
    do(core, "admit", name="b", text="ABCDEFGHxxxx", defer=True)
    do(core, "step", fail=True)
    assert [event for event in events if isinstance(event, Unhashed)] == [
        Unhashed((1, 2), "uncomputed"),
        Unhashed((3,), "uncomputed"),
    ]
    assert_holds(core)


def test_a_pass_that_is_put_off_cannot_fail() -> None:
    core = engine()
    assert "leave --defer or --fail out" in refusal(core, CommandError, "admit", name="a", text="A", defer=True, fail=True)


@pytest.mark.parametrize("verb", ["release", "evict", "reset"])
def test_a_command_without_a_pass_has_none_to_defer(verb: str) -> None:
    core = engine()
    assert "leave --defer or --fail out" in refusal(core, CommandError, verb, defer=True)


def test_decoding_under_a_window_needs_no_more_blocks_than_the_window() -> None:
    core = engine(num_blocks=5, block_size=2, sliding_window=4)
    do(core, "admit", name="a", text="ABC")
    core.scheduler.check_decode("a", 100)
    for _ in range(100):
        do(core, "append", name="a", text="x")


def test_decoding_that_will_run_out_of_blocks_is_refused_before_the_first_token() -> None:
    core = engine(num_blocks=5, block_size=2)
    do(core, "admit", name="a", text="ABC")
    do(core, "admit", name="b", text="x")
    core.scheduler.check_decode("a", 3)
    with pytest.raises(Exception, match="a needs 2 blocks, 1 free: release or preempt one of b"):
        core.scheduler.check_decode("a", 4)


def test_a_block_that_waits_to_be_written_does_not_leave_the_window() -> None:
    core = engine(num_blocks=9, block_size=4, sliding_window=4)
    do(core, "admit", name="a", text="ABCDEFGHIJKLMNOP", chunk=8, defer=True)
    do(core, "prefill", name="a", n=8, defer=True)
    assert table(core, "a") == (1, 2, 3, 4)
    do(core, "step")
    do(core, "append", name="a", text="Q")
    assert table(core, "a") == (0, 0, 0, 4, 5)


def test_blocks_that_only_a_step_frees_are_waited_for_not_despaired_of() -> None:
    core = engine(num_blocks=7, block_size=4, sliding_window=4)
    do(core, "admit", name="a", text="x" * 32, chunk=4, defer=True)
    for _ in range(5):
        do(core, "prefill", name="a", n=4, defer=True)
    assert (
        refusal(core, OutOfBlocks, "prefill", name="a", n=4)
        == "a needs 1 block, 0 free: step first, then blocks leave its window"
    )
    do(core, "step")
    do(core, "prefill", name="a", n=4)


def test_decoding_for_ever_under_a_window_is_judged_at_once() -> None:
    core = engine(num_blocks=5, block_size=2, sliding_window=4)
    do(core, "admit", name="a", text="ABC")
    core.scheduler.check_decode("a", 10**12)
