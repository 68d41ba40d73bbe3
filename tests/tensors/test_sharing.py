"""What sharing promises: a hit computes nothing and reads the same bytes, whoever wrote them and however the work was cut."""

from __future__ import annotations

import pytest
import torch
from served import Served, some_tokens

from kvnb.tensors.shapes import DTYPES

PREFIX = some_tokens(12)


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    return torch.allclose(a, b, atol=1e-5)


def on(device: str, **behaviour) -> Served:
    return Served(worker={"device": device}, **behaviour)


def test_a_hit_computes_only_what_is_new(device):
    served = on(device)
    served.admit("r0", (*PREFIX, 1, 2))
    served.admit("r1", (*PREFIX, 3))
    assert served.worker.last_pass_tokens == 1
    assert served.worker.num_forward_tokens == 15


def test_a_hit_gives_the_logits_of_a_request_that_had_none(device):
    warm, cold = on(device), on(device, prefix_caching=False)
    for served in (warm, cold):
        served.admit("r0", (*PREFIX, 1, 2))
        served.admit("r1", (*PREFIX, 3))
    assert warm.table("r1")[:3] == warm.table("r0")[:3] != cold.table("r1")[:3]
    assert same(warm.logits("r1"), cold.logits("r1"))
    assert warm.prove("r1").holds


def test_a_shared_block_is_written_once_and_its_bytes_never_change(device):
    served = on(device)
    served.admit("r0", (*PREFIX, 1, 2))
    before = [served.worker.store.block_hash(block_id) for block_id in served.table("r0")[:3]]
    served.admit("r1", (*PREFIX, 3))
    served.append("r0", (4, 5, 6))
    served.append("r1", (7,))
    served.do("release", names=["r0"])
    served.admit("r2", (*PREFIX, 9, 9))
    assert [served.worker.store.block_hash(block_id) for block_id in served.table("r2")[:3]] == before
    assert all(served.prove(name).holds for name in ("r1", "r2"))


def test_a_block_that_was_freed_and_not_reused_is_read_again(device):
    served = on(device)
    served.admit("r0", PREFIX)
    served.do("release", names=["r0"])
    served.admit("r1", (*PREFIX, 3))
    assert served.worker.last_pass_tokens == 1
    assert served.prove("r1").holds


def test_a_full_prompt_hit_recomputes_its_last_block_into_a_block_of_its_own(device):
    served = on(device)
    served.admit("r0", PREFIX)
    served.admit("r1", PREFIX)
    assert served.worker.last_pass_tokens == 4
    assert served.table("r1")[2] != served.table("r0")[2]
    assert same(served.logits("r0"), served.logits("r1"))
    assert served.prove("r1").holds


def test_a_resumed_request_goes_on_as_if_it_had_never_been_preempted(device):
    served, other = on(device), on(device)
    for each in (served, other):
        each.admit("r0", PREFIX)
        each.append("r0", (1, 2))
    served.do("preempt", name="r0")
    served.admit("r9", some_tokens(8, seed=9))
    served.do("admit", name="r0")
    for each in (served, other):
        each.append("r0", (3,))
    assert same(served.logits("r0"), other.logits("r0"))
    assert served.prove("r0").holds


def test_a_prompt_in_chunks_is_as_the_whole_prompt(device):
    whole, parts = on(device), on(device)
    tokens = some_tokens(30)
    whole.admit("r0", tokens)
    parts.admit("r0", tokens, chunk=7)
    for n in (1, 13, 9):
        parts.do("prefill", name="r0", n=n)
    assert same(whole.logits("r0"), parts.logits("r0"))
    assert parts.prove("r0").holds


def test_one_pass_over_several_requests_is_as_a_pass_for_each(device):
    packed, separate = on(device), on(device)
    prompts = {f"r{i}": some_tokens(5 + 4 * i, seed=i) for i in range(4)}
    for name, tokens in prompts.items():
        packed.admit(name, tokens, compute=name == "r3")
        separate.admit(name, tokens)
    assert packed.worker.num_forward_passes == 1
    for name in prompts:
        assert same(packed.logits(name), separate.logits(name))
        assert packed.prove(name).holds


def test_blocks_found_before_they_are_computed_are_computed_in_the_same_pass(device):
    served = on(device)
    served.admit("r0", (*PREFIX, 1, 2), compute=False)
    served.admit("r1", (*PREFIX, 3))
    assert served.table("r1")[:3] == served.table("r0")[:3]
    assert served.worker.last_pass_tokens == 15
    assert served.prove("r0").holds
    assert served.prove("r1").holds


def test_the_order_in_which_requests_stand_in_a_pass_does_not_matter(device):
    served = on(device)
    served.admit("r0", (*PREFIX, 1, 2), compute=False)
    served.admit("r1", (*PREFIX, 3), compute=False)
    served.worker.forward(served.pending[::-1])
    assert served.prove("r0").holds
    assert served.prove("r1").holds


def test_accepted_drafts_need_no_new_pass_and_rejected_ones_are_overwritten(device):
    served = on(device)
    served.admit("r0", PREFIX)
    served.append("r0", (1,), draft={"tokens": [2, 3, 4, 5]})
    assert served.prove("r0").holds
    served.do("accept", name="r0", k=2)
    assert served.worker.num_forward_passes == 2
    assert served.prove("r0").holds
    served.append("r0", (6, 7))
    assert served.prove("r0").holds


def test_block_table_entries_are_written_once_while_a_request_runs(device):
    served = on(device)
    served.admit("r0", PREFIX, chunk=5)
    served.do("prefill", name="r0", n=7)
    for token in range(10):
        served.append("r0", (token,))
    served.admit("r1", (*PREFIX, 3))
    assert served.worker.block_table.num_written == len(served.table("r0")) + len(served.table("r1"))


def test_a_window_goes_on_without_the_blocks_that_left_it(device):
    served = on(device, sliding_window=6)
    served.admit("r0", PREFIX)
    for token in range(12):
        served.append("r0", (token,))
    assert served.table("r0")[:3] == (0, 0, 0)
    assert served.prove("r0").holds


def test_what_left_the_window_is_never_read_even_when_another_owns_or_poisons_it(device):
    served = on(device, sliding_window=6)
    served.admit("r0", PREFIX)
    served.append("r0", (1, 2, 3, 4))
    left = served.worker.block_table.row("r0").tolist()[:2]
    served.append("r0", (5,))
    assert served.table("r0")[:2] == (0, 0)
    served.worker.store.fill(left)
    served.append("r0", (6,))
    assert served.logits("r0").isfinite().all()
    assert served.prove("r0").holds


def test_a_hit_under_a_window_starts_with_empty_entries_that_are_never_read(device):
    served = on(device, sliding_window=4)
    served.admit("r0", PREFIX)
    served.do("release", names=["r0"])
    served.admit("r1", (*PREFIX, 3))
    assert served.table("r1")[:2] == (0, 0)
    assert served.worker.last_pass_tokens == 1
    assert served.prove("r1").holds


def test_a_block_read_after_it_was_given_away_shows_as_nan(device):
    served = on(device)
    served.admit("r0", PREFIX)
    stolen = served.table("r0")[1]
    served.worker.store.fill([stolen])
    served.append("r0", (1,))
    assert served.logits("r0").isnan().all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_hit_is_a_hit_in_every_precision(device, dtype):
    try:
        served = Served(worker={"device": device, "dtype": dtype})
    except Exception as error:
        pytest.skip(str(error))
    served.admit("r0", (*PREFIX, 1, 2))
    before = served.worker.store.block_hash(served.table("r0")[0])
    served.admit("r1", (*PREFIX, 3), chunk=1)
    assert served.worker.store.block_hash(served.table("r1")[0]) == before
    assert served.prove("r0").holds
    assert served.prove("r1").holds
