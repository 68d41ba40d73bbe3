"""Journal steps as vLLM's KV events: what vLLM 0.32 published for the same requests."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from random import Random
from typing import Any

import pytest
from helpers import needs, seed_lab

from kvnb import Lab
from kvnb.errors import KvnbError, MissingPackage
from kvnb.live.wire import KvEvent, KvEventStream, encode_batch, kv_events


def told(lab: Lab, raw: bool = False) -> list[list[KvEvent]]:
    """The events of each step so far."""
    return list(kv_events(lab.journal, raw))


def stored(hashes: list[str], parent: str | None, text: str, **more: Any) -> KvEvent:
    """A BlockStored of blocks of 4 letters, hashes in hex."""
    return {
        "type": "BlockStored",
        "block_hashes": [int(key, 16) for key in hashes],
        "parent_block_hash": int(parent, 16) if parent else None,
        "token_ids": [ord(letter) for letter in text],
        "block_size": 4,
        "lora_id": None,
        "medium": "GPU",
        "lora_name": None,
        "extra_keys": [None] * len(hashes),
        "group_idx": 0,
        "kv_cache_spec_kind": "full_attention",
        **more,
    }


def removed(key: str) -> KvEvent:
    return {"type": "BlockRemoved", "block_hashes": [int(key, 16)], "medium": "GPU", "group_idx": 0}


CLEARED = {"type": "AllBlocksCleared"}
A, B, C = "2174859f29fe1b18", "945ff04eecd21779", "71a557b85bfa876e"
PUBLISHED = [
    [stored([A, B, C], None, "ABCDEFGHIJKL")],
    [stored(["4ba8f20251998eaa"], B, "IJxx")],
    [],
    [],
    [stored(["eaee97fcccf21acb", "d541c9c48e1d7e1e", "87e20cd607b63777", "1d284f755c5376ce"], C, "y" * 16)],
    [removed("4ba8f20251998eaa"), stored(["ab236ad2cb5bfe2b", "2afaa33a924d10f8"], None, "zzzzzzzz")],
]


def test_the_seeds_walk_through_tells_what_vllm_published() -> None:
    assert told(seed_lab()) == PUBLISHED


def test_fields_stand_in_the_order_of_the_wire() -> None:
    for ours, theirs in zip(told(seed_lab())[5], PUBLISHED[5], strict=True):
        assert list(ours) == list(theirs)


def test_a_stream_tells_the_same_step_by_step() -> None:
    lab = Lab(11, block_size=4, device="none")
    stream = KvEventStream(lab.journal)
    assert stream.step(lab.admit("r0", "ABCDEFGHIJKLMNO").step) == PUBLISHED[0]
    assert stream.step(lab.append("r0", "P").step) == [stored(["e7ee789cb7e76fe3"], C, "MNOP")]


def test_raw_hashes_are_the_32_bytes_whose_end_is_the_integer() -> None:
    lab = seed_lab()
    ints, raws = told(lab), told(lab, raw=True)
    for number, raw in zip(ints[0][0]["block_hashes"], raws[0][0]["block_hashes"], strict=True):
        assert (len(raw), int.from_bytes(raw, "big") % 2**64) == (32, number)
    assert raws[1][0]["parent_block_hash"] == raws[0][0]["block_hashes"][1]
    assert raws[5][0]["block_hashes"] == raws[1][0]["block_hashes"]


def test_a_reset_is_told_as_everything_cleared() -> None:
    lab = seed_lab(4)
    lab.reset()
    assert told(lab)[4] == [CLEARED]
    lab.admit("again", "ABCD")
    assert told(lab)[5] == [stored([A], None, "ABCD")]


def test_an_undo_is_told_as_everything_cleared_and_the_past_stored_again() -> None:
    lab = seed_lab(2)
    lab.undo()
    assert told(lab)[2] == [CLEARED, *PUBLISHED[0]]
    lab.admit("r1", "ABCDEFGHIJxxxx")
    assert told(lab)[3] == PUBLISHED[1]


def test_an_undone_eviction_brings_back_what_was_removed() -> None:
    lab = seed_lab()
    lab.undo()
    assert told(lab)[6] == [CLEARED, *PUBLISHED[0], *PUBLISHED[1], *PUBLISHED[4]]


def test_what_is_filled_by_appends_drafts_and_chunks_is_told_when_it_is_hashed() -> None:
    lab = Lab(11, block_size=4, device="none")
    lab.admit("a", "ABCDEFGHI", chunk=3)
    lab.prefill("a", 5)
    lab.prefill("a")
    lab.append("a", "J", draft="KLM")
    lab.accept("a", 2)
    lab.append("a", "M")
    assert told(lab) == [[], [stored([A, B], None, "ABCDEFGH")], [], [], [], [stored([C], B, "IJKL")]]


def test_adapters_are_numbered_and_extra_keys_come_without_their_tags_and_paths() -> None:
    lab = Lab(21, block_size=4, device="none")
    lab.admit("a", "ABCDEFGH", lora="ad=p/1", salt="pepper")
    lab.admit("b", "ABCDEFGH", lora="ad=p/2")
    lab.admit("c", "ABCDEFGHI", lora="ad=p/1", salt="pepper")
    lab.append("c", "JKL")
    lab.admit("d", "ABCD", salt="pepper")
    first, second, third, last = (events[0] for events in told(lab) if events)
    assert first["extra_keys"] == [("ad", "pepper"), ("ad",)]
    assert second["extra_keys"] == [("ad",), ("ad",)]
    assert [event["lora_id"] for event in (first, second, third, last)] == [1, 2, 1, None]
    assert [event["lora_name"] for event in (first, second, third, last)] == ["ad", "ad", "ad", None]
    assert (third["parent_block_hash"], third["extra_keys"]) == (first["block_hashes"][1], [("ad",)])
    assert last["extra_keys"] == [("pepper",)]


def test_a_windowed_pool_says_so_and_names_no_null_block() -> None:
    lab = Lab(11, block_size=4, sliding_window=6, device="none")
    lab.admit("a", "ABCDEFGHIJKLMNO")
    lab.append("a", "P")
    event = told(lab)[1][0]
    assert (event["kv_cache_spec_kind"], event["kv_cache_spec_sliding_window"]) == ("sliding_window", 6)
    assert event["parent_block_hash"] == int(C, 16)
    assert event["token_ids"] == [ord(letter) for letter in "MNOP"]


def test_blocks_that_left_the_window_before_they_were_hashed_are_told_as_stored_without_a_hash() -> None:
    lab = Lab(11, block_size=4, sliding_window=2, device="none")
    lab.admit("a", "ABCDEF")
    lab.append("a", "G", draft="HIJKLM")
    lab.accept("a", 6)
    lab.append("a", "N")
    (event,) = told(lab)[3]
    assert (event["block_hashes"], event["parent_block_hash"]) == ([], int(A, 16))
    assert event["token_ids"] == [ord(letter) for letter in "EFGHIJKL"]
    assert "extra_keys" not in event


def test_without_caching_there_is_nothing_to_tell() -> None:
    assert told(seed_lab(prefix_caching=False)) == [[]] * 6


# --- a mirror that counts ------------------------------------------------------------------------------------------


def mirror(steps: Iterable[list[KvEvent]]) -> Counter[int]:
    """How many copies of each hash a listener knows: what a router keeps of a pool."""
    known: Counter[int] = Counter()
    for event in (event for events in steps for event in events):
        if event["type"] == "BlockStored":
            known.update(event["block_hashes"])
        elif event["type"] == "BlockRemoved":
            known.subtract(event["block_hashes"])
        else:
            known.clear()
    assert min(known.values(), default=0) >= 0
    return +known


def test_a_mirror_that_counts_copies_still_scores_the_whole_chain() -> None:
    lab = Lab(21, block_size=4, device="none")
    lab.admit("a", "AAAABBBBCCCC")
    lab.admit("b", "AAAABBBBCCCC")
    lab.append("b", "DDDDEEEEFFFFGGGG")
    lab.evict(3)
    steps = told(lab)
    chain = [*steps[0][0]["block_hashes"], *steps[2][0]["block_hashes"]]
    assert steps[1][0]["block_hashes"] == chain[2:3] == steps[3][0]["block_hashes"]
    known = mirror(steps)
    assert [known[block_hash] for block_hash in chain] == [1] * 7
    lab.evict(4)
    assert mirror(told(lab))[chain[2]] == 0


def cached(lab: Lab) -> Counter[int]:
    return Counter(int.from_bytes(block.block_hash[-8:], "big") for block in lab.pool.blocks if block.block_hash)


@pytest.mark.parametrize("window", [None, 2, 7])
@pytest.mark.parametrize("seed", range(8))
def test_a_mirror_of_all_events_knows_what_the_pool_has_cached_after_every_step(seed: int, window: int | None) -> None:
    random, lab = Random(seed), Lab(14, block_size=3, sliding_window=window, device="none")
    stream, steps, done = KvEventStream(lab.journal), [], 0
    while done < 150:
        try:
            result = anything(lab, random)
        except KvnbError:
            continue
        steps.append(stream.step(result.step))
        done += 1
        assert mirror(steps) == cached(lab)


def anything(lab: Lab, random: Random) -> Any:
    name, text = random.choice("abcd"), "ABC" * random.randint(0, 6) + random.choice("xyz")
    return random.choice([
        lambda: lab.admit(name, text, salt=random.choice([None, "s"]), lora=random.choice([None, "ad"])),
        lambda: lab.admit(name, text, chunk=random.randint(1, 9)),
        lambda: lab.admit(name),
        lambda: lab.prefill(name, random.randint(1, 6)),
        lambda: lab.append(name, text[-4:], draft=random.choice([None, "pqr"])),
        lambda: lab.accept(name, random.randint(0, 3)),
        lambda: lab.release(name), lambda: lab.preempt(name), lambda: lab.evict(random.randint(1, 13)),
        lambda: lab.reset(), lambda: lab.undo(),
    ])()  # fmt: skip


# --- bytes ---------------------------------------------------------------------------------------------------------


def test_a_batch_is_an_array_of_time_events_and_rank() -> None:
    msgpack = needs("msgspec").msgpack
    assert (
        encode_batch(1.5, [CLEARED]).hex() == "93cb3ff8000000000000" + "91" + "81a474797065b0" + b"AllBlocksCleared".hex() + "00"
    )
    assert msgpack.decode(encode_batch(1.5, PUBLISHED[5])) == [1.5, PUBLISHED[5], 0]
    assert msgpack.decode(encode_batch(0.0, [], None)) == [0.0, [], None]


def test_a_removed_block_has_these_bytes() -> None:
    needs("msgspec")
    event = "84" + "a474797065" + "ac" + b"BlockRemoved".hex() + "ac" + b"block_hashes".hex() + "91cf" + A
    event += "a6" + b"medium".hex() + "a3" + b"GPU".hex() + "a9" + b"group_idx".hex() + "00"
    assert encode_batch(1.5, [removed(A)]).hex() == "93cb3ff8000000000000" + "91" + event + "00"


def test_raw_hashes_are_binary_on_the_wire() -> None:
    msgpack = needs("msgspec").msgpack
    (event,) = told(seed_lab(1), raw=True)[0]
    assert msgpack.decode(encode_batch(1.5, [event]))[1][0]["block_hashes"] == event["block_hashes"]


def test_without_msgspec_it_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "msgspec", None)
    with pytest.raises(MissingPackage) as caught:
        encode_batch(1.5, [])
    assert str(caught.value) == "vLLM's event format needs 'kvnb[live]': pip install 'kvnb[live]'"
