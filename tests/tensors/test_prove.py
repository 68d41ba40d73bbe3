"""A proof holds for every honest run, and for none in which anything is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from served import Served, some_tokens

from kvnb.errors import RequestError, SettingError, UnknownName
from kvnb.tensors.prove import Proof, prove
from kvnb.tensors.shapes import DTYPES, KVShape
from kvnb.tensors.worker import Worker

TOKENS = some_tokens(27)


def served(device: str = "cpu", dtype: str = "float32", chunk: int | None = None, **behaviour) -> Served:
    try:
        pool = Served(worker={"device": device, "dtype": dtype}, **behaviour)
    except SettingError as error:
        pytest.skip(str(error))
    pool.admit("r0", TOKENS, chunk=chunk)
    return pool


def all_bytes(worker: Worker) -> list[str]:
    return [worker.store.block_hash(block_id) for block_id in range(worker.store.num_blocks)]


# --- honest runs ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("window", [None, 5, 9])
@pytest.mark.parametrize("block_size", [1, 3, 16])
def test_an_honest_run_is_proved_in_every_precision_window_and_block_size(device, dtype, window, block_size):
    pool = served(device, dtype, block_size=block_size, sliding_window=window, num_blocks=60)
    for token in range(8):
        pool.append("r0", (token,))
    proof = pool.prove("r0")
    assert proof.reasons == ()
    assert proof.holds


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("dtype", DTYPES)
def test_an_honest_run_is_a_third_of_the_tolerance_at_most(device, dtype, seed):
    try:
        pool = Served(120, 4, worker={"device": device, "dtype": dtype, "seed": seed})
    except SettingError as error:
        pytest.skip(str(error))
    pool.admit("r0", some_tokens(400, seed), chunk=33)
    pool.do("prefill", name="r0", n=367)
    proof = pool.prove("r0")
    assert max(proof.logits_difference, proof.key_difference, proof.value_difference) <= proof.tolerance / 3


def test_a_deep_models_shape_is_proved_too():
    worker = {"shape": KVShape(12, 3, 64), "dtype": "bfloat16"}
    pool = Served(40, 4, worker=worker)
    pool.admit("r0", TOKENS, chunk=5)
    pool.do("prefill", name="r0", n=22)
    assert pool.prove("r0").holds


def test_a_proof_names_every_block_and_both_next_tokens():
    pool = served()
    proof = pool.prove("r0")
    assert [block.block_id for block in proof.blocks] == list(pool.table("r0"))
    assert (proof.name, proof.num_tokens, proof.tolerance) == ("r0", 27, 1e-5)
    assert proof.next_token == (pool.worker.next_token("r0", 27),) * 2


def test_a_proof_changes_nothing(device):
    pool = served(device)
    before, written = all_bytes(pool.worker), pool.worker.block_table.num_written
    pool.prove("r0")
    assert all_bytes(pool.worker) == before
    assert pool.worker.block_table.num_written == written
    assert pool.worker.num_forward_passes == 1


def test_a_chunk_of_a_prompt_is_proved_as_far_as_it_is_computed():
    pool = served(chunk=10)
    proof = pool.prove("r0")
    assert proof.holds
    assert proof.num_tokens == 10


def test_a_single_token_is_proved():
    pool = Served()
    pool.admit("r0", (7,))
    assert pool.prove("r0").holds


def test_drafts_are_proved_with_the_token_before_them():
    pool = served()
    pool.append("r0", (1,), draft={"tokens": [2, 3]})
    proof = pool.prove("r0")
    assert proof.holds
    assert proof.num_tokens == 30
    assert proof.next_token == (pool.worker.next_token("r0", 28),) * 2


# --- what cannot be proved ------------------------------------------------------------------------------------


def test_a_request_without_a_table_is_an_error():
    with pytest.raises(UnknownName, match="no block table for r9"):
        prove(served().worker, "r9", TOKENS)


def test_more_tokens_than_its_blocks_hold_are_an_error():
    with pytest.raises(RequestError, match="r0 has 7 blocks, too few for 29 tokens"):
        prove(served().worker, "r0", (*TOKENS, 1, 2))


@pytest.mark.parametrize(("tokens", "drafts"), [((), 0), ((1, 2), 2), ((1, 2), -1)])
def test_there_is_nothing_to_prove_without_a_token_before_the_drafts(tokens, drafts):
    with pytest.raises(RequestError, match="r0 has nothing to prove"):
        prove(served().worker, "r0", tokens, drafts)


# --- whatever is wrong shows ----------------------------------------------------------------------------------


def corrupt_a_block(pool: Served) -> None:
    pool.worker.store.kv[pool.table("r0")[2]].copy_(pool.worker.store.kv[pool.table("r1")[2]])


def corrupt_one_token(pool: Served) -> None:
    block, other = pool.table("r0")[2], pool.table("r1")[2]
    pool.worker.store.kv[block, 1, 1, 3].copy_(pool.worker.store.kv[other, 1, 1, 3])


def point_an_entry_elsewhere(pool: Served) -> None:
    pool.worker.block_table.row("r0")[2] = pool.table("r1")[2]


def swap_two_entries(pool: Served) -> None:
    row = pool.worker.block_table.row("r0")
    row[1:3] = row[[2, 1]].clone()


def lose_a_slot(pool: Served) -> None:
    pool.worker.store.fill_slots([pool.table("r0")[3] * 4 + 1])


def change_the_weights(pool: Served) -> None:
    pool.worker.reweight(1)


def never_write_the_last_block(pool: Served) -> None:
    pool.worker.store.fill([pool.table("r0")[-1]])


def zero_a_block(pool: Served) -> None:
    pool.worker.store.kv[pool.table("r0")[1]].view(torch.uint8).zero_()


def add_one_to_a_block(pool: Served) -> None:
    block = pool.worker.store.kv[pool.table("r0")[1]]
    block.copy_((block.float() + 1).to(block.dtype))


WRONGS = [
    zero_a_block, add_one_to_a_block, corrupt_a_block, corrupt_one_token, point_an_entry_elsewhere, swap_two_entries,
    lose_a_slot, change_the_weights, never_write_the_last_block,
]  # fmt: skip


def wronged(wrong: Callable[[Served], None], dtype: str = "float32", device: str = "cpu") -> Proof:
    pool = served(device, dtype)
    pool.admit("r1", some_tokens(27, seed=5))
    assert pool.prove("r0").holds
    wrong(pool)
    return pool.prove("r0")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("wrong", WRONGS)
def test_no_proof_holds_when_something_is_wrong(device, wrong, dtype):
    proof = wronged(wrong, dtype, device)
    assert not proof.holds
    assert proof.reasons
    assert all("\n" not in reason for reason in proof.reasons)


@pytest.mark.parametrize("dtype", DTYPES)
def test_positions_that_are_off_by_one_show_in_k_though_not_in_the_logits(monkeypatch, dtype):
    pool = Served(worker={"dtype": dtype})
    forward = pool.worker.model.forward
    with monkeypatch.context() as patch:
        patch.setattr(pool.worker.model, "forward", lambda tokens, places, attend: forward(tokens, places + 1, attend))
        pool.admit("r0", TOKENS)
    proof = pool.prove("r0")
    assert not proof.holds
    assert proof.key_difference > proof.tolerance


def test_a_corrupted_block_is_named():
    pool = served()
    pool.admit("r1", some_tokens(27, seed=5))
    corrupt_a_block(pool)
    proof, block = pool.prove("r0"), pool.table("r0")[2]
    assert [b.block_id for b in proof.blocks if b.key_difference > proof.tolerance] == [block]
    assert any(reason.startswith(f"K of block {block} differ by") for reason in proof.reasons)


def test_two_blocks_that_changed_places_show_in_k_and_v():
    proof = wronged(swap_two_entries)
    assert proof.key_difference > 1
    assert proof.value_difference > 1


def test_a_slot_that_nobody_wrote_shows_as_nan():
    proof = wronged(lose_a_slot)
    assert math.isnan(proof.logits_difference)
    assert math.isnan(proof.key_difference)
    assert "the logits of the next token: NaN, something was read that nobody has written" in proof.reasons


def test_another_next_token_is_a_reason_and_a_tie_is_not():
    proof = served().prove("r0")
    assert proof._replace(next_token=(1, 2), next_token_gap=0.5).reasons == (
        "the next token is 1 through the block table, 2 densely",
    )
    assert proof._replace(next_token=(1, 2), next_token_gap=1e-5).holds


def test_what_left_the_window_does_not_count_and_what_is_in_it_does():
    pool = served(sliding_window=6)
    for token in range(4):
        pool.append("r0", (token,))
    nulled = pool.table("r0").count(0)
    entries = pool.worker.block_table.row("r0").tolist()
    pool.worker.store.fill(entries[:nulled])
    assert pool.prove("r0").holds
    pool.worker.store.fill([entries[-2]])
    assert not pool.prove("r0").holds
