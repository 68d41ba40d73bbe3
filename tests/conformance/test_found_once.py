"""What a long run of the state machine found, kept as short examples."""

from __future__ import annotations

from pair import Pair
from vllm_core import VllmCore

from kvnb.manager import Behaviour


def test_a_block_that_left_the_window_before_it_was_hashed_is_stored_as_no_block(vllm: VllmCore) -> None:
    pair = Pair(vllm, Behaviour(num_blocks=4, block_size=7, sliding_window=2))
    judge = pair.judge
    pair.starts("admit", lambda: judge.admit("r0", [1]), name="r0", tokens=[1])
    # Three accepted drafts fill the second block, and the window moves past it before anything hashes it.
    drafts = [1, 1, 1]
    pair.goes_on("append", lambda: judge.append("r0", [1] * 11, drafts), "r0", tokens=[1] * 11, draft={"tokens": drafts})
    pair.always("accept", lambda: judge.accept("r0", 3), name="r0", k=3)
    pair.goes_on("append", lambda: judge.append("r0", [1]), "r0", tokens=[1])
    assert pair.recorder.journal.steps[-1].events[-1].ids == ()
