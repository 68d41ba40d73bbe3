"""What is told of one block when it is pointed at, beyond what its tile says.

Must not know: canvases, HTML.
"""

from __future__ import annotations

from itertools import islice

from kvnb.journal import State
from kvnb.views.words import listed


def lines(state: State, block_id: int) -> list[str]:
    """Its hash, its owners, its place in the free queue, a line each; plain text."""
    if not 0 < block_id < state.num_blocks:
        return []
    key, owners = state.keys[block_id], state.owners.get(block_id, [])
    says = [f"hash {key}{_copies(state, block_id, key)}"] if key else ["no hash"]
    if owners:
        says.append(f"in the table of {listed(owners)}")
    if block_id in state.queue:
        says.append(f"place {_place(state, block_id):,} of {len(state.queue):,} in the free queue")
    return says


def _copies(state: State, block_id: int, key: str) -> str:
    others = [str(other) for other in state.copies.get(key, ()) if other != block_id]
    return f", also in block {listed(others, str, 4)}" if others else ""


def _place(state: State, block_id: int) -> int:
    # The state may be one that goes on while this reads it, so the walk has an end.
    return next((place for place, other in enumerate(islice(state.queue, state.num_blocks), 1) if other == block_id), 0)
