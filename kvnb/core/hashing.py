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


HASH_FUNCTIONS: dict[str, HashFunction] = {"sha256": sha256}
"""Name, as in vLLM's ``--prefix-caching-hash-algo``, to function."""


def none_hash(hash_function: HashFunction, seed: str | None = None) -> bytes:
    """The parent of a first block (vLLM: ``init_none_hash``); ``seed`` is the value of ``PYTHONHASHSEED``."""
    return hash_function(DEFAULT_SEED if seed is None else seed)


def hash_block_tokens(hash_function: HashFunction, parent: bytes, tokens: Sequence[int]) -> bytes:
    """The hash of one full block (vLLM: the function of the same name).

    Tokens are made plain ints, since pickle writes a numpy integer differently from an equal int. The None
    stands where vLLM puts extra keys.
    """
    return hash_function((parent, tuple(map(int, tokens)), None))


def extend_block_hashes(
    hashes: list[bytes], tokens: Sequence[int], block_size: int, hash_function: HashFunction, root: bytes
) -> None:
    """Append to ``hashes`` the hash of every block of ``tokens`` that is full and not yet hashed."""
    parent = hashes[-1] if hashes else root
    for start in range(len(hashes) * block_size, len(tokens) - block_size + 1, block_size):
        parent = hash_block_tokens(hash_function, parent, tokens[start : start + block_size])
        hashes.append(parent)


def short_key(block_hash: bytes) -> str:
    """16 hex digits, the low 64 bits: what vLLM publishes as the integer hash of its KV events."""
    return block_hash[-8:].hex()
