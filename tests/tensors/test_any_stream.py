"""Whatever comes in, in whatever order: every running request is proved after every step, and shared bytes never change."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from served import Served

from kvnb.errors import KvnbError

NAMES = ("r0", "r1", "r2", "r3")

# Two tokens and few beginnings, so that prefixes are shared and evicted often.
prompts = st.builds(lambda base, n, tail: (base * n)[:n] + tail, st.sampled_from([[1], [1, 2]]), st.integers(1, 14),
                    st.lists(st.integers(1, 2), max_size=3))  # fmt: skip
few = st.lists(st.integers(1, 2), min_size=1, max_size=4)
name = st.sampled_from(NAMES)
steps = st.one_of(
    st.builds(lambda n, t, c: ("admit", {"name": n, "tokens": t, "chunk": c}), name, prompts, st.none() | st.integers(1, 9)),
    st.builds(lambda n, t: ("append", {"name": n, "tokens": t}), name, few),
    st.builds(lambda n, t, d: ("append", {"name": n, "tokens": t, "draft": {"tokens": d}}), name, few, few),
    st.builds(lambda n, k: ("accept", {"name": n, "k": k}), name, st.integers(0, 3)),
    st.builds(lambda n, k: ("prefill", {"name": n, "n": k}), name, st.integers(1, 6)),
    st.builds(lambda n: ("release", {"names": [n]}), name),
    st.builds(lambda n: ("preempt", {"name": n}), name),
    st.builds(lambda n: ("admit", {"name": n}), name),
    st.builds(lambda i: ("evict", {"ids": [i]}), st.integers(1, 11)),
)


def run(served: Served, verb: str, args: dict[str, Any]) -> None:
    """The step, or nothing when the pool refuses it, as a prompt that does not fit."""
    try:
        served.do(verb, **args)
    except KvnbError:
        assert not served.pending


def owners(served: Served) -> dict[int, int]:
    tables = [block_id for name in served.running() for block_id in served.table(name) if block_id]
    return {block_id: tables.count(block_id) for block_id in tables}


@settings(max_examples=200)
@given(
    st.lists(steps, min_size=1, max_size=25), st.integers(1, 5), st.none() | st.integers(2, 9), st.booleans(),
    st.sampled_from(["float32", "float32", "bfloat16"]),
)  # fmt: skip
def test_every_request_is_proved_after_every_step_and_shared_bytes_never_change(stream, block_size, window, caching, dtype):
    served = Served(12, block_size, worker={"dtype": dtype}, sliding_window=window, prefix_caching=caching)
    store, shared = served.worker.store, {}
    for verb, args in stream:
        run(served, verb, args)
        for running in served.running():
            assert served.prove(running).reasons == ()
        assert store.kv[0].isnan().all()
        still = {block_id: store.block_hash(block_id) for block_id, n in owners(served).items() if n > 1}
        assert all(still[block_id] == before for block_id, before in shared.items() if block_id in still)
        shared = still
