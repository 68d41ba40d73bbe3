"""Real traffic, and the numbers that real vLLM 0.32 gave for it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from itertools import islice

import pytest
from helpers import TRACES, assert_sound

from kvnb import Lab

CONVERSATION = TRACES / "mooncake" / "conversation_trace.jsonl"

pytestmark = pytest.mark.skipif(not CONVERSATION.is_file(), reason=f"the traces are not at {TRACES}")


def requests() -> Iterator[list[int]]:
    with CONVERSATION.open() as file:
        for line in file:
            yield json.loads(line)["hash_ids"]


def drive(lab: Lab, prompts: Iterator[list[int]]) -> tuple[int, int, int]:
    """Admit and release one request after the other; how many there were, their tokens, and how many hit."""
    count = queries = hits = 0
    for tokens in prompts:
        result = lab.admit("r", tokens=tokens)
        lab.release("r")
        count, queries, hits = count + 1, queries + result.num_tokens, hits + result.num_hit_tokens
    return count, queries, hits


@pytest.mark.slow
def test_the_conversation_trace_hits_as_often_as_in_vllm() -> None:
    lab = Lab(10_001, block_size=1, device="none")
    started = time.perf_counter()
    assert drive(lab, requests()) == (12_031, 288_500, 60_971)
    print(f"\nconversation trace, 24,062 steps: {time.perf_counter() - started:.1f} s")
    counters = lab.state.counters
    assert (counters.queries, counters.hits) == (288_500, 60_971)
    assert_sound(lab)


def test_its_first_2000_requests_in_a_small_pool_hit_as_often_as_in_vllm() -> None:
    lab = Lab(1_001, block_size=1, device="none")
    assert drive(lab, islice(requests(), 2_000)) == (2_000, 54_559, 2_218)
    assert_sound(lab)
