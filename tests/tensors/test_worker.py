"""The worker: what it does for each event, what a pass keeps, and what an interrupt leaves."""

from __future__ import annotations

import pytest
import torch
from served import Served, some_tokens

from kvnb.core.events import Back, Cleared, Dropped, Front, Hashed, Hit, Took, Unhashed
from kvnb.errors import RequestError, SettingError, UnknownName
from kvnb.manager.events import Ended, Extended, Looked, Nulled, RequestIs, Tokens
from kvnb.manager.worker import Scheduled
from kvnb.manager.worker import Worker as WorkerProtocol
from kvnb.tensors.prove import prove
from kvnb.tensors.shapes import KVShape
from kvnb.tensors.worker import Worker


def make(device="cpu", **kw) -> Worker:
    return Worker(11, 4, device=device, **kw)


def started(device="cpu", ids=(3, 1, 2), **kw) -> Worker:
    worker = make(device, **kw)
    worker.follow([Took(ids), Extended("r0", ids)])
    return worker


def run(worker: Worker, first: int, tokens: tuple[int, ...], num_drafts: int = 0, name: str = "r0") -> None:
    worker.forward([Scheduled(name, first, tokens, num_drafts)])


def unwritten(worker: Worker, block_id: int) -> list[bool]:
    """For each offset of a block, whether all of its K and V are NaN."""
    return worker.store.kv[block_id].float().isnan().movedim(2, 0).flatten(1).all(dim=1).tolist()


def test_it_is_the_worker_that_an_engine_asks_for():
    worker: WorkerProtocol = make()
    assert all(hasattr(worker, name) for name in ("check_tokens", "follow", "forward", "forget", "reweight", "clear"))


def test_it_describes_itself_in_one_line():
    assert make().describe() == "11 blocks of 2.0 KiB on cpu (float32), 22.0 KiB; model tiny: 2 layers, 2 KV heads of 16"


def test_a_pass_writes_the_slots_of_its_tokens_and_no_other(device):
    worker = started(device)
    run(worker, 0, some_tokens(6))
    assert unwritten(worker, 3) == [False] * 4
    assert unwritten(worker, 1) == [False, False, True, True]
    assert all(all(unwritten(worker, block_id)) for block_id in (0, 2, 4, 5, 6, 7, 8, 9, 10))


def test_a_block_with_a_new_owner_is_filled_and_one_that_was_only_freed_is_not(device):
    worker = started(device)
    run(worker, 0, some_tokens(12))
    worker.follow([Ended("r0"), Dropped((2, 1, 3)), Front((2,)), Back((1, 3))])
    assert not any(unwritten(worker, 3))
    worker.follow([Took((3,))])
    assert all(unwritten(worker, 3))
    assert not any(unwritten(worker, 1))


def test_events_that_move_no_memory_are_passed_over():
    worker = started()
    run(worker, 0, some_tokens(6))
    before = worker.store.kv.clone().view(torch.int32)
    worker.follow([
        Hit((3,)), Dropped((3,)), Front((4,)), Back((5,)), Hashed((3,), ("ab",)), Unhashed((3,), "evict"), Cleared(),
        RequestIs("r0", "running"), Tokens("r0", 6, 6, 0), Looked("r0", 6, 0, False), Nulled("r0", 0, 1),
    ])  # fmt: skip
    assert torch.equal(worker.store.kv.view(torch.int32), before)
    assert worker.block_table.row("r0").tolist() == [3, 1, 2]


@pytest.mark.parametrize("gone", [Ended("r0"), RequestIs("r0", "preempted")])
def test_a_request_that_ended_or_was_preempted_has_no_table_and_no_logits(gone):
    worker = started()
    run(worker, 0, some_tokens(6))
    worker.follow([gone, gone])
    assert "r0" not in worker.block_table
    with pytest.raises(RequestError, match="r0 has no logits after 6 tokens"):
        worker.next_token("r0", 6)


def test_tokens_are_counted_by_pass(device):
    worker = started(device)
    run(worker, 0, some_tokens(6))
    run(worker, 6, some_tokens(1))
    worker.forward([])
    worker.forward([Scheduled("r0", 7, ())])
    assert [worker.num_forward_tokens, worker.num_forward_passes, worker.last_pass_tokens] == [7, 2, 1]


def test_logits_of_the_last_token_and_its_drafts_are_kept_by_place(device):
    worker = started(device)
    run(worker, 0, some_tokens(9), num_drafts=2)
    chosen = [worker.next_token("r0", n) for n in (7, 8, 9)]
    again = started(device)
    for n, choice in zip((7, 8, 9), chosen, strict=True):
        run(again, 0, some_tokens(n))
        assert again.next_token("r0", n) == choice
    for n in (6, 10):
        with pytest.raises(RequestError, match=f"r0 has no logits after {n} tokens"):
            worker.next_token("r0", n)


def test_at_temperature_0_the_likeliest_token_comes_next():
    worker = started()
    run(worker, 0, some_tokens(5))
    assert worker.next_token("r0", 5) == int(worker._kept["r0"].rows[0].argmax())


def test_a_drawn_token_depends_on_seed_and_place_only():
    worker = started()
    run(worker, 0, some_tokens(9), num_drafts=3)
    draw = [worker.next_token("r0", n, temperature=1.0, seed=s) for s in range(20) for n in (6, 7)]
    assert draw == [worker.next_token("r0", n, temperature=1.0, seed=s) for s in range(20) for n in (6, 7)]
    assert len(set(draw)) > 10


def test_drawn_tokens_are_as_frequent_as_they_are_likely():
    worker = started(vocab_size=4)
    run(worker, 0, (0, 1, 2))
    likely = worker._kept["r0"].rows[0].softmax(-1)
    draws = [worker.next_token("r0", 3, temperature=1.0, seed=seed) for seed in range(2000)]
    seen = torch.tensor([draws.count(token) / 2000 for token in range(4)])
    assert torch.allclose(seen, likely.cpu(), atol=0.05)


@pytest.mark.parametrize("temperature", [-1.0, float("nan"), float("inf")])
def test_a_temperature_is_0_or_more(temperature):
    worker = started()
    run(worker, 0, some_tokens(5))
    with pytest.raises(SettingError, match="give 0 for the likeliest token, or more"):
        worker.next_token("r0", 5, temperature=temperature)


def test_ten_tokens_and_ten_more_are_the_same_twenty():
    def generate(*parts: int) -> list[int]:
        served = Served()
        served.admit("r0", some_tokens(5))
        for part in parts:
            for _ in range(part):
                n = served.core.scheduler.find("r0").num_tokens
                served.append("r0", (served.worker.next_token("r0", n, temperature=0.8, seed=3),))
        return served.core.scheduler.find("r0").token_ids

    assert generate(20) == generate(10, 10)


@pytest.mark.parametrize("token", [300, 256, -1])
def test_a_token_that_the_model_does_not_know_is_refused_before_anything_is_written(token):
    worker = started()
    with pytest.raises(RequestError, match=rf"token {token} is not in the model's vocabulary \(0 to 255\): --device none"):
        worker.check_tokens([1, token, 2])
    with pytest.raises(RequestError, match="not in the model's vocabulary"):
        run(worker, 0, (1, token))
    assert all(unwritten(worker, 3))


def test_tokens_without_a_slot_are_refused_before_anything_is_written():
    worker = started()
    with pytest.raises(UnknownName, match="no block table for r7"):
        run(worker, 0, (1,), name="r7")
    with pytest.raises(IndexError, match="too few for 13 tokens"):
        run(worker, 0, some_tokens(13))
    assert all(unwritten(worker, 3))


def test_a_forgotten_pass_leaves_its_slots_as_if_nothing_had_been_written(device):
    worker = started(device)
    run(worker, 0, some_tokens(5))
    kept = worker.store.kv[[3, 1]].clone()
    lost = [Scheduled("r0", 5, some_tokens(3))]
    worker.forward(lost)
    worker.forget(lost)
    assert torch.equal(worker.store.kv[[3, 1]].view(torch.int32), kept.view(torch.int32))
    with pytest.raises(RequestError, match="no logits"):
        worker.next_token("r0", 8)


def test_forgetting_what_never_began_changes_nothing():
    worker = started()
    run(worker, 0, some_tokens(5))
    bytes_before = worker.store.block_bytes(3)
    worker.forget([Scheduled("r9", 0, some_tokens(3)), Scheduled("r0", 11, some_tokens(9)), Scheduled("r0", 50, (1,))])
    assert worker.store.block_bytes(3) == bytes_before
    assert worker.next_token("r0", 5) >= 0


@pytest.mark.parametrize("stopped_in_layer", [0, 1])
@pytest.mark.parametrize("where", ["write", "gather"])
def test_a_pass_that_is_interrupted_anywhere_can_be_forgotten_and_done_again(monkeypatch, stopped_in_layer, where):
    worker = started()
    run(worker, 0, some_tokens(5))
    tokens, method = some_tokens(9)[5:], getattr(worker.store, where)

    def stop(layer: int, *args, **kw):
        result = method(layer, *args, **kw)
        if layer == stopped_in_layer:
            raise KeyboardInterrupt
        return result

    with monkeypatch.context() as patch:
        patch.setattr(worker.store, where, stop)
        with pytest.raises(KeyboardInterrupt):
            run(worker, 5, tokens)
    worker.forget([Scheduled("r0", 5, tokens)])
    assert unwritten(worker, 1) == [False, True, True, True]
    assert worker.num_forward_passes == 1
    run(worker, 5, tokens)
    assert prove(worker, "r0", some_tokens(9)).holds


def test_clearing_makes_it_as_new_whatever_was_done(device):
    worker, new = started(device), started(device)
    run(worker, 0, some_tokens(9))
    worker.reweight(5)
    worker.clear()
    assert worker.store.kv.float().isnan().all()
    assert len(worker.block_table) == worker.block_table.num_written == worker.num_forward_tokens == 0
    worker.follow([Took((3, 1, 2)), Extended("r0", (3, 1, 2))])
    for each in (worker, new):
        run(each, 0, some_tokens(9))
    assert worker.store.block_hash(3) == new.store.block_hash(3)


def test_an_interrupted_change_of_weights_is_undone_by_clearing(monkeypatch):
    worker, first = make(), make()

    def stop(seed: int) -> None:
        worker.model.weights["embed"].zero_()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(worker.model, "reweight", stop)
        with pytest.raises(KeyboardInterrupt):
            worker.reweight(3)
    worker.clear()
    assert all(torch.equal(weight, first.model.weights[name]) for name, weight in worker.model.weights.items())


def test_other_weights_leave_k_and_v_that_are_there():
    worker = started()
    run(worker, 0, some_tokens(9))
    before = worker.store.block_hash(3)
    worker.reweight(1)
    assert worker.store.block_hash(3) == before


def test_a_closed_worker_holds_no_memory(device):
    worker = started(device)
    worker.close()
    assert worker.store.kv.nbytes == 0


def test_a_large_models_shape_computes_too():
    worker = Worker(4, 16, KVShape(4, 8, 128), device="cpu", dtype="bfloat16")
    worker.follow([Took((1,)), Extended("r0", (1,))])
    run(worker, 0, some_tokens(9))
    assert prove(worker, "r0", some_tokens(9)).holds
