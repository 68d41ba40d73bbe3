"""Where a pool's blocks live: what it costs, what is written when, what is refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from helpers import SEED_PROMPTS, assert_sound, run_python, snapshot
from memory_labs import changed, hashes, small, worker_of

from kvnb import Lab
from kvnb.errors import OutOfMemory, SettingError
from kvnb.session import Session
from kvnb.tensors.store import KVStore


def test_block_5_is_a_slice_of_one_tensor() -> None:
    lab = small()
    assert tuple(lab.kv.shape) == (11, 2, 2, 4, 2, 16)
    assert lab.kv.isnan().all()
    lab.admit("r0", SEED_PROMPTS["r0"])
    assert not lab.kv[3].isnan().any()
    assert lab.kv[4, :, :, 3].isnan().all()


def test_the_bytes_of_every_block_through_the_seeds_walkthrough() -> None:
    lab = small()
    writes = []
    for verb, name in [("admit", "r0"), ("admit", "r1"), ("release", "r0"), ("release", "r1"), ("admit", "r2"), ("admit", "r3")]:
        before = hashes(lab)
        lab.admit(name, SEED_PROMPTS[name]) if verb == "admit" else lab.release(name)
        writes.append(changed(lab, before))
    # Shared blocks are written once; a release touches nothing; an eviction shows only when the new owner takes the block.
    assert writes == [{1, 2, 3, 4}, {5, 6}, set(), set(), {6, 4, 7, 8, 9}, {10, 5}]
    assert_sound(lab)


def test_a_freed_block_keeps_its_contents_until_a_new_owner_takes_it_and_then_is_nan_before_it_is_written() -> None:
    lab = small()
    lab.admit("r0", SEED_PROMPTS["r0"])
    lab.release("r0")
    assert not lab.kv[4, :, :, :3].isnan().any()
    lab.admit("next", "z", defer=True)
    assert lab.kv[4].isnan().all()
    lab.step()
    assert not lab.kv[4, :, :, 0].isnan().any()
    assert lab.kv[4, :, :, 1:].isnan().all()


def test_a_hit_computes_nothing() -> None:
    lab = small()
    assert lab.admit("r0", SEED_PROMPTS["r0"]).num_forward_tokens == 15
    assert lab.admit("r1", SEED_PROMPTS["r1"]).num_forward_tokens == 14 - 8
    assert worker_of(lab).num_forward_tokens == lab.num_forward_tokens == 21


def test_without_memory_the_same_tokens_are_counted() -> None:
    lab = Lab(11, block_size=4, device="none")
    lab.admit("r0", SEED_PROMPTS["r0"])
    assert lab.admit("r1", SEED_PROMPTS["r1"]).num_forward_tokens == 6


def test_memory_stays_outside_the_digest() -> None:
    pools = [small(), small(dtype="bfloat16", layers=1), Lab(11, block_size=4, device="none", tokenizer="bytes")]
    for lab in pools:
        lab.admit("r0", SEED_PROMPTS["r0"])
        lab.append("r0", "P")
    assert len({lab.digest for lab in pools}) == 1


def test_the_tokenizer_is_bytes_where_a_model_may_read_it() -> None:
    assert small().behaviour.tokenizer == "bytes"
    assert small(tokenizer="chars").behaviour.tokenizer == "chars"
    assert Lab(11, device="none").behaviour.tokenizer == "chars"


def test_so_much_memory_gives_so_many_blocks() -> None:
    assert Lab(memory="64KiB", block_size=4, device="cpu").behaviour.num_blocks == 32
    assert Lab(memory="2GiB", block_size=16, device="none", shape="llama-3.1-8b", dtype="bfloat16").behaviour.num_blocks == 1024


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"full_hit": True}, "a full hit leaves the model nothing to compute: turn it off, or use --device none"),
        ({"memory": "2GiB"}, "give the number of blocks, or --memory such as 2GiB: one of them"),
        ({"num_blocks": None}, "give the number of blocks, or --memory such as 2GiB: one of them"),
        ({"dtype": "int8"}, "unknown dtype 'int8'"),
        ({"model": "huge"}, "unknown model 'huge', and no such folder or file: there are tiny, smollm2"),
        ({"shape": "lama-3.1-8b"}, "unknown model 'lama-3.1-8b': did you mean llama-3.1-8b or"),
        ({"layers": 0}, "layers is 0: give a whole number, 1 or more"),
        ({"num_blocks": None, "memory": "90%", "device": "none"}, "a percentage is of a device's free memory"),
        ({"num_blocks": None, "memory": "2GiB", "block_size": 0}, "block_size is 0"),
        ({"num_blocks": None, "memory": 2.5}, "memory is 2.5: give bytes such as 2GiB"),
        ({"dtype": torch.float32}, "dtype is torch.float32: give its name"),
        ({"tokenizer": 5}, "tokenizer is 5: give chars, bytes or a path"),
        ({"kv_heads": 1.5}, "kv_heads is 1.5: give a whole number"),
        ({"device": "cuda"}, "this machine has no CUDA device: use --device cpu"),
    ],
)
def test_memory_that_cannot_be_is_refused_in_one_line(settings: dict[str, Any], line: str) -> None:
    if settings.get("device") == "cuda" and torch.cuda.is_available():
        settings = {"device": "tpu"}
        line = "unknown device 'tpu'"
    with pytest.raises(SettingError) as caught:
        small(**{"num_blocks": 11, **settings})
    assert str(caught.value).startswith(line)


def test_too_many_blocks_for_the_memory_says_how_many_would_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kvnb.tensors.store.free_bytes", lambda device: 100 * (2048 + 500) + 2547)
    with pytest.raises(SettingError, match="100 blocks would fit"):
        small(101)


def test_without_torch_auto_has_no_memory_and_says_what_would_bring_it() -> None:
    code = """
import sys
sys.modules["torch"] = None
from kvnb import Lab, KvnbError
lab = Lab(11, block_size=4)
print(lab.worker, lab.behaviour.tokenizer, lab.admit("r0", "ABCDE").new_blocks)
for attempt in (lambda: lab.prove("r0"), lambda: Lab(11, device="cpu")):
    try:
        attempt()
    except KvnbError as error:
        print(error)
"""
    assert run_python(code).splitlines() == [
        "None bytes (1, 2)",
        "prove needs memory and a model, this pool has none (torch is not installed: pip install torch)",
        "--device cpu needs torch: pip install torch",
    ]


def crowded(monkeypatch: pytest.MonkeyPatch, pools: int) -> None:
    """A device whose memory is just enough for so many pools of 11 blocks."""
    taken = []
    allocate, close = KVStore._allocate, KVStore.close
    monkeypatch.setattr("kvnb.tensors.store.free_bytes", lambda device: (11 * pools - sum(taken)) * (2048 + 500))

    def counting(store: KVStore) -> torch.Tensor:
        words = allocate(store)
        taken.append(len(words))
        return words

    def giving_back(store: KVStore) -> None:
        close(store)
        taken.pop()

    monkeypatch.setattr(KVStore, "_allocate", counting)
    monkeypatch.setattr(KVStore, "close", giving_back)


def test_a_pool_that_is_replaced_gives_its_memory_up_where_there_is_no_room_for_both(monkeypatch: pytest.MonkeyPatch) -> None:
    crowded(monkeypatch, 1)
    session = Session()
    old = session.new(11, device="cpu")[0]
    old.admit("r0", SEED_PROMPTS["r0"])
    new = session.new(11, device="cpu")[0]
    assert (old._recorder.memory_bytes, new._recorder.memory_bytes) == (0, 11 * 2048)
    with pytest.raises(OutOfMemory, match="0 blocks would fit"):
        session.new(11, device="cpu", name="other")


def test_a_pool_whose_successor_did_not_come_to_be_has_its_memory_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    crowded(monkeypatch, 1)
    session = Session()
    old = session.new(11, device="cpu")[0]
    old.admit("r0", SEED_PROMPTS["r0"])
    before = hashes(old)
    with pytest.raises(OutOfMemory, match="11 blocks would fit"):
        session.new(12, device="cpu")
    assert session.lab() is old
    assert hashes(old) == before
    assert old.prove("r0").holds


def test_a_share_of_the_memory_counts_that_of_the_pool_that_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kvnb.tensors.devices.free_bytes", lambda device: 40 * (2048 + 500))
    session = Session()
    session.new(20, device="cpu")
    assert session.new(device="cpu", memory="50%")[0].behaviour.num_blocks == (40 * 2548 + 20 * 2048) // 2548 // 2


def test_a_look_at_the_history_of_a_closed_pool_does_not_compute_its_memory_again() -> None:
    lab = small()
    lab.admit("r0", "ABCDE")
    before = snapshot(lab)
    lab.close()
    assert (len(lab.journal), lab._recorder.memory_bytes) == (1, 0)
    lab.append("r0", "F")
    lab.undo()
    assert lab._recorder.memory_bytes > 0, "whoever goes on has it again"
    assert snapshot(lab)[1] == before[1]
    assert_sound(lab)
