"""The hash functions by vLLM's names: what each gives, what it needs, where the root of its chain comes from."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from helpers import assert_sound, needs, run_python

from kvnb import Lab
from kvnb.errors import KvnbError, MissingPackage, SettingError
from kvnb.manager import Behaviour
from kvnb.manager.hash_functions import HASH_FUNCTIONS, NOT_CRYPTOGRAPHIC, get_hash_function

VALUE = (b"parent", (65, 66, 67, 68), (("lora", "ad", "p"), ("cache_salt", "s")))


def pickled() -> bytes:
    return pickle.dumps(VALUE, protocol=pickle.HIGHEST_PROTOCOL)


def cbor() -> bytes:
    return needs("cbor2").dumps(VALUE, canonical=True)  # type: ignore[no-any-return]


def xxh3(data: bytes) -> bytes:
    return needs("xxhash").xxh3_128(data).digest()  # type: ignore[no-any-return]


KNOWN: dict[str, Callable[[], bytes]] = {
    "sha256": lambda: sha256(pickled()).digest(),
    "sha256_cbor": lambda: sha256(cbor()).digest(),
    "xxhash": lambda: xxh3(pickled()),
    "xxhash_cbor": lambda: xxh3(cbor()),
}


@pytest.fixture(params=HASH_FUNCTIONS)
def name(request: pytest.FixtureRequest) -> str:
    """Each hash function; skipped where its packages are missing."""
    for module in ("cbor2", "xxhash"):
        needs(module)
    return str(request.param)


def test_each_hashes_as_its_packages_do(name: str) -> None:
    assert get_hash_function(name)(VALUE) == KNOWN[name]()


def test_the_cryptographic_ones_give_32_bytes_and_the_others_16(name: str) -> None:
    assert len(get_hash_function(name)(VALUE)) == (16 if name in NOT_CRYPTOGRAPHIC else 32)


def test_a_known_answer_of_the_language_neutral_one() -> None:
    needs("cbor2")
    # 0x83 an array of three: h'00', the array [1, 2], null.
    assert get_hash_function("sha256_cbor")((b"\0", (1, 2), None)) == sha256(bytes.fromhex("83410082 0102f6")).digest()


def test_a_pool_of_each_hits_evicts_and_holds(name: str) -> None:
    lab = Lab(6, block_size=4, hash=name, device="none")
    lab.admit("a", "ABCDEFGHI")
    assert lab.admit("b", "ABCDEFGHIJ", salt=None).hit_blocks == (1, 2)
    lab.release(all=True)
    lab.admit("c", "x" * 20)
    assert_sound(lab)
    assert lab.verify().holds


@pytest.mark.parametrize(
    ("name", "module"), [("sha256_cbor", "cbor2"), ("xxhash", "xxhash"), ("xxhash_cbor", "cbor2"), ("xxhash_cbor", "xxhash")]
)
def test_a_missing_package_is_one_line_with_the_command_that_brings_it(
    name: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingPackage) as caught:
        Lab(5, hash=name, device="none")
    assert str(caught.value) == f"the hash function {name} needs 'kvnb[hash]': pip install 'kvnb[hash]'"


def test_without_the_packages_a_journal_that_needs_them_is_one_line_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs("cbor2")
    lab = Lab(5, hash="sha256_cbor", device="none")
    lab.admit("a", "x")
    path = lab.save(tmp_path / "journal.jsonl")
    monkeypatch.setitem(sys.modules, "cbor2", None)
    with pytest.raises(KvnbError, match="needs 'kvnb") as caught:
        Lab.load(path)
    assert "\n" not in str(caught.value)


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(SettingError, match="unknown hash 'sha256_cbr': did you mean sha256_cbor or sha256"):
        Lab(5, hash="sha256_cbr", device="none")


# --- the root of the chain ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("hash", NOT_CRYPTOGRAPHIC)
def test_a_root_that_nobody_can_guess_is_drawn_for_each_pool(hash: str) -> None:
    for module in ("cbor2", "xxhash"):
        needs(module)
    one, other = Lab(5, hash=hash, device="none"), Lab(5, hash=hash, device="none")
    assert one.behaviour.none_hash != other.behaviour.none_hash
    assert one.digest != other.digest
    assert Behaviour(num_blocks=5, hash=hash) == Behaviour(num_blocks=5, hash=hash)


@pytest.mark.parametrize("hash", ["sha256", "sha256_cbor"])
def test_the_cryptographic_ones_begin_with_vllms_fixed_root(hash: str) -> None:
    needs("cbor2")
    assert Lab(5, hash=hash, device="none").behaviour.none_hash == get_hash_function(hash)("vllm-none-hash").hex()
    assert Lab(5, hash=hash, device="none").digest == Lab(5, hash=hash, device="none").digest


def test_a_journal_with_a_drawn_root_loads_verifies_replays_and_goes_on(tmp_path: Path) -> None:
    needs("xxhash")
    lab = Lab(11, block_size=4, hash="xxhash", log=tmp_path / "log.jsonl", device="none")
    lab.admit("a", "ABCDEFGHI", salt="s")
    lab.admit("b", "ABCDEFGHI", salt="s")
    lab.undo()
    lab.close()
    again = Lab.load(tmp_path / "log.jsonl")
    assert again.behaviour.none_hash == lab.behaviour.none_hash
    assert (again.digest, again.verify().holds) == (lab.digest, True)
    assert again.admit("b", "ABCDEFGHI", salt="s").hit_blocks == (1, 2)
    assert_sound(again)


ROOTS = (
    "import sys; from kvnb import Lab; print(*[Lab(5, hash=name, device='none').behaviour.none_hash for name in sys.argv[1:]])"
)


def test_with_pythonhashseed_every_process_has_the_root_that_it_gives(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "17")
    root = get_hash_function(name)("17").hex()
    assert run_python(ROOTS, name) == Lab(5, hash=name, device="none").behaviour.none_hash == root
