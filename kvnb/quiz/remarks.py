"""What can be said of a wrong answer that no slip explains: where it parts from the pool.

Must not know: which questions there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kvnb.core.events import Ids
from kvnb.journal import State
from kvnb.views.words import count


def remark(answer: Any, right: Any, state: State) -> str:
    """A sentence on ``answer``, which is not ``right``; ``state`` is the pool's when the question is asked."""
    if isinstance(right, tuple):
        return _on_ids(answer, state) or _on_order(answer, right, state)
    if isinstance(right, frozenset):
        return _on_ids(sorted(answer), state) or _on_members(answer, right, state)
    if isinstance(right, float):
        return "That is too many." if answer > right else "That is too few."
    return "Look at the queue below."


def _on_ids(ids: Sequence[int], state: State) -> str:
    unknown = [block_id for block_id in ids if block_id >= state.num_blocks]
    if unknown:
        return f"There is no block {unknown[0]}: this pool has blocks 0 to {state.num_blocks - 1}."
    if 0 in ids:
        return "Block 0 is the null block: it is never in the queue, and nobody gets it."
    twice = next((block_id for place, block_id in enumerate(ids) if block_id in ids[:place]), None)
    return f"Block {twice} stands in it twice: a block is in one place." if twice is not None else ""


def _on_order(answer: Ids, right: Ids, state: State) -> str:
    if answer == right[::-1]:
        return "The right blocks, back to front: the FRONT is where blocks are taken."
    if sorted(answer) == sorted(right):
        place = next(i for i, (one, other) in enumerate(zip(answer, right, strict=True)) if one != other)
        return f"The right blocks. In order are the first {place} of {len(right)}."
    return _on_members(frozenset(answer), frozenset(right), state)


def _on_members(answer: frozenset[int], right: frozenset[int], state: State) -> str:
    extra = sorted(answer - right)
    if extra:
        return f"Block {extra[0]} does not belong there. Now it {_where(state, extra[0])}."
    return f"All of these, and {count(len(right - answer), 'block')} more."


def _where(state: State, block_id: int) -> str:
    owners = len(state.owners.get(block_id, ()))
    hashed = "with a hash" if state.keys[block_id] else "without a hash"
    return f"is held by {count(owners, 'request')}" if owners else f"is free, {hashed}"
