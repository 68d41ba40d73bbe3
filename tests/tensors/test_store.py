"""The memory of all blocks: its layout, what NaN means in it, slots, and too little of it."""

from __future__ import annotations

import hashlib
import math

import pytest
import torch

from kvnb.errors import SettingError
from kvnb.tensors import store as store_module
from kvnb.tensors.devices import pick_device, works
from kvnb.tensors.shapes import DTYPES, KVShape
from kvnb.tensors.store import KVStore, rounded

SHAPE = KVShape(layers=3, kv_heads=2, head_size=4)


def make(device="cpu", dtype="float32", shape=SHAPE) -> KVStore:
    if not works(dtype, device):
        pytest.skip(f"{device} has no {dtype}")
    return KVStore(6, 4, shape, pick_device(device), dtype)


def write(store: KVStore, layer: int, slots: list[int], seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    k, v = torch.randn(2, len(slots), *store.shape[1:], generator=generator)
    store.write(layer, torch.tensor(slots, device=store.device), k.to(store.device), v.to(store.device))
    return k, v


def all_nan(tensor: torch.Tensor) -> bool:
    return bool(tensor.float().isnan().all())


def any_nan(tensor: torch.Tensor) -> bool:
    return bool(tensor.float().isnan().any())


def test_a_block_is_one_piece_of_one_tensor(device):
    store = make(device)
    assert store.kv.shape == (6, 3, 2, 4, 2, 4)
    assert store.kv[5].is_contiguous()
    assert store.kv.nbytes == store.num_bytes == 6 * 3 * 2 * 4 * 2 * 4 * 4


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_new_store_is_nan_everywhere(device, dtype):
    assert all_nan(make(device, dtype).kv)


@pytest.mark.parametrize("dtype", DTYPES)
def test_k_and_v_lie_at_block_layer_and_offset_of_their_slot(device, dtype):
    store = make(device, dtype)
    k, v = write(store, 1, [6, 21, 9])
    for i, (block, offset) in enumerate([(1, 2), (5, 1), (2, 1)]):
        for which, values in enumerate((k, v)):
            expected = rounded(values[i], store.dtype).float()
            assert torch.equal(store.kv[block, 1, which, offset].float().cpu(), expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [SHAPE, KVShape(3, 1, 2), KVShape(3, 3, 6), KVShape(3, 8, 64)])
def test_what_was_written_is_gathered_in_the_order_of_the_table(device, dtype, shape):
    store = make(device, dtype, shape)
    k, v = write(store, 2, [*range(12, 16), *range(4, 8)])
    got_k, got_v = store.gather(2, [3, 1])
    assert got_k.dtype == torch.float32
    assert torch.equal(got_k.cpu(), rounded(k, store.dtype).float())
    assert torch.equal(got_v.cpu(), rounded(v, store.dtype).float())


def test_writing_touches_its_slots_and_nothing_else(device):
    store = make(device)
    write(store, 1, [7])
    before = store.kv.clone()
    before[1, 1, :, 3] = math.nan
    assert all_nan(before)


def test_k_and_v_may_be_parts_of_a_larger_tensor(device):
    store = make(device)
    whole = torch.randn(3, 2, 4, device=store.device)
    odd = torch.randn(41, device=store.device)[9:].view(4, 2, 4)
    store.write(0, torch.tensor([4, 5], device=store.device), whole[1:], odd[1:3])
    k, v = store.gather(0, [1])
    assert torch.equal(k[:2], whole[1:])
    assert torch.equal(v[:2], odd[1:3])


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_gather_that_reuses_memory_gives_the_same(device, dtype):
    store = make(device, dtype)
    write(store, 0, list(range(4, 24)))
    for ids in ([1, 2], [5, 4, 3], [2]):
        fresh, reused = store.gather(0, ids), store.gather(0, ids, reuse=True)
        assert all(torch.equal(a, b) for a, b in zip(fresh, reused, strict=True))


@pytest.mark.parametrize("slots", [[3], [0], [4, 24], [-1]])
def test_block_0_and_what_lies_behind_the_last_block_cannot_be_written(device, slots):
    store = make(device)
    with pytest.raises(IndexError, match="not all in blocks 1 to 5"):
        write(store, 0, slots)
    assert all_nan(store.kv)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_filled_block_is_nan_and_the_others_stay(device, dtype):
    store = make(device, dtype)
    for layer in range(3):
        write(store, layer, list(range(4, 24)))
    kept = store.block_bytes(3)
    store.fill([2, 4])
    assert all_nan(store.kv[[2, 4]])
    assert store.block_bytes(3) == kept
    assert not any_nan(store.kv[[1, 3, 5]])


def test_filled_slots_are_nan_in_every_layer(device):
    store = make(device)
    for layer in range(3):
        write(store, layer, list(range(4, 24)))
    store.fill_slots([9, 10])
    assert all_nan(store.kv[2, :, :, 1:3])
    assert not any_nan(store.kv[[1, 3, 4, 5]])
    assert not any_nan(store.kv[2, :, :, [0, 3]])


def test_filling_nothing_is_allowed(device):
    store = make(device)
    write(store, 0, [4])
    bytes_before = store.block_bytes(1)
    store.fill([])
    store.fill_slots([])
    assert store.block_bytes(1) == bytes_before


def test_k_norms_are_over_layers_and_dimensions_and_nan_where_nothing_is_written(device):
    store = make(device)
    keys = [write(store, layer, [5], seed=layer)[0] for layer in range(3)]
    norms = store.k_norms(1)
    assert [len(norms), len(norms[0])] == [4, 2]
    expected = torch.stack(keys).norm(dim=(0, 3))[0].tolist()
    assert norms[1] == pytest.approx(expected, rel=1e-5)
    assert all(math.isnan(norm) for offset in (0, 2, 3) for norm in norms[offset])


def test_a_copied_block_is_equal_byte_for_byte(device):
    store = make(device)
    write(store, 1, [4, 5])
    store.copy_block(1, 3)
    assert store.block_bytes(3) == store.block_bytes(1) != store.block_bytes(2)
    assert store.block_hash(3) == hashlib.sha256(store.block_bytes(1)).hexdigest()


@pytest.mark.parametrize(("source", "target"), [(1, 0), (6, 1), (1, 6), (-1, 2)])
def test_only_blocks_that_exist_are_copied_and_never_to_block_0(source, target):
    with pytest.raises(IndexError, match="cannot copy"):
        make().copy_block(source, target)


@pytest.mark.parametrize(("dtype", "most"), [(torch.float8_e4m3fn, 448.0), (torch.float8_e5m2, 57344.0)])
def test_fp8_takes_its_largest_number_for_a_larger_one_and_keeps_nan(dtype, most):
    got = rounded(torch.tensor([1e9, -1e9, math.nan, 1.0]), dtype).float()
    assert got[[0, 1, 3]].tolist() == [most, -most, 1.0]
    assert math.isnan(got[2])


def test_too_little_memory_is_found_before_any_is_taken_and_the_error_says_what_fits(monkeypatch):
    monkeypatch.setattr(store_module, "free_bytes", lambda device: 1_288_490_188)
    with pytest.raises(SettingError) as caught:
        KVStore(1_000_001, 4, KVShape(2, 2, 16), torch.device("cpu"))
    assert str(caught.value) == (
        "1,000,001 blocks of 2.0 KiB need 1.9 GiB, 1.2 GiB of memory are free on cpu: 505,686 blocks would fit "
        "(or --device none for block ids only)"
    )


@pytest.mark.parametrize("error", [RuntimeError("no"), torch.OutOfMemoryError("no"), MemoryError()])
def test_an_allocation_that_fails_after_all_gives_the_same_error(monkeypatch, error):
    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr(store_module.torch, "full", fail)
    with pytest.raises(SettingError, match="blocks would fit"):
        make()


def test_a_closed_store_holds_no_memory(device):
    store = make(device)
    store.close()
    assert store.kv.nbytes == 0
