from __future__ import annotations

import pytest
from helpers import needs, run_python
from hypothesis import given
from hypothesis import strategies as st

from kvnb import Lab
from kvnb.core.hashing import extend_block_hashes, hash_block_tokens, none_hash, sha256, short_key
from kvnb.manager.tokenizers import chars

ROOT_HASH = none_hash(sha256)


def chain(tokens: list[int], block_size: int = 4, root: bytes = ROOT_HASH) -> list[bytes]:
    hashes: list[bytes] = []
    extend_block_hashes(hashes, tokens, block_size, sha256, root)
    return hashes


def test_the_keys_of_the_seed_prompt_are_those_that_vllm_publishes() -> None:
    # Published by vLLM 0.32 for these letters as tokens, block size 4.
    published = ["2174859f29fe1b18", "945ff04eecd21779", "71a557b85bfa876e"]
    assert [short_key(key) for key in chain(chars("ABCDEFGHIJKLMNO"))] == published


def test_the_keys_of_the_seed_walkthroughs_other_blocks_are_vllms_too() -> None:
    tail = chain(chars("ABCDEFGHIJKL" + "y" * 17))[3:]
    assert [short_key(key) for key in tail] == ["eaee97fcccf21acb", "d541c9c48e1d7e1e", "87e20cd607b63777", "1d284f755c5376ce"]
    assert [short_key(key) for key in chain(chars("zzzzzzzz"))] == ["ab236ad2cb5bfe2b", "2afaa33a924d10f8"]
    assert short_key(chain(chars("ABCDEFGHIJxxxx"))[2]) == "4ba8f20251998eaa"


def test_a_hash_has_32_bytes_and_its_short_key_is_the_low_64_bits() -> None:
    key = sha256("anything")
    assert len(key) == 32
    assert short_key(key) == key.hex()[-16:]


def test_only_full_blocks_get_a_hash() -> None:
    assert [len(chain([1] * n)) for n in (0, 3, 4, 7, 8)] == [0, 0, 1, 1, 2]


def test_a_hash_covers_everything_before_its_block() -> None:
    first, second = chain([1, 1, 1, 1, 2, 2, 2, 2]), chain([9, 1, 1, 1, 2, 2, 2, 2])
    assert first[1] != second[1]


def test_a_hash_is_made_from_parent_and_tokens() -> None:
    one, two = chain([1, 2, 3, 4, 5, 6, 7, 8])
    assert one == hash_block_tokens(sha256, ROOT_HASH, [1, 2, 3, 4])
    assert two == hash_block_tokens(sha256, one, [5, 6, 7, 8])


@given(tokens=st.lists(st.integers(0, 2**40), max_size=30), cut=st.integers(0, 30), block_size=st.integers(1, 6))
def test_hashing_in_two_goes_gives_the_same_chain(tokens: list[int], cut: int, block_size: int) -> None:
    hashes: list[bytes] = []
    extend_block_hashes(hashes, tokens[:cut], block_size, sha256, ROOT_HASH)
    extend_block_hashes(hashes, tokens, block_size, sha256, ROOT_HASH)
    assert hashes == chain(tokens, block_size)


@pytest.mark.parametrize("kind", ["int32", "int64", "uint16"])
def test_numpy_tokens_hash_like_the_equal_ints(kind: str) -> None:
    numpy = needs("numpy")
    assert chain(numpy.array([1, 2, 3, 4], dtype=kind)) == chain([1, 2, 3, 4])
    assert chain(list(numpy.array([1, 2, 3, 4], dtype=kind))) == chain([1, 2, 3, 4])


def test_bool_tokens_hash_like_the_equal_ints() -> None:
    assert chain([True, False, True, True]) == chain([1, 0, 1, 1])


def test_another_seed_gives_another_root_and_another_chain() -> None:
    assert none_hash(sha256, "0") == sha256("0")
    assert none_hash(sha256, "0") != none_hash(sha256)
    assert chain([1, 2, 3, 4], root=none_hash(sha256, "0")) != chain([1, 2, 3, 4])


def test_pythonhashseed_changes_the_root_of_a_new_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = Lab(5, device="none")
    monkeypatch.setenv("PYTHONHASHSEED", "42")
    seeded = Lab(5, device="none")
    assert usual.behaviour.none_hash == ROOT_HASH.hex()
    assert seeded.behaviour.none_hash == sha256("42").hex()
    assert usual.digest != seeded.digest


def test_another_process_hashes_the_same_block_to_the_same_key() -> None:
    code = "from kvnb.core.hashing import *; print(short_key(hash_block_tokens(sha256, none_hash(sha256), b'ABCD')))"
    assert run_python(code) == "2174859f29fe1b18"
