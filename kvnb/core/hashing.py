"""Block hashes, byte for byte those of vLLM: each covers its block's tokens and, by its parent, all before.

Must not know: the pool. Where the seed of the chain comes from is the caller's business.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from hashlib import sha256 as _sha256

HashFunction = Callable[[object], bytes]

DEFAULT_SEED = "vllm-none-hash"
"""What vLLM 0.32 hashes for the first block's parent when ``PYTHONHASHSEED`` is not set."""


def sha256(value: object) -> bytes:
    """32 bytes: SHA-256 of the pickle of ``value`` (vLLM: ``sha256`` in ``utils/hashing.py``)."""
    return _sha256(pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)).digest()


def none_hash(hash_function: HashFunction, seed: str | None = None) -> bytes:
    """The parent of a first block (vLLM: ``init_none_hash``); ``seed`` is the value of ``PYTHONHASHSEED``."""
    return hash_function(DEFAULT_SEED if seed is None else seed)


ExtraKeys = tuple[tuple[str, ...], ...] | None


def extra_keys(start: int, salt: str | None, lora: tuple[str, str] | None) -> ExtraKeys:
    """What keeps equal tokens apart (vLLM: ``generate_block_hash_extra_keys``): adapter name and path, and the salt.

    start
        Index of the block's first token; the salt enters the first block only, all others inherit it.
    """
    # Pickle writes an object that it has met before differently from an equal one, so each string is a fresh one.
    keys: list[tuple[str, ...]] = []
    if lora:
        keys.append(("lora", _fresh(lora[0]), _fresh(lora[1])))
    if salt and start == 0:
        keys.append(("cache_salt", _fresh(salt)))
    return tuple(keys) or None


def _fresh(text: str) -> str:
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "surrogatepass")


def hash_block_tokens(hash_function: HashFunction, parent: bytes, tokens: Sequence[int], extra: ExtraKeys = None) -> bytes:
    """The hash of one full block (vLLM: the function of the same name).

    Tokens are made plain ints, since pickle writes a numpy integer differently from an equal int.
    """
    return hash_function((parent, tuple(map(int, tokens)), extra))


def extend_block_hashes(
    hashes: list[bytes],
    tokens: Sequence[int],
    block_size: int,
    hash_function: HashFunction,
    root: bytes,
    salt: str | None = None,
    lora: tuple[str, str] | None = None,
) -> None:
    """Append to ``hashes`` the hash of every block of ``tokens`` that is full and not yet hashed."""
    parent = hashes[-1] if hashes else root
    for start in range(len(hashes) * block_size, len(tokens) - block_size + 1, block_size):
        block = tokens[start : start + block_size]
        parent = hash_block_tokens(hash_function, parent, block, extra_keys(start, salt, lora))
        hashes.append(parent)


def short_key(block_hash: bytes) -> str:
    """16 hex digits, the low 64 bits: what vLLM publishes as the integer hash of its KV events."""
    return block_hash[-8:].hex()
