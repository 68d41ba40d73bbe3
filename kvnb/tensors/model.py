"""What the worker asks of a model: hidden states of tokens at places, with attention left to whoever keeps K and V.

Must not know: blocks, slots, requests, which models there are.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

import torch

from kvnb.tensors.shapes import KVShape

Attend = Callable[[int, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
"""``attend(layer, query, key, value)``: query and result (T, query heads, head_size), key and value (T, kv_heads, head_size)."""


class Model(Protocol):
    """A decoder whose layers all keep K and V of one shape; weights and arithmetic are float32.

    name
        As a user knows it.
    shape
        What each token keeps.
    vocab_size
        It knows the tokens 0 to ``vocab_size - 1``.
    max_tokens
        The longest text that it was made for; None: any.
    tolerance
        How far honest arithmetic of it may be off, summed up in another order: relative where a number is above 1.
    rounding
        The same for K and V in a lower precision, in multiples of its eps: what is rounded to a neighbour in one layer is
        the beginning of the next.
    relative_cost
        How long a token takes, as a multiple of one of the tiny model's own shape.
    prefers_long_passes
        Whether many tokens in one pass take much less time than in a pass each.
    """

    name: str
    shape: KVShape
    vocab_size: int
    max_tokens: int | None
    rounding: int
    prefers_long_passes: bool

    @property
    def tolerance(self) -> float: ...  # noqa: D102

    @property
    def relative_cost(self) -> float: ...  # noqa: D102

    def threads(self) -> AbstractContextManager[None]:
        """What its passes run in: as many threads as do it good."""

    def forward(self, token_ids: torch.Tensor, positions: torch.Tensor, attend: Attend) -> torch.Tensor:
        """Hidden states (T, hidden size) of T tokens at ``positions``, both int64 (T,)."""

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """(rows, vocab_size) from hidden states (rows, hidden size)."""

    def hold(self, user: object) -> None:
        """Be ready for ``user``'s passes. Raises as at the beginning, where the weights were let go meanwhile."""

    def let_go(self, user: object) -> None:
        """``user`` needs no pass for now; large weights are let go when nobody does."""

    def check_reweight(self) -> None:
        """Raises SettingError where the weights are not a seed's."""

    def reweight(self, seed: int) -> None:
        """The weights of another seed, put in place."""
