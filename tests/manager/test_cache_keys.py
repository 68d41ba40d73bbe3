"""Salts and adapters keep the blocks of equal tokens apart, by the hashes that vLLM would give them."""

from __future__ import annotations

import pickle
from hashlib import sha256
from typing import Any

import pytest
from cores import hashes, table
from helpers import do, engine

from kvnb import Lab
from kvnb.core.hashing import extra_keys
from kvnb.errors import CommandError
from kvnb.manager.engine import EngineCore

PROMPT = "ABCDEFGHIJKLM"
PLAIN: dict[str, Any] = {}
DIFFERENT = [
    PLAIN,
    {"salt": "s"},
    {"salt": "t"},
    {"lora": ["ad", "path/1"]},
    {"lora": ["ad", "path/2"]},
    {"lora": ["other", "path/1"]},
    {"lora": ["ad", ""]},
    {"lora": ["ad", "path/1"], "salt": "s"},
    {"salt": "ad"},
]


def fresh(text: str) -> str:
    """An equal string that is another object: pickle writes the same object, met again, differently."""
    return text.encode().decode()


def published(parent: bytes, tokens: str, extra: Any) -> bytes:
    """A block's hash by vLLM's formula, from the standard library alone."""
    return sha256(pickle.dumps((parent, tuple(ord(c) for c in tokens), extra), protocol=pickle.HIGHEST_PROTOCOL)).digest()


ROOT_HASH = sha256(pickle.dumps("vllm-none-hash", protocol=pickle.HIGHEST_PROTOCOL)).digest()


@pytest.mark.parametrize("ours", DIFFERENT, ids=str)
@pytest.mark.parametrize("theirs", DIFFERENT, ids=str)
def test_equal_tokens_are_shared_under_equal_keys_only(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    core = engine(num_blocks=21)
    do(core, "admit", name="a", text=PROMPT, **ours)
    do(core, "admit", name="b", text=PROMPT, **theirs)
    shared = set(table(core, "a")) & set(table(core, "b"))
    assert shared == ({1, 2, 3} if ours == theirs else set())


def test_all_of_them_in_one_pool_have_chains_that_never_meet() -> None:
    core = engine(num_blocks=50)
    for number, keys in enumerate(DIFFERENT):
        do(core, "admit", name=f"r{number}", text=PROMPT, **keys)
    assert len(set(hashes(core).values())) == 3 * len(DIFFERENT)


def test_the_salt_enters_the_first_block_only_and_the_adapter_every_block() -> None:
    assert extra_keys(0, "s", ("ad", "p")) == (("lora", "ad", "p"), ("cache_salt", "s"))
    assert extra_keys(4, "s", ("ad", "p")) == (("lora", "ad", "p"),)
    assert extra_keys(4, "s", None) is None
    assert extra_keys(0, None, None) is None


def admitted(**keys: Any) -> EngineCore:
    core = engine()
    do(core, "admit", name="a", text=PROMPT, **keys)
    return core


@pytest.mark.parametrize(
    ("name", "path", "salt"), [("ad", "path/1", "pepper"), ("a", "b", "c"), ("a", "a", "a"), ("x", "", "x"), ("é", "ü/🙂", "ß")]
)
def test_a_salted_block_of_an_adapter_has_the_hash_that_vllm_gives_it(name: str, path: str, salt: str) -> None:
    core = admitted(lora=[name, path], salt=salt)
    first = published(ROOT_HASH, "ABCD", (("lora", fresh(name), fresh(path)), ("cache_salt", fresh(salt))))
    second = published(first, "EFGH", (("lora", fresh(name), fresh(path)),))
    assert (hashes(core)[1], hashes(core)[2]) == (first, second)


def test_a_golden_hash_of_a_salted_block_of_an_adapter() -> None:
    assert hashes(admitted(lora=["ad", "path/1"], salt="pepper"))[1].hex()[-16:] == "80337cf66689f201"


def test_the_hash_does_not_depend_on_which_strings_are_one_object() -> None:
    same = "adapter"
    assert hashes(admitted(lora=[same, same], salt=same)) == hashes(admitted(lora=[fresh(same), fresh(same)], salt=fresh(same)))


def test_what_is_appended_and_what_is_resumed_keeps_the_keys() -> None:
    core = engine(num_blocks=21)
    keys = {"lora": ["ad", "p"], "salt": "s"}
    do(core, "admit", name="a", text=PROMPT, **keys)
    do(core, "append", name="a", text="NOP")
    do(core, "preempt", name="a")
    do(core, "admit", name="a")
    do(core, "admit", name="b", text=PROMPT + "NOPQ", **keys)
    assert table(core, "b")[:3] == table(core, "a")[:3] == (1, 2, 3)


def test_a_lab_takes_an_adapter_as_a_name_a_pair_or_as_it_is_typed() -> None:
    lab = Lab(50, block_size=4, device="none")
    for number, lora in enumerate(["ad", "ad=", ("ad", "")]):
        lab.admit(f"bare{number}", PROMPT, lora=lora)
    for number, lora in enumerate(["ad=p=q", ("ad", "p=q")]):
        lab.admit(f"path{number}", PROMPT, lora=lora)
    recorded = [step.command.args["lora"] for step in lab.journal.steps]
    assert recorded == [["ad", ""]] * 3 + [["ad", "p=q"]] * 2


@pytest.mark.parametrize(
    "lora", ["", "=path", ("", "p"), ("a=b", "p"), ("ad", None), ("ad",), 5, ("a", "b", "c"), (1, "p"), "\udfff"]
)
def test_what_is_no_adapter_is_one_line(lora: Any) -> None:
    lab = Lab(11, block_size=4, device="none")
    with pytest.raises(CommandError, match="is no adapter: give NAME or NAME=PATH"):
        lab.admit("a", PROMPT, lora=lora)
    assert len(lab.journal) == 0


@pytest.mark.parametrize("salt", ["", 5, b"s", "\ud800"])
def test_what_is_no_salt_is_one_line(salt: Any) -> None:
    with pytest.raises(CommandError, match=r"the salt is .*: give a text that is not empty"):
        Lab(11, block_size=4, device="none").admit("a", PROMPT, salt=salt)


def test_a_resumed_request_keeps_its_keys_and_takes_no_others() -> None:
    lab = Lab(11, block_size=4, device="none")
    lab.admit("a", PROMPT, salt="s")
    lab.preempt("a")
    with pytest.raises(CommandError, match="a keeps the salt and adapter of its admission: leave them out to resume it"):
        lab.admit("a", salt="t")
    assert lab.admit("a").hit_blocks == (1, 2, 3)
