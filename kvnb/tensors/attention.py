"""Attention over paged memory, and the dense attention that judges it.

Must not know: tokens, weights, requests by name. The dense one shares no code with the paged one.
"""

from __future__ import annotations

import torch
from torch.nn.functional import scaled_dot_product_attention

from kvnb.tensors.store import KVStore


def first_visible(place: int, window: int | None) -> int:
    """The first place that the token at ``place`` sees: a window of W tokens holds itself and the W - 1 before it."""
    return 0 if window is None else max(0, place - window + 1)


def paged_attention(
    store: KVStore, layer: int, block_ids: torch.Tensor, query: torch.Tensor, first: int, window: int | None = None
) -> torch.Tensor:
    """What T queries at places ``first`` to ``first + T - 1`` read through a block table; all K and V up to there are written.

    query
        (T, query heads, head_size), float32; the result has the same shape.
    block_ids
        The request's table. Entries wholly before the window of the first query are not looked at, nor those behind the last.
    """
    start, end = first_visible(first, window), first + len(query)
    key, value = paged(store, layer, block_ids, start, end)
    return attend(query, key, value, first - start, window)


def paged(store: KVStore, layer: int, block_ids: torch.Tensor, start: int, end: int) -> tuple[torch.Tensor, torch.Tensor]:
    """K and V of the places ``start`` to ``end - 1``, each (end - start, kv_heads, head_size); they hold until the next call."""
    size = store.block_size
    skipped = start // size
    key, value = store.gather(layer, block_ids[skipped : -(-end // size)], reuse=True)
    # Sliced, not masked: a NaN that is multiplied by 0 is still NaN.
    seen = slice(start - skipped * size, end - skipped * size)
    return key[seen], value[seen]


def attend(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, before: int, window: int | None = None) -> torch.Tensor:
    """Causal grouped-query attention of T queries over ``before + T`` keys, the queries being those of the last T.

    Shapes (T, query heads, head_size) and (before + T, kv_heads, head_size).
    """
    q, k, v = (part.transpose(0, 1).unsqueeze(0) for part in (query, key, value))
    mask = _mask(len(query), before, window, query.device)
    return scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True).squeeze(0).transpose(0, 1)


def _mask(queries: int, before: int, window: int | None, device: torch.device) -> torch.Tensor | None:
    # `is_causal` is aligned to the upper left: for a suffix of the queries it would hide what they may see.
    if queries == 1:
        return None
    mask = torch.ones(queries, before + queries, dtype=torch.bool, device=device).tril_(before)
    return mask if window is None else mask.triu_(before - window + 1)


def dense_attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, window: int | None = None) -> torch.Tensor:
    """The same by the textbook, over T tokens with no cache: softmax(Q K' / sqrt(d)) V, masked (Vaswani et al. 2017).

    Shapes (T, query heads, head_size) and (T, kv_heads, head_size). 256 queries at a time, to spare memory.
    """
    group = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(group, dim=1), value.repeat_interleave(group, dim=1)
    keys = torch.arange(len(key), device=key.device)
    parts = []
    for some, at in zip(torch.split(query, 256), torch.split(keys, 256), strict=True):
        scores = torch.einsum("qhd,khd->hqk", some, key) / query.shape[2] ** 0.5
        distance = at[:, None] - keys[None, :]
        hidden = (distance < 0) if window is None else (distance < 0) | (distance >= window)
        parts.append(torch.einsum("hqk,khd->qhd", scores.masked_fill(hidden, float("-inf")).softmax(-1), value))
    return torch.cat(parts)
