from __future__ import annotations

import pytest
from helpers import do, engine, failing, queue_ids

from kvnb.errors import CommandError, NeverFits, OutOfBlocks, RequestError, UnknownName
from kvnb.manager.engine import EngineCore


def tables(core: EngineCore) -> dict[str, tuple[int, ...]]:
    return core.scheduler.kv_cache_manager.tables()


def queue(core: EngineCore) -> list[int]:
    return queue_ids(core.scheduler.kv_cache_manager.block_pool)


def cached(core: EngineCore) -> list[int]:
    return [block.block_id for block in core.scheduler.kv_cache_manager.block_pool.blocks if block.block_hash]


def test_a_prompt_takes_as_many_blocks_as_its_tokens_need() -> None:
    core = engine()
    do(core, "admit", name="r0", text="ABCDEFGHIJKLMNO")
    assert tables(core) == {"r0": (1, 2, 3, 4)}
    assert cached(core) == [1, 2, 3]


def test_a_prompt_shorter_than_a_block_shares_nothing() -> None:
    core = engine()
    do(core, "admit", name="a", text="ABC")
    do(core, "admit", name="b", text="ABC")
    assert tables(core) == {"a": (1,), "b": (2,)}


def test_a_prompt_that_begins_alike_shares_the_full_blocks() -> None:
    core = engine()
    do(core, "admit", name="r0", text="ABCDEFGHIJKLMNO")
    do(core, "admit", name="r1", text="ABCDEFGHIJxxxx")
    assert tables(core)["r1"] == (1, 2, 5, 6)


def test_the_same_prompt_of_whole_blocks_recomputes_its_last_block() -> None:
    core = engine()
    do(core, "admit", name="a", text="ABCDEFGH")
    do(core, "admit", name="b", text="ABCDEFGH")
    assert tables(core) == {"a": (1, 2), "b": (1, 3)}
    assert cached(core) == [1, 2, 3]


def test_with_full_hit_the_same_prompt_needs_no_new_block() -> None:
    core = engine(full_hit=True)
    do(core, "admit", name="a", text="ABCDEFGH")
    do(core, "admit", name="b", text="ABCDEFGH")
    assert tables(core) == {"a": (1, 2), "b": (1, 2)}


def test_without_prefix_caching_every_lookup_misses() -> None:
    core = engine(prefix_caching=False)
    do(core, "admit", name="a", text="ABCDEFGHI")
    do(core, "admit", name="b", text="ABCDEFGHI")
    assert tables(core) == {"a": (1, 2, 3), "b": (4, 5, 6)}
    assert cached(core) == []


def test_tokens_and_their_text_are_the_same_prompt() -> None:
    core = engine()
    do(core, "admit", name="a", text="ABCDE")
    do(core, "admit", name="b", tokens=[65, 66, 67, 68, 69])
    assert tables(core)["b"] == (1, 3)


def test_a_preempted_request_resumes_with_what_is_still_cached() -> None:
    core = engine()
    do(core, "admit", name="a", text="ABCDEFGHI")
    do(core, "preempt", name="a")
    assert queue(core)[0] == 3
    do(core, "admit", name="a")
    assert tables(core) == {"a": (1, 2, 3)}
    assert core.scheduler.requests["a"].num_preemptions == 1


def test_a_resumed_request_looks_up_what_it_generated_too() -> None:
    core = engine()
    do(core, "admit", name="a", text="ABCDEF")
    do(core, "append", name="a", text="GHI")
    do(core, "preempt", name="a")
    do(core, "admit", name="a")
    assert tables(core) == {"a": (1, 2, 3)}
    assert failing(core.scheduler.check()) == []


def test_a_name_that_was_released_may_be_used_again() -> None:
    core = engine()
    do(core, "admit", name="a", text="ABC")
    do(core, "release", names=["a"])
    do(core, "admit", name="a", text="XYZ")
    assert tables(core) == {"a": (1,)}


def test_a_name_that_is_used_again_has_its_blocks_hashed_again() -> None:
    core = engine()
    do(core, "admit", name="a", text="ABCDEFGH")
    do(core, "release", names=["a"])
    do(core, "admit", name="a", text="abcdefgh")
    assert set(tables(core)["a"]) <= set(cached(core))


def refused(core: EngineCore, kind: type[Exception], verb: str, **args: object) -> str:
    """The error line; nothing may have changed."""
    before = (tables(core), queue(core), cached(core))
    with pytest.raises(kind) as caught:
        do(core, verb, **args)
    assert (tables(core), queue(core), cached(core)) == before
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_too_few_free_blocks_name_what_can_be_released() -> None:
    core = engine(num_blocks=8)
    do(core, "admit", name="r1", text="ABCDEFGHI")
    do(core, "admit", name="r2", text="abcdefg")
    line = refused(core, OutOfBlocks, "admit", name="r3", text="123456789")
    assert "r3 needs 3 blocks, 2 free: release or preempt one of r1, r2" in line


def test_at_most_five_requests_are_named() -> None:
    core = engine(num_blocks=8, block_size=1)
    for name in "abcdefg":
        do(core, "admit", name=name, text=name)
    line = refused(core, OutOfBlocks, "admit", name="x", text="x")
    assert line.endswith("release or preempt one of a, b, c, d, e and 2 more")


def test_hits_that_lie_in_the_queue_cannot_be_handed_out_as_new_blocks() -> None:
    core = engine(num_blocks=6)
    do(core, "admit", name="other", text="zz")
    do(core, "admit", name="a", text="ABCDEFGH")
    do(core, "release", names=["a"])
    line = refused(core, OutOfBlocks, "admit", name="b", text="ABCDEFGHIJKLMNOPQ")
    assert "b needs 3 blocks, 4 free (2 of them its own cache hits): release or preempt one of other" in line


def test_a_prompt_larger_than_the_pool_can_never_fit() -> None:
    line = refused(engine(), NeverFits, "admit", name="a", tokens=[1] * 45)
    assert line == "a needs 12 blocks, the pool has 10: can never fit, make a pool of 13 or more"


def test_a_pool_of_block_0_alone_fits_nothing() -> None:
    assert "the pool has 0: can never fit" in refused(engine(num_blocks=1), NeverFits, "admit", name="a", text="A")


def test_a_running_name_cannot_be_admitted_again() -> None:
    core = engine()
    do(core, "admit", name="a", text="ABC")
    assert "a is already running: append to it, or release it first" in refused(core, RequestError, "admit", name="a", text="X")


def test_a_preempted_name_is_resumed_and_not_admitted_with_a_new_text() -> None:
    core = engine()
    do(core, "admit", name="a", text="ABC")
    do(core, "preempt", name="a")
    assert "a is already preempted: admit it without a text" in refused(core, RequestError, "admit", name="a", text="X")


def test_a_running_request_is_not_resumed() -> None:
    core = engine()
    do(core, "admit", name="a", text="ABC")
    assert "a is running: only a preempted request is resumed" in refused(core, RequestError, "admit", name="a")


def test_an_unknown_name_is_not_resumed() -> None:
    core = engine()
    do(core, "admit", name="request", text="ABC")
    assert "no request requst: did you mean request?" in refused(core, UnknownName, "admit", name="requst")


def test_an_empty_prompt_is_refused() -> None:
    assert "a has an empty prompt: give at least one token" in refused(engine(), RequestError, "admit", name="a", text="")


def test_an_unknown_command_is_refused_with_the_nearest() -> None:
    assert "unknown command 'admt': did you mean admit?" in refused(engine(), CommandError, "admt", name="a")
