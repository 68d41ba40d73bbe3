"""Where a freed block goes: the two rules of the free queue, vLLM's of today and its older one.

Must not know: the queue itself. A rule only sorts blocks whose last owner has left.
"""

from __future__ import annotations

from collections.abc import Callable

from kvnb.core.block import KVCacheBlock

Split = tuple[list[KVCacheBlock], list[KVCacheBlock]]
FreeRule = Callable[[list[KVCacheBlock]], Split]


def front_back(freed: list[KVCacheBlock]) -> Split:
    """No hash: to the front, since it can never be hit. A hash: to the back, kept longest (seed.md, "Free")."""
    front = [block for block in freed if block.block_hash is None]
    if not front:
        return front, freed
    return front, [block for block in freed if block.block_hash is not None]


def all_back(freed: list[KVCacheBlock]) -> Split:
    """The rule of vLLM's published design document: everything to the back, hash or not."""
    return [], freed


FREE_RULES: dict[str, FreeRule] = {"front-back": front_back, "back": all_back}
"""The values of ``--free-to``."""
