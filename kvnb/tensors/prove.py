"""The proof of a request: everything it has is computed again with no cache at all, and compared.

Must not know: who else is in the pool, how blocks are chosen. It only reads.

What is weak on its own, and why three things are compared: the next token often stays the same while logits move by 3;
logits move by next to nothing when two blocks that a request sees change places, since the position is turned into K;
and all positions wrong by one leave the logits as they are, since rotary attention sees distances. K and V of each
block show all of these. Logits show a wrong table entry, and a NaN shows what nobody has written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch

from kvnb.errors import RequestError, counted, named
from kvnb.tensors.attention import attend, dense_attention, first_visible, paged
from kvnb.tensors.store import rounded
from kvnb.tensors.worker import Worker


class BlockProof(NamedTuple):
    """The largest difference of K, and of V, in one block; NaN where something is not written."""

    block_id: int
    key_difference: float
    value_difference: float


class Proof(NamedTuple):
    """What was compared, all of it as the largest difference of two elements, relative where the dense one is above 1.

    tolerance
        How much each difference may be.
    blocks
        The blocks of the request's table, in its order, without those that left the window.
    next_token
        The likeliest next token: read through the block table, and computed densely.
    next_token_gap
        By how much the dense logits prefer their own over the other; 0 when both are the same.
    """

    name: str
    num_tokens: int
    tolerance: float
    logits_difference: float
    blocks: tuple[BlockProof, ...]
    next_token: tuple[int, int]
    next_token_gap: float

    @property
    def key_difference(self) -> float:
        """The largest of all blocks; NaN when one of them is."""
        return _largest([block.key_difference for block in self.blocks])

    @property
    def value_difference(self) -> float:
        """The largest of all blocks; NaN when one of them is."""
        return _largest([block.value_difference for block in self.blocks])

    @property
    def holds(self) -> bool:
        """Whether nothing speaks against it."""
        return not self.reasons

    @property
    def reasons(self) -> tuple[str, ...]:
        """What speaks against it, one line each; empty when the proof holds."""
        found = [self._reason("the logits of the next token", self.logits_difference)]
        for block in self.blocks:
            found.append(self._reason(f"K of block {block.block_id}", block.key_difference))
            found.append(self._reason(f"V of block {block.block_id}", block.value_difference))
        # Two tokens whose logits are equal within the tolerance may take each other's place.
        if not self.next_token_gap <= 2 * self.tolerance:
            found.append("the next token is {} through the block table, {} densely".format(*self.next_token))
        return tuple(reason for reason in found if reason)

    def _reason(self, what: str, difference: float) -> str:
        if difference <= self.tolerance:
            return ""
        if difference != difference:
            return f"{what}: NaN, something was read that nobody has written"
        return f"{what} differ by {difference:.2g}, at most {self.tolerance:.2g} is rounding"


def prove(worker: Worker, name: str, token_ids: Sequence[int], num_drafts: int = 0, nulled: int = 0) -> Proof:
    """Compute ``token_ids`` with no cache and compare with what request ``name`` has; the memory is only read.

    token_ids
        All its tokens that have slots, drafts last.
    num_drafts
        How many of them are drafts.
    nulled
        How many entries of its table, from the first on, left the window: block 0 stands there in the manager's.

    Raises UnknownName for a request without a table, RequestError when that is too short for these tokens, and where the
    precision of K and V is too low for this model to tell anything.
    """
    if not token_ids or not 0 <= num_drafts < len(token_ids):
        raise RequestError(f"{named(name)} has nothing to prove: give its tokens, at least one before the drafts")
    worker.check_tokens(token_ids)
    if tolerance_of(worker) >= 1:
        what = f"rounding to {worker.store.dtype_name} adds up over {worker.store.shape.layers} layers"
        raise RequestError(f"{what}: a proof could not tell a wrong block from a right one; --dtype bfloat16 can be proved")
    table = _table_for(worker, name, len(token_ids))
    with worker.model.threads():
        dense = _Dense(worker, token_ids)
        rows = dense.logits(1 + num_drafts)
        paged_rows = _paged_logits(worker, table, token_ids, 1 + num_drafts)
    choice = (int(paged_rows[0].argmax()), int(rows[0].argmax()))
    return Proof(
        name,
        len(token_ids),
        tolerance_of(worker),
        float(_difference(paged_rows, rows).max()),
        _compare_blocks(worker, table, dense, nulled),
        choice,
        float(rows[0, choice[1]] - rows[0, choice[0]]),
    )


def tolerance_of(worker: Worker) -> float:
    """How far honest arithmetic may be off: as far as the model says, and more in lower precisions of K and V.

    Measured with the tiny model, tables in any order, with and without a window: dense and paged arithmetic now and then
    round an element to neighbours, at most 1 eps apart (1.7 where that moved what it was made of), and logits follow by 0.9
    eps. A difference is relative where the number is above 1, so that a block of zeros differs by 1: more than is allowed.
    """
    arithmetic = worker.model.tolerance
    if worker.store.dtype == torch.float32:
        return arithmetic
    return arithmetic + worker.model.rounding * torch.finfo(worker.store.dtype).eps


def _table_for(worker: Worker, name: str, num_tokens: int) -> torch.Tensor:
    table, size = worker.block_table.row(name), worker.store.block_size
    if len(table) * size < num_tokens:
        raise RequestError(f"{named(name)} has {counted(len(table), 'block')}, too few for {num_tokens} tokens")
    return table


class _Dense:
    """One pass over all tokens that keeps each layer's K and V, rounded as the store rounds them, and no table."""

    def __init__(self, worker: Worker, token_ids: Sequence[int]) -> None:
        self.model, self.dtype, self.window = worker.model, worker.store.dtype, worker.sliding_window
        self.kv: list[tuple[torch.Tensor, torch.Tensor]] = []
        tokens = torch.tensor(token_ids, device=worker.device)
        self.hidden = self.model.forward(tokens, torch.arange(len(tokens), device=worker.device), self._attend)

    def logits(self, last: int) -> torch.Tensor:
        """Of the last so many tokens."""
        return self.model.logits(self.hidden[-last:])

    def _attend(self, layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        kept = (rounded(key, self.dtype).float(), rounded(value, self.dtype).float())
        self.kv.append(kept)
        return dense_attention(query, *kept, self.window)


def _paged_logits(worker: Worker, table: torch.Tensor, token_ids: Sequence[int], last: int) -> torch.Tensor:
    """Of the last tokens: what was before them is read through the table, their own K and V are computed and not written."""
    first, store = len(token_ids) - last, worker.store
    start = first_visible(first, worker.sliding_window)

    def read_only(layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        before = paged(store, layer, table, start, first)
        own = (rounded(key, store.dtype).float(), rounded(value, store.dtype).float())
        k, v = (torch.cat(parts) for parts in zip(before, own, strict=True))
        return attend(query, k, v, first - start, worker.sliding_window)

    tokens = torch.tensor(token_ids[first:], device=worker.device)
    positions = torch.arange(first, len(token_ids), device=worker.device)
    return worker.model.logits(worker.model.forward(tokens, positions, read_only))


def _compare_blocks(worker: Worker, table: torch.Tensor, dense: _Dense, nulled: int) -> tuple[BlockProof, ...]:
    size, num_tokens = worker.store.block_size, len(dense.hidden)
    start = min(nulled * size, num_tokens)
    differences = torch.zeros(2, num_tokens - start, device=worker.device)
    for layer, of_layer in enumerate(dense.kv):
        for which, there in enumerate(paged(worker.store, layer, table, start, num_tokens)):
            off = _difference(there, of_layer[which][start:]).amax(dim=(1, 2))
            differences[which] = torch.maximum(differences[which], off)
    blocks = table[nulled : -(-num_tokens // size)].tolist()
    keys, values = ([float(part.max()) for part in torch.split(row, size)] for row in differences)
    return tuple(map(BlockProof, blocks, keys, values))


def _difference(there: torch.Tensor, dense: torch.Tensor) -> torch.Tensor:
    """Absolute up to 1, relative above: the precisions round an element by its size."""
    return (there - dense).abs() / dense.abs().clamp(min=1.0)


def _largest(differences: Sequence[float]) -> float:
    return float(torch.tensor(differences).max()) if differences else 0.0
