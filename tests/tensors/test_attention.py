"""Paged attention reads what the queries see and nothing else; the dense one judges it."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kvnb.tensors.attention import dense_attention, first_visible, paged_attention
from kvnb.tensors.devices import pick_device
from kvnb.tensors.shapes import KVShape
from kvnb.tensors.store import KVStore

BLOCK, HEADS, SIZE = 4, 2, 8


def random_qkv(tokens: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    query = torch.randn(tokens, 2 * HEADS, SIZE, generator=generator)
    return query, *torch.randn(2, tokens, HEADS, SIZE, generator=generator)


def stored(key: torch.Tensor, value: torch.Tensor, table: list[int], device="cpu") -> KVStore:
    store = KVStore(max(table) + 2, BLOCK, KVShape(1, HEADS, SIZE), pick_device(device))
    slots = [table[place // BLOCK] * BLOCK + place % BLOCK for place in range(len(key))]
    store.write(0, torch.tensor(slots, device=store.device), key.to(store.device), value.to(store.device))
    return store


def one_by_one(query, key, value, place, window):
    """One token's attention, written out."""
    seen = range(0 if window is None else max(0, place - window + 1), place + 1)
    out = []
    for head in range(2 * HEADS):
        scores = torch.tensor([float(query[place, head] @ key[j, head // 2]) / SIZE**0.5 for j in seen])
        out.append(sum(w * value[j, head // 2] for w, j in zip(scores.softmax(0), seen, strict=True)))
    return torch.stack(out)


@pytest.mark.parametrize("window", [None, 1, 2, 5, 100])
def test_the_dense_attention_is_the_formula(window):
    query, key, value = random_qkv(9)
    dense = dense_attention(query, key, value, window)
    for place in range(9):
        assert torch.allclose(dense[place], one_by_one(query, key, value, place, window), atol=1e-6)


def test_long_dense_attention_is_cut_into_parts_that_join():
    query, key, value = random_qkv(600)
    dense = dense_attention(query, key, value, 300)
    assert torch.allclose(dense[599], one_by_one(query, key, value, 599, 300), atol=1e-6)


@given(st.integers(1, 30), st.integers(1, 30), st.none() | st.integers(1, 20), st.randoms(use_true_random=False))
def test_any_suffix_of_queries_through_any_table_is_as_dense(before, queries, window, choose):
    tokens = before + queries
    query, key, value = random_qkv(tokens, choose.randrange(1000))
    table = list(range(1, -(-tokens // BLOCK) + 1))
    choose.shuffle(table)
    store = stored(key, value, table)
    paged = paged_attention(store, 0, torch.tensor(table), query[before:], before, window)
    assert torch.allclose(paged, dense_attention(query, key, value, window)[before:], atol=1e-5)


@pytest.mark.parametrize(("before", "queries"), [(0, 1), (0, 10), (9, 1), (6, 4)])
def test_paged_attention_is_as_dense_on_every_device(device, before, queries):
    query, key, value = random_qkv(before + queries)
    table = [3, 1, 2]
    store = stored(key, value, table, device)
    ids = torch.tensor(table, dtype=torch.int32, device=store.device)
    paged = paged_attention(store, 0, ids, query[before:].to(store.device), before)
    assert torch.allclose(paged.cpu(), dense_attention(query, key, value)[before:], atol=1e-5)


def test_slots_behind_the_last_token_are_never_read(device):
    query, key, value = random_qkv(6)
    store = stored(key, value, [2, 1], device)
    assert store.kv[1, 0, :, 2:].isnan().all()
    ids = torch.tensor([2, 1, 3], device=store.device)
    assert not paged_attention(store, 0, ids, query.to(store.device), 0).isnan().any()


def test_blocks_before_the_window_are_never_read(device):
    query, key, value = random_qkv(12)
    store = stored(key, value, [2, 1, 3], device)
    expected = dense_attention(query, key, value, 5)[11:]
    store.fill([2])
    store.fill_slots([4, 5, 6])
    ids = torch.tensor([0, 1, 3], device=store.device)
    assert torch.allclose(paged_attention(store, 0, ids, query[11:].to(store.device), 11, 5).cpu(), expected, atol=1e-5)


def test_only_blocks_that_the_queries_see_are_gathered(monkeypatch):
    query, key, value = random_qkv(14)
    store = stored(key, value, [2, 1, 3, 4])
    gathered, gather = [], store.gather
    monkeypatch.setattr(store, "gather", lambda layer, ids, **kw: gathered.append(ids.tolist()) or gather(layer, ids, **kw))
    ids = torch.tensor([2, 1, 3, 4, 5])
    for first, end, window in ((0, 14, None), (13, 14, 5), (9, 12, 2), (13, 14, 6), (13, 14, 7)):
        paged_attention(store, 0, ids, query[first:end], first, window)
    assert gathered == [[2, 1, 3, 4], [3, 4], [3], [3, 4], [1, 3, 4]]


def test_a_window_holds_the_token_itself_and_those_before_it():
    assert [first_visible(place, 3) for place in range(5)] == [0, 0, 0, 1, 2]
    assert first_visible(100, None) == 0
