"""A small Llama with random weights: real attention over real K and V, in milliseconds.

Must not know: blocks, slots, requests: where K and V are kept is the caller's ``attend``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import torch
from torch.nn.functional import linear, rms_norm, silu

from kvnb.tensors.devices import one_thread
from kvnb.tensors.model import Attend, Model
from kvnb.tensors.shapes import KVShape

HIDDEN = 64
ROTARY_BASE = 10000.0


class TinyLlama:
    """A decoder of the Llama family: RMSNorm, rotary positions, grouped-query attention, SwiGLU (Touvron et al. 2023).

    Hidden size 64 and two query heads a KV head whatever the shape, so that K and V of a large model's shape can be
    computed too. Weights and arithmetic are float32; equal seeds give equal weights on every device.
    """

    name = "tiny"
    max_tokens: int | None = None
    rounding = 3
    prefers_long_passes = False

    def __init__(self, shape: KVShape, device: torch.device, vocab_size: int = 256, seed: int = 0) -> None:
        self.shape, self.device, self.vocab_size = shape, device, vocab_size
        self.weights = {name: tensor.to(device) for name, tensor in _random_weights(shape, vocab_size, seed)}
        pairs = torch.arange(0, shape.head_size, 2, dtype=torch.float64) / shape.head_size
        self._frequencies = (1 / ROTARY_BASE**pairs).float().to(device)

    @property
    def tolerance(self) -> float:
        """Measured on a CPU over 8 seeds, in chunks of 1 to 100 tokens: 2e-6 in 2 layers, 5e-6 in 12, 1.1e-5 in 32."""
        return 1e-5 * max(1.0, self.shape.layers / 8)

    @property
    def relative_cost(self) -> float:
        """Measured on two cores: 0.39 ms a token, 8.2 ms in llama-3.1-8b's shape, which keeps 512 times as many numbers."""
        layers, kv_heads, head_size = self.shape
        return 1 + layers * kv_heads * head_size / 1600

    def threads(self) -> AbstractContextManager[None]:
        """One: the tensors are small."""
        return one_thread(self.device)

    def hold(self, user: object) -> None:
        """Nothing to do: the weights are small."""

    def let_go(self, user: object) -> None:
        """Nothing to do: the weights are small."""

    def check_reweight(self) -> None:
        """Every seed has its weights."""

    def reweight(self, seed: int) -> None:
        """The weights of another seed, put in place."""
        for name, tensor in _random_weights(self.shape, self.vocab_size, seed):
            self.weights[name].copy_(tensor)

    def forward(self, token_ids: torch.Tensor, positions: torch.Tensor, attend: Attend) -> torch.Tensor:
        """Hidden states (T, 64) of T tokens at ``positions``, both int64 (T,)."""
        angles = positions[:, None, None] * self._frequencies
        turn = (angles.cos(), angles.sin())
        hidden = self.weights["embed"][token_ids]
        for layer in range(self.shape.layers):
            hidden = hidden + self._attention(layer, hidden, turn, attend)
            hidden = hidden + self._mlp(layer, hidden)
        return hidden

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """(rows, vocab_size) from hidden states (rows, 64)."""
        return linear(_norm(hidden), self.weights["head"])

    def _attention(self, layer: int, hidden: torch.Tensor, turn: tuple[torch.Tensor, ...], attend: Attend) -> torch.Tensor:
        kv_heads, size = self.shape.kv_heads, self.shape.head_size
        qkv = linear(_norm(hidden), self.weights[f"qkv.{layer}"]).view(len(hidden), 4 * kv_heads, size)
        query, key, value = torch.split(qkv, [2 * kv_heads, kv_heads, kv_heads], dim=1)
        out = attend(layer, _rotate(query, *turn), _rotate(key, *turn), value)
        return linear(out.reshape(len(hidden), -1), self.weights[f"out.{layer}"])

    def _mlp(self, layer: int, hidden: torch.Tensor) -> torch.Tensor:
        gate, up = linear(_norm(hidden), self.weights[f"gate_up.{layer}"]).chunk(2, dim=1)
        return linear(silu(gate) * up, self.weights[f"down.{layer}"])


def _norm(hidden: torch.Tensor) -> torch.Tensor:
    return rms_norm(hidden, (HIDDEN,), eps=1e-5)


def _rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Turn dimension i with dimension i + head_size / 2 by the position's angle (Su et al. 2021, Llama's pairing)."""
    left, right = x.chunk(2, dim=-1)
    return torch.cat((left * cos - right * sin, right * cos + left * sin), dim=-1)


def _random_weights(shape: KVShape, vocab_size: int, seed: int) -> Iterator[tuple[str, torch.Tensor]]:
    """Each weight by name, made on the CPU so that every device gets the same."""
    generator = torch.Generator().manual_seed(seed)
    heads = shape.kv_heads * shape.head_size
    sizes = {"embed": (vocab_size, HIDDEN), "head": (vocab_size, HIDDEN)}
    for layer in range(shape.layers):
        sizes[f"qkv.{layer}"] = (4 * heads, HIDDEN)
        sizes[f"out.{layer}"] = (HIDDEN, 2 * heads)
        sizes[f"gate_up.{layer}"] = (4 * HIDDEN, HIDDEN)
        sizes[f"down.{layer}"] = (HIDDEN, 2 * HIDDEN)
    for name, (rows, columns) in sizes.items():
        # Scaled so that each product keeps its input's size; the embedding is looked up, not summed over.
        scale = 1.0 if name == "embed" else columns**-0.5
        yield name, torch.randn(rows, columns, generator=generator) * scale


if TYPE_CHECKING:
    _kept_promise: type[Model] = TinyLlama
