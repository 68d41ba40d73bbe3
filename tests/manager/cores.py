"""Short words for what a pool with requests looks like, and for what it refuses."""

from __future__ import annotations

import pytest
from helpers import do, failing, queue_ids

from kvnb.errors import KvnbError
from kvnb.journal.replay import live_columns
from kvnb.manager.engine import EngineCore


def table(core: EngineCore, name: str) -> tuple[int, ...]:
    """The block table of a request."""
    return core.scheduler.kv_cache_manager.block_table(name)


def starred(core: EngineCore) -> str:
    """The queue as the seed prints it: ``4 5* 6``."""
    pool = core.scheduler.kv_cache_manager.block_pool
    return " ".join(f"{block_id}{'*' if pool.blocks[block_id].block_hash else ''}" for block_id in queue_ids(pool))


def hashes(core: EngineCore) -> dict[int, bytes]:
    """Block id to hash, of the blocks that carry one."""
    pool = core.scheduler.kv_cache_manager.block_pool
    return {block.block_id: block.block_hash for block in pool.blocks if block.block_hash is not None}


def refusal(core: EngineCore, kind: type[KvnbError], verb: str, **args: object) -> str:
    """The one line that says why a command cannot be done; nothing has changed."""
    before = live_columns(core)
    with pytest.raises(kind) as caught:
        do(core, verb, **args)
    assert live_columns(core) == before
    assert "\n" not in str(caught.value)
    return str(caught.value)


def assert_holds(core: EngineCore) -> None:
    """Every invariant holds."""
    assert failing(core.scheduler.check()) == []
