"""States of any kind, also such as no pool of ours gets into: a running engine tells no owners, for one."""

from __future__ import annotations

from hypothesis import strategies as st

from kvnb.journal import State
from kvnb.views.tiles import Marks

NAMES = ["r0", "r1", "r2", "<b>"]


@st.composite
def states(draw: st.DrawFn) -> State:
    """Blocks with any ref count, hashed or not, owned by as many requests at most, the free ones in any order."""
    state = State(draw(st.one_of(st.integers(1, 12), st.integers(1, 90))))
    ids = range(1, state.num_blocks)
    for block_id in ids:
        state.ref_cnt[block_id] = draw(st.sampled_from([0, 0, 1, 1, 2, 3, 70_000]))
        state.keys[block_id] = draw(st.sampled_from([None, f"{block_id:016x}"]))
        owners = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=min(3, state.ref_cnt[block_id])))
        if owners:
            state.owners[block_id] = owners
        state.queue.discard(block_id)
    state.queue.append(draw(st.permutations([block_id for block_id in ids if not state.ref_cnt[block_id]])))
    return state


@st.composite
def marks_for(draw: st.DrawFn, state: State) -> Marks:
    """What may have happened to its blocks."""
    some = st.frozensets(st.integers(1, max(1, state.num_blocks - 1)), max_size=5 * (state.num_blocks > 1))
    return Marks(draw(some), draw(some), draw(some))
