"""What must always hold of a pool, each as an equation with numbers that a reader can check by hand.

Must not know: how the tables came about; they are given as lists of block ids. Looking changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from kvnb.core.block import KVCacheBlock
from kvnb.core.pool import BlockPool

Tables = Mapping[str, Sequence[int]]


class Equation(NamedTuple):
    """One invariant: what it says, its two sides with numbers filled in, and whether they are equal."""

    says: str
    numbers: str
    holds: bool

    def __str__(self) -> str:
        return f"{'ok ' if self.holds else 'NO '} {self.says}: {self.numbers}"


def check(pool: BlockPool, tables: Tables) -> list[Equation]:
    """Every invariant of ``pool`` and of the block tables of its requests (request name to block ids)."""
    return [rule(pool, tables) for rule in RULES]


def _accounting(pool: BlockPool, tables: Tables) -> Equation:
    free = pool.get_num_free_blocks()
    used = sum(block.ref_cnt > 0 and not block.is_null for block in pool.blocks)
    total = free + used + 1
    return Equation(
        "free + referenced + null = N", f"{free} + {used} + 1 = {total}, N = {pool.num_gpu_blocks}",
        total == pool.num_gpu_blocks,
    )  # fmt: skip


def _every_id_once(pool: BlockPool, tables: Tables) -> Equation:
    ids = [block.block_id for block in pool.blocks]
    queued = [block.block_id for block in _walk(pool)]
    right = ids == list(range(pool.num_gpu_blocks)) and len(set(queued)) == len(queued)
    return Equation(
        "every id once, in the pool and in the queue",
        f"{len(set(ids))} ids for {len(ids)} blocks, {len(set(queued))} ids for {len(queued)} in the queue", right,
    )  # fmt: skip


def _owners(pool: BlockPool, tables: Tables) -> Equation:
    held = Counter(block_id for table in tables.values() for block_id in table)
    wrong = [b for b in pool.blocks if not b.is_null and b.ref_cnt != held[b.block_id]]
    counts = sum(b.ref_cnt for b in pool.blocks if not b.is_null)
    places = sum(n for block_id, n in held.items() if block_id != 0)
    return Equation(
        "ref_cnt = tables that hold the block",
        f"{counts} owners counted, {places} places in tables{_examples(wrong)}", not wrong,
    )  # fmt: skip


def _queue_is_unowned(pool: BlockPool, tables: Tables) -> Equation:
    queued = {block.block_id for block in _walk(pool)}
    unowned = {block.block_id for block in pool.blocks if block.ref_cnt == 0 and not block.is_null}
    wrong = [pool.blocks[block_id] for block_id in sorted(queued ^ unowned)]
    return Equation(
        "in the queue = ref_cnt 0", f"{len(queued)} in the queue, {len(unowned)} unowned{_examples(wrong)}", not wrong
    )


def _map_and_blocks_agree(pool: BlockPool, tables: Tables) -> Equation:
    cached = pool.cached_block_hash_to_block
    mapped = {(block.block_id, key) for key in cached for block in cached.get_blocks(key)}
    hashed = {(block.block_id, block.block_hash) for block in pool.blocks if block.block_hash is not None}
    wrong = [pool.blocks[block_id] for block_id in sorted({block_id for block_id, _ in mapped ^ hashed})]
    return Equation(
        "blocks in the map = blocks with a hash", f"{len(mapped)} in the map, {len(hashed)} with a hash{_examples(wrong)}",
        not wrong,
    )  # fmt: skip


def _links_consistent(pool: BlockPool, tables: Tables) -> Equation:
    queue = pool.free_block_queue
    chain = [queue.fake_free_list_head, *_walk(pool), queue.fake_free_list_tail]
    broken = [a for a, b in pairwise(chain) if a.next_free_block is not b or b.prev_free_block is not a]
    linked = {block.block_id for block in chain}
    loose = [b for b in pool.blocks if b.block_id not in linked and (b.prev_free_block or b.next_free_block)]
    walked = len(chain) - 2
    return Equation(
        "links of the queue lead both ways",
        f"{walked} walked, {queue.num_free_blocks} counted{_examples([*broken, *loose])}",
        not broken and not loose and walked == queue.num_free_blocks,
    )  # fmt: skip


def _walk(pool: BlockPool) -> list[KVCacheBlock]:
    # Broken links may form a circle: more blocks than there are prove it, and the walk ends.
    return list(islice(pool.free_block_queue, pool.num_gpu_blocks + 1))


def _examples(wrong: Iterable[KVCacheBlock]) -> str:
    ids = [str(block.block_id) for block in wrong]
    return f", wrong at block {', '.join(ids[:5])}" if ids else ""


RULES: tuple[Callable[[BlockPool, Tables], Equation], ...] = (
    _accounting, _every_id_once, _owners, _queue_is_unowned, _map_and_blocks_agree, _links_consistent,
)  # fmt: skip
