from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvnb.core.events import Back, Cleared, Dropped, Front, Hashed, Hit, Took, Unhashed
from kvnb.journal.events import KINDS, Restored, from_json, kind_of, to_json
from kvnb.manager.events import Computed, Deferred, Ended, Extended, Looked, Nulled, RequestIs, Tokens

EXAMPLES = {
    "took": Took((1, 2)),
    "hit": Hit((1,)),
    "dropped": Dropped((2, 1)),
    "front": Front((4,)),
    "back": Back((3, 2)),
    "hashed": Hashed((1, 2), ("2174859f29fe1b18", "945ff04eecd21779")),
    "unhashed": Unhashed((5,), "reuse"),
    "cleared": Cleared(),
    "request": RequestIs("r0", "running"),
    "tokens": Tokens("r0", 15, 15, 0),
    "looked": Looked("r0", 15, 8, False),
    "deferred": Deferred("r0", 7),
    "computed": Computed(("r0", "r1"), 9),
    "extended": Extended("r0", (1, 2)),
    "nulled": Nulled("r0", 0, 2),
    "ended": Ended("r0"),
    "restored": Restored(3),
}

names = st.text(min_size=1)
ids = st.lists(st.integers(0, 2**31), max_size=5).map(tuple)
counts = st.integers(0, 2**40)
key = st.text("0123456789abcdef", min_size=16, max_size=16)
hashed = st.lists(st.tuples(st.integers(1), key), min_size=1).map(lambda pairs: Hashed(*map(tuple, zip(*pairs, strict=True))))
events = st.one_of(
    *[ids.map(kind) for kind in (Took, Hit, Dropped, Front, Back)],
    hashed,
    st.builds(Unhashed, ids, st.sampled_from(["reuse", "evict", "uncomputed"])),
    st.just(Cleared()),
    st.builds(RequestIs, names, st.sampled_from(["running", "preempted"])),
    st.builds(Tokens, names, counts, counts, counts),
    st.builds(Nulled, names, counts, counts),
    st.builds(Looked, names, counts, counts, st.booleans()),
    st.builds(Deferred, names, counts),
    st.builds(Computed, st.lists(names).map(tuple), counts),
    st.builds(Extended, names, ids),
    st.builds(Ended, names),
    st.builds(Restored, counts),
)


def test_every_kind_of_the_closed_list_has_an_example() -> None:
    assert list(EXAMPLES) == list(KINDS)
    assert {type(event) for event in EXAMPLES.values()} == set(KINDS.values())


@pytest.mark.parametrize("kind", KINDS)
def test_an_event_has_one_name_on_file_and_survives_the_round_trip(kind: str) -> None:
    event = EXAMPLES[kind]
    assert kind_of(event) == kind
    assert from_json(json.loads(json.dumps(to_json(event)))) == event


def test_an_event_on_file_is_its_kind_and_its_fields() -> None:
    assert json.dumps(to_json(EXAMPLES["took"])) == '["took", [1, 2]]'
    assert json.dumps(to_json(EXAMPLES["cleared"])) == '["cleared"]'
    assert json.dumps(to_json(EXAMPLES["extended"])) == '["extended", "r0", [1, 2]]'


@given(events)
def test_any_event_survives_the_round_trip_with_its_types(event) -> None:  # type: ignore[no-untyped-def]
    again = from_json(json.loads(json.dumps(to_json(event))))
    assert again == event
    assert type(again) is type(event)


@pytest.mark.parametrize("values", [["flew", [1]], ["took"], ["took", [1], [2]], ["ended"]])
def test_what_is_no_event_is_refused(values: list[object]) -> None:
    with pytest.raises((KeyError, TypeError)):
        from_json(values)
