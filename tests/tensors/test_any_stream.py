"""Whatever comes in, in whatever order: every running request is proved after every step, and shared bytes never change."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from served import Served

from kvnb.errors import KvnbError

NAMES = ("r0", "r1", "r2", "r3", "r4")

# Two tokens and few beginnings, so that prefixes are shared and evicted often.
prompts = st.builds(
    lambda base, n, tail: (base * n)[:n] + tail,
    st.sampled_from([[1], [1, 2]]), st.integers(3, 14), st.lists(st.integers(1, 2), max_size=3),
)  # fmt: skip
few = st.lists(st.integers(1, 2), min_size=1, max_size=4)
verbs = st.sampled_from(
    ["admit"] * 3 + ["chunk", "append", "append", "draft", "accept", "prefill", "release", "preempt", "resume", "evict"]
)
steps = st.tuples(verbs, st.integers(0, 30), prompts, few)


def command(served: Served, verb: str, number: int, prompt: list[int], some: list[int]) -> tuple[str, dict[str, Any]]:
    """The step as a command; ``number`` chooses among the requests for which it makes sense."""
    requests = served.core.scheduler.requests
    running = [name for name, request in requests.items() if request.status == "running"]
    of = {
        "admit": [name for name in NAMES if name not in requests],
        "resume": [name for name in requests if name not in running],
        "accept": [name for name in running if requests[name].drafts],
        "prefill": [name for name in running if requests[name].num_computed_tokens < requests[name].num_tokens],
    }
    names = of.get("admit" if verb == "chunk" else verb, running) or list(NAMES)
    name = names[number % len(names)]
    return {
        "admit": ("admit", {"name": name, "tokens": prompt}),
        "chunk": ("admit", {"name": name, "tokens": prompt, "chunk": len(some)}),
        "append": ("append", {"name": name, "tokens": some}),
        "draft": ("append", {"name": name, "tokens": some, "draft": {"tokens": some[::-1]}}),
        "accept": ("accept", {"name": name, "k": number % (len(some) + 1)}),
        "prefill": ("prefill", {"name": name, "n": len(some)}),
        "release": ("release", {"names": [name]}),
        "preempt": ("preempt", {"name": name}),
        "resume": ("admit", {"name": name}),
        "evict": ("evict", {"ids": [1 + number % 23]}),
    }[verb]


def run(served: Served, verb: str, args: dict[str, Any]) -> None:
    """The step, or nothing when the pool refuses it, as a prompt that does not fit."""
    try:
        served.do(verb, **args)
    except KvnbError:
        assert not served.pending


def shared_blocks(served: Served) -> dict[int, str]:
    """Block id to the hash of its bytes, of the blocks that several requests hold."""
    owners = Counter(block_id for name in served.running() for block_id in served.table(name) if block_id)
    return {block_id: served.worker.store.block_hash(block_id) for block_id, n in owners.items() if n > 1}


@settings(max_examples=80)
@given(
    st.lists(steps, min_size=12, max_size=30), st.integers(1, 5), st.none() | st.integers(2, 9),
    st.sampled_from([True, True, True, False]), st.sampled_from(["float32", "float32", "bfloat16"]),
)  # fmt: skip
def test_every_request_is_proved_after_every_step_and_shared_bytes_never_change(stream, block_size, window, caching, dtype):
    served = Served(24, block_size, worker={"dtype": dtype}, sliding_window=window, prefix_caching=caching)
    shared: dict[int, str] = {}
    for step in stream:
        run(served, *command(served, *step))
        for name in served.running():
            assert served.prove(name).reasons == ()
        assert served.worker.store.kv[0].isnan().all()
        still = shared_blocks(served)
        assert all(still.get(block_id, before) == before for block_id, before in shared.items())
        shared = still
