"""The hash functions by the names that vLLM's ``--prefix-caching-hash-algo`` gives them.

Must not know: what is hashed. The packages of the extra ``hash`` are imported only for a function that needs them.
"""

from __future__ import annotations

import pickle
from hashlib import sha256

from kvnb.core import hashing
from kvnb.core.hashing import HashFunction
from kvnb.errors import MissingPackage

HASH_FUNCTIONS = ("sha256", "sha256_cbor", "xxhash", "xxhash_cbor")
NOT_CRYPTOGRAPHIC = ("xxhash", "xxhash_cbor")
"""vLLM gives these a random seed, so that nobody can prepare a collision."""


def get_hash_function(name: str) -> HashFunction:
    """The function of that name (vLLM: ``get_hash_fn_by_name``). Raises MissingPackage; KeyError for an unknown name."""
    makers = {"sha256": lambda: hashing.sha256, "sha256_cbor": _sha256_cbor, "xxhash": _xxhash, "xxhash_cbor": _xxhash_cbor}
    try:
        return makers[name]()
    except ImportError as error:
        raise MissingPackage.named("'kvnb[hash]'", f"the hash function {name}") from error


def _sha256_cbor() -> HashFunction:
    from cbor2 import dumps

    return lambda value: sha256(dumps(value, canonical=True)).digest()


def _xxhash() -> HashFunction:
    from xxhash import xxh3_128_digest

    return lambda value: xxh3_128_digest(pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL))


def _xxhash_cbor() -> HashFunction:
    from cbor2 import dumps
    from xxhash import xxh3_128_digest

    return lambda value: xxh3_128_digest(dumps(value, canonical=True))
