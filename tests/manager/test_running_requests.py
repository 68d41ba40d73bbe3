from __future__ import annotations

import pytest
from helpers import do, engine, failing, queue_ids

from kvnb.errors import KvnbError, NeverFits, OutOfBlocks, RequestError, ResetRefused, UnknownName
from kvnb.manager.engine import EngineCore


def starred(core: EngineCore) -> str:
    """The queue as the seed prints it: ``4 5* 6``."""
    pool = core.scheduler.kv_cache_manager.block_pool
    return " ".join(f"{block_id}{'*' if pool.blocks[block_id].block_hash else ''}" for block_id in queue_ids(pool))


def table(core: EngineCore, name: str) -> tuple[int, ...]:
    return core.scheduler.kv_cache_manager.block_table(name)


def error(core: EngineCore, kind: type[KvnbError], verb: str, **args: object) -> str:
    """The error line; neither queue nor tables may have changed."""
    before = starred(core), core.scheduler.kv_cache_manager.tables()
    with pytest.raises(kind) as caught:
        do(core, verb, **args)
    assert (starred(core), core.scheduler.kv_cache_manager.tables()) == before
    return str(caught.value)


def running(text: str = "ABCDEFGHI", **settings: object) -> EngineCore:
    """Eleven blocks of 4 tokens, and request ``a``."""
    core = engine(**settings)  # type: ignore[arg-type]
    do(core, "admit", name="a", text=text)
    return core


def test_append_fills_the_last_block_before_it_takes_another() -> None:
    core = running("ABCDE")
    do(core, "append", name="a", text="FGH")
    assert table(core, "a") == (1, 2)
    do(core, "append", name="a", text="I")
    assert table(core, "a") == (1, 2, 3)


def test_a_block_that_becomes_full_by_append_can_be_hit() -> None:
    core = running("ABCDE")
    do(core, "append", name="a", text="FGH")
    do(core, "admit", name="b", text="ABCDEFGHI")
    assert table(core, "b") == (1, 2, 3)


def test_append_of_more_than_is_free_is_refused() -> None:
    core = running("ABCD", num_blocks=4)
    do(core, "admit", name="b", text="xxxx")
    assert "a needs 2 blocks, 1 free: release or preempt one of b" in error(core, OutOfBlocks, "append", name="a", text="EFGHI")
    assert core.scheduler.requests["a"].num_tokens == 4


def test_append_beyond_the_whole_pool_can_never_fit() -> None:
    core = running("ABCD", num_blocks=3)
    assert "a needs 3 blocks, the pool has 2: can never fit" in error(core, NeverFits, "append", name="a", text="EFGHI")


def test_append_of_nothing_is_refused() -> None:
    assert "nothing to append to a" in error(running(), RequestError, "append", name="a", text="")


def test_a_preempted_request_cannot_be_appended_to_or_preempted_again() -> None:
    core = running()
    do(core, "preempt", name="a")
    assert "a is preempted and cannot be appended to" in error(core, RequestError, "append", name="a", text="x")
    assert "a is preempted and cannot be preempted" in error(core, RequestError, "preempt", name="a")


@pytest.mark.parametrize(("verb", "args"), [("append", {"text": "x"}), ("preempt", {})])
def test_an_unknown_request_is_named_with_those_that_exist(verb: str, args: dict[str, str]) -> None:
    assert "no request zzz: there is a" in error(running(), UnknownName, verb, name="zzz", **args)


def test_release_puts_the_unhashed_block_in_front_and_the_deepest_hashed_one_first_in_line() -> None:
    core = running()
    do(core, "release", names=["a"])
    assert starred(core) == "3 4 5 6 7 8 9 10 2* 1*"


def test_with_free_order_forward_the_first_block_is_first_in_line() -> None:
    core = running(free_order="forward")
    do(core, "release", names=["a"])
    assert starred(core) == "3 4 5 6 7 8 9 10 1* 2*"


def test_with_free_to_back_the_unhashed_block_goes_to_the_back_too() -> None:
    core = running(free_to="back")
    do(core, "release", names=["a"])
    assert starred(core) == "4 5 6 7 8 9 10 3 2* 1*"


def test_blocks_that_another_request_shares_stay_with_it() -> None:
    core = running()
    do(core, "admit", name="b", text="ABCDx")
    do(core, "release", names=["a"])
    assert table(core, "b") == (1, 4)
    assert starred(core) == "3 5 6 7 8 9 10 2*"


def test_several_requests_are_released_in_the_order_given() -> None:
    core = running("A")
    do(core, "admit", name="b", text="B")
    do(core, "admit", name="c", text="C")
    do(core, "release", names=["b", "a"])
    assert starred(core).startswith("1 2 4")
    assert list(core.scheduler.requests) == ["c"]


def test_release_of_several_is_all_or_nothing() -> None:
    core = running()
    do(core, "admit", name="b", text="B")
    assert "no request x" in error(core, UnknownName, "release", names=["a", "b", "x"])
    assert "b is named twice" in error(core, RequestError, "release", names=["b", "a", "b"])
    assert list(core.scheduler.requests) == ["a", "b"]


def test_release_of_nobody_is_refused() -> None:
    assert "nothing to release" in error(running(), RequestError, "release", names=[])


def test_a_preempted_request_can_be_released() -> None:
    core = running()
    do(core, "preempt", name="a")
    do(core, "release", names=["a"])
    assert core.scheduler.requests == {}
    assert failing(core.scheduler.check()) == []


def test_preempt_takes_every_block_and_keeps_the_tokens() -> None:
    core = running()
    do(core, "preempt", name="a")
    assert table(core, "a") == ()
    assert starred(core) == "3 4 5 6 7 8 9 10 2* 1*"
    assert core.scheduler.requests["a"].num_tokens == 9


def test_an_evicted_used_block_is_not_hashed_again_and_goes_to_the_front_on_release() -> None:
    core = running()
    do(core, "evict", ids=[1])
    do(core, "append", name="a", text="JKLM")
    do(core, "release", names=["a"])
    assert starred(core) == "4 1 5 6 7 8 9 10 3* 2*"


def test_a_gap_in_the_chain_ends_a_lookup() -> None:
    core = running("ABCDEFGHIJKLM")
    do(core, "evict", ids=[2])
    do(core, "admit", name="b", text="ABCDEFGHIJKLM")
    assert table(core, "b")[0] == 1
    assert set(table(core, "b")) & {2, 3} == set()


def test_evict_of_an_uncached_block_changes_nothing() -> None:
    core = running()
    do(core, "evict", ids=[3, 9])
    assert failing(core.scheduler.check()) == []


def test_naming_a_block_twice_evicts_it_once() -> None:
    core = running()
    do(core, "evict", ids=[1, 1])
    assert failing(core.scheduler.check()) == []


@pytest.mark.parametrize(
    ("block_id", "line"),
    [
        (0, "block 0 is the null block and never cached: give ids from 1 to 10"),
        (11, "block 11 does not exist: give ids from 1 to 10"),
        (-1, "block -1 does not exist: give ids from 1 to 10"),
    ],
)
def test_evict_of_block_0_or_beyond_the_pool_evicts_none(block_id: int, line: str) -> None:
    core = running()
    assert line in error(core, UnknownName, "evict", ids=[1, block_id])
    assert core.scheduler.kv_cache_manager.block_pool.blocks[1].block_hash is not None


def test_evict_of_no_block_is_refused() -> None:
    assert "nothing to evict: give at least one block id" in error(running(), RequestError, "evict", ids=[])


def test_in_a_pool_of_block_0_alone_there_is_nothing_to_evict() -> None:
    assert "this pool has only block 0" in error(engine(num_blocks=1), UnknownName, "evict", ids=[1])


def test_reset_is_refused_while_a_request_holds_a_block() -> None:
    core = running()
    assert "3 blocks still in use: release or preempt a first" in error(core, ResetRefused, "reset")


def test_reset_drops_the_stars_and_keeps_the_order() -> None:
    core = running()
    do(core, "preempt", name="a")
    do(core, "reset")
    assert starred(core) == "3 4 5 6 7 8 9 10 2 1"


@pytest.mark.parametrize(
    ("verb", "args"),
    [
        ("admit", {"name": "b", "text": "ABCDEFGHI"}), ("append", {"name": "a", "text": "x" * 9}), ("release", {"names": ["a"]}),
        ("preempt", {"name": "a"}), ("evict", {"ids": [1, 2]}),
    ],
)  # fmt: skip
def test_a_plan_changes_nothing_until_it_is_called(verb: str, args: dict[str, object]) -> None:
    from kvnb.journal.replay import live_columns
    from kvnb.manager.command import Command

    core = running()
    before = live_columns(core)
    apply = core.plan(Command(verb, args))
    assert live_columns(core) == before
    apply()
    assert live_columns(core) != before
