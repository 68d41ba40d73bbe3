"""How fast the pool is beside vLLM's own, both in one run on one thread: ``pytest -m benchmark``. Nothing asserts a time.

300 requests of 100 blocks through a pool of 10,000; up to 60 of the blocks come from one of 20 shared prefixes. Hashes
are computed beforehand, vLLM publishes no events, and times are of the process, garbage collection off.
"""

from __future__ import annotations

import gc
import random
import statistics
import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from kvnb.core import BlockPool
from kvnb.core.events import PoolEvent
from kvnb.core.hashing import sha256

pytestmark = pytest.mark.benchmark
BLOCKS, REQUESTS, LENGTH, ROUNDS = 10_000, 300, 100, 15


def chains() -> list[list[bytes]]:
    choose = random.Random(1)
    requests = []
    for request in range(REQUESTS):
        shared, prefix = choose.randrange(60), choose.randrange(20)
        parts = [(prefix, i) if i < shared else (request + 100, i) for i in range(LENGTH)]
        requests.append([sha256(part) for part in parts])
    return requests


def through_kvnb(requests: list[list[bytes]], events: list[PoolEvent] | None) -> list[int]:
    pool = BlockPool(BLOCKS, emit=None if events is None else events.append)
    for hashes in requests:
        hits = pool.get_longest_cached_prefix(hashes)
        pool.touch(hits)
        table = hits + pool.get_new_blocks(LENGTH - len(hits))
        pool.cache_full_blocks(table, hashes, len(hits), LENGTH)
        pool.free_blocks(reversed(table))
    return [block.block_id for block in pool.free_block_queue]


def through_vllm(requests: list[list[bytes]], pool_class: type) -> list[int]:
    pool = pool_class(BLOCKS, True, 16)
    for hashes in requests:
        hits = []
        for block_hash in hashes:
            found = pool.get_cached_block(block_hash, [0])
            if not found:
                break
            hits.append(found[0])
        pool.touch(hits)
        table = hits + pool.get_new_blocks(LENGTH - len(hits))
        request = SimpleNamespace(block_hashes=hashes)
        pool.cache_full_blocks(request, table, len(hits), LENGTH, block_size=16, kv_cache_group_id=0)
        pool.free_blocks(reversed(table))
    return [block.block_id for block in pool.free_block_queue.get_all_free_blocks()]


def timed(run: Callable[[], list[int]]) -> tuple[float, list[int]]:
    gc.collect()
    start = time.process_time()
    queue = run()
    return time.process_time() - start, queue


def test_the_pool_beside_vllms(vllm, capsys):
    requests, pool_class = chains(), vllm["vllm.v1.core.block_pool"].BlockPool
    ratios: dict[str, list[float]] = {"journal off": [], "journal on": []}
    theirs: list[float] = []
    gc.disable()
    try:
        for _ in range(ROUNDS):
            base, queue = timed(lambda: through_vllm(requests, pool_class))
            theirs.append(base)
            for what, events in (("journal off", None), ("journal on", [])):
                ours, our_queue = timed(lambda events=events: through_kvnb(requests, events))
                assert our_queue == queue
                ratios[what].append(base / ours)
    finally:
        gc.enable()
    with capsys.disabled():
        print(f"\nvLLM's BlockPool: {REQUESTS * LENGTH / statistics.median(theirs):,.0f} blocks/s")
        for what, found in ratios.items():
            print(f"kvnb's, {what}: x{statistics.median(found):.2f} (x{min(found):.2f} to x{max(found):.2f})")
