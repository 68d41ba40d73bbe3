"""Sliding-window attention: which blocks a request no longer needs, and which cached ones are enough to go on from.

Must not know: tables and requests. A window of W tokens: the next token sees itself and the W - 1 before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kvnb.core.block import KVCacheBlock

Lookup = Callable[[bytes], KVCacheBlock | None]


def num_skipped_blocks(num_computed_tokens: int, window: int | None, block_size: int) -> int:
    """How many blocks, from the first on, lie wholly before the window of the next token; 0 for full attention.

    vLLM: ``SlidingWindowManager.get_num_skipped_tokens``, in whole blocks.
    """
    if window is None:
        return 0
    return max(0, num_computed_tokens - window + 1) // block_size


def rightmost_run(
    hashes: Sequence[bytes], lookup: Lookup, window: int, block_size: int, null_block: KVCacheBlock
) -> list[KVCacheBlock]:
    """The first run, from the right, of as many cached blocks as a window needs, null blocks before it.

    Where there is no such run, what is cached from the first hash on (vLLM: ``SlidingWindowManager.find_longest_cache_hit``).
    """
    enough = -(-(window - 1) // block_size)
    run: list[KVCacheBlock] = []
    for place in range(len(hashes) - 1, -1, -1):
        block = lookup(hashes[place])
        run = [block, *run] if block else []
        if len(run) == enough:
            return [null_block] * place + run
    return run


def most_at_once(num_tokens: int, chunk: int, window: int | None, block_size: int) -> int:
    """Blocks that a request of ``num_tokens`` holds at most while it is prefilled ``chunk`` tokens at a time.

    vLLM: ``SlidingWindowSpec.max_admission_blocks_per_request``, the chunk as its tokens in flight.
    """
    total = -(-num_tokens // block_size)
    if window is None:
        return total
    return min(total, -(-min(window - 1 + chunk, num_tokens) // block_size) + 1)
