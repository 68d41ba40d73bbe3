"""What a block weighs: K and V of how many layers, heads and dimensions, in which precision. And amounts of memory as text.

Must not know: torch, devices (it is told how much is free), block ids. Standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from kvnb.errors import SettingError, nearest, one_line

DEVICES = ("auto", "cpu", "cuda", "mps", "none")
"""Where the memory may lie; ``none``: nowhere, block ids only."""

DTYPES = {"float32": 4, "float16": 2, "bfloat16": 2, "fp8_e4m3": 1, "fp8_e5m2": 1}
"""Bytes an element, by vLLM's names of ``--kv-cache-dtype`` (where ``auto`` is the model's own)."""


class KVShape(NamedTuple):
    """What one token keeps: ``layers`` times K and V, each of ``kv_heads`` times ``head_size`` elements."""

    layers: int
    kv_heads: int
    head_size: int

    def __str__(self) -> str:
        heads = "1 KV head" if self.kv_heads == 1 else f"{self.kv_heads} KV heads"
        return f"{self.layers} {'layer' if self.layers == 1 else 'layers'}, {heads} of {self.head_size}"


TINY = KVShape(2, 2, 16)


class Known(NamedTuple):
    """A model's shape, and where it is published."""

    shape: KVShape
    source: str


def _hub(repository: str, layers: int, kv_heads: int, head_size: int) -> Known:
    return Known(KVShape(layers, kv_heads, head_size), f"https://huggingface.co/{repository}/blob/main/config.json")


# num_hidden_layers, num_key_value_heads and head_dim (else hidden_size / num_attention_heads) of each config.json.
# Left out are models whose layers do not all keep the same: a window in some of them, state-space layers, or one latent
# vector for K and V together (MLA): their bytes a block follow another formula.
SHAPES: dict[str, Known] = {
    "gpt2": _hub("openai-community/gpt2", 12, 12, 64),
    "llama-2-7b": _hub("meta-llama/Llama-2-7b-hf", 32, 32, 128),
    "llama-3.1-8b": _hub("meta-llama/Llama-3.1-8B", 32, 8, 128),
    "llama-3.1-70b": _hub("meta-llama/Llama-3.1-70B", 80, 8, 128),
    "llama-3.2-1b": _hub("meta-llama/Llama-3.2-1B", 16, 8, 64),
    "mistral-7b-v0.1": _hub("mistralai/Mistral-7B-v0.1", 32, 8, 128),
    "qwen2.5-7b": _hub("Qwen/Qwen2.5-7B", 28, 4, 128),
    "qwen3-0.6b": _hub("Qwen/Qwen3-0.6B", 28, 8, 128),
    "qwen3-8b": _hub("Qwen/Qwen3-8B", 36, 8, 128),
    "smollm2-135m": _hub("HuggingFaceTB/SmolLM2-135M", 30, 3, 64),
    "tinyllama-1.1b": _hub("TinyLlama/TinyLlama-1.1B-Chat-v1.0", 22, 4, 64),
}


def named_shape(name: str) -> KVShape:
    """The shape of ``tiny`` or of a model in ``SHAPES``. Raises SettingError, with the nearest names."""
    if name == "tiny":
        return TINY
    if name not in SHAPES:
        raise SettingError(f"unknown model {one_line(name)}: {nearest(name, ['tiny', *SHAPES])}")
    return SHAPES[name].shape


def check_shape(shape: KVShape) -> None:
    """Raises SettingError, naming the part, for what is no whole number above 0, or an odd head size."""
    for name, value in shape._asdict().items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise SettingError(f"{name} is {value!r}: give a whole number, 1 or more")
    if shape.head_size % 2:
        raise SettingError(f"head_size is {shape.head_size}: give an even number, rotary positions turn pairs of dimensions")


def check_dtype(dtype: str) -> None:
    """Raises SettingError for a name that is not in ``DTYPES``."""
    if dtype not in DTYPES:
        raise SettingError(f"unknown dtype {one_line(dtype)}: {nearest(dtype, DTYPES)}")


def bytes_per_block(shape: KVShape, block_size: int, dtype: str) -> int:
    """Bytes of K and V of ``block_size`` tokens in all layers (vLLM: ``AttentionSpec.page_size_bytes`` times the layers)."""
    check_dtype(dtype)
    return 2 * shape.layers * block_size * shape.kv_heads * shape.head_size * DTYPES[dtype]


def costs(each: int, device_type: str) -> int:
    """Bytes that a block takes from the device's memory: its ``each`` of K and V, and in main memory the pool's objects.

    Measured: 340 bytes a block for the pool, its queue and the folded state, before anything is cached.
    """
    return each if device_type == "cuda" else each + 500


def blocks_in(memory: int, shape: KVShape, block_size: int, dtype: str) -> int:
    """How many whole blocks ``memory`` bytes hold, block 0 included. Raises SettingError when not even one fits."""
    each = bytes_per_block(shape, block_size, dtype)
    if memory < each:
        raise SettingError(f"{memory:,} bytes hold no block of {each:,}: give more memory or smaller blocks")
    return memory // each


_UNITS = ("", "k", "m", "g", "t")
_AMOUNT = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(?:(%)|([kmgt]?)(i?)b?)\s*", re.IGNORECASE)


def parse_memory(text: str, free_bytes: Callable[[], int]) -> int:
    """Bytes that ``text`` names: ``2GiB``, ``512 MiB``, ``1.5GB``, ``1000000``, or ``90%`` of what is free.

    free_bytes
        Asked for a percentage only.

    Raises SettingError for anything else.
    """
    match = _AMOUNT.fullmatch(text)
    if match is None or (match[4] and not match[3]):
        raise SettingError(f"memory is {one_line(text)}: give bytes as 2GiB, 512MiB, 1.5GB or 1000000, or 90% of what is free")
    number = Fraction(match[1])
    if number == 0 or (match[2] and number > 100):
        raise SettingError(f"memory is {one_line(text)}: give more than 0, and at most 100%")
    if match[2]:
        return int(number * free_bytes() / 100)
    return int(number * (1024 if match[4] else 1000) ** _UNITS.index(match[3].lower()))


def human_bytes(n: int) -> str:
    """``512 B``, ``22.0 KiB``, ``1.9 GiB``: the largest unit of 1024 that leaves at least 1."""
    value, unit = float(n), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        # 1023.95 would be rounded to 1024.0 of the smaller unit.
        if value < 1023.95:
            break
        value, unit = value / 1024, larger
    return f"{n} B" if unit == "B" else f"{value:.1f} {unit}"
