from __future__ import annotations

import struct

import pytest
from any_states import marks_for, states
from helpers import seed_lab
from hypothesis import given
from hypothesis import strategies as st

from kvnb.journal import State
from kvnb.views.canvas.frames import BOTH, FREE, NULL, OWN, Colours, decode, decode_queue, encode, encode_queue
from kvnb.views.theme import OWNED, REQUESTS, SHARED, painter
from kvnb.views.tiles import NO_MARKS, marks_of
from kvnb.views.words import queue_ends

SHOWN = {"r0": REQUESTS[0], "r1": REQUESTS[1], "r2": REQUESTS[2], "<b>": REQUESTS[7]}


def kind(state: State, block_id: int) -> int:
    return NULL if block_id == 0 else (FREE, OWN, BOTH)[min(2, state.ref_cnt[block_id])]


@given(st.data())
def test_a_frame_tells_of_every_block_what_the_map_shows(data: st.DataObject) -> None:
    state = data.draw(states())
    marks, colours = data.draw(marks_for(state)), Colours(SHOWN.__getitem__)
    frame = decode(encode(state, marks, colours, seq=7))
    assert (frame.seq, frame.num_blocks, list(frame.blocks)) == (7, state.num_blocks, list(range(state.num_blocks)))
    for block_id, seen in list(frame.blocks.items())[1:]:
        assert seen.kind == kind(state, block_id)
        assert seen.hashed == (state.keys[block_id] is not None)
        assert (seen.hit, seen.lost, seen.back) == tuple(block_id in ids for ids in marks)
        assert seen.refs == min(state.ref_cnt[block_id], 0xFFFF)


@given(st.data())
def test_a_frame_tells_the_colours_of_the_first_two_owners(data: st.DataObject) -> None:
    state, colours = data.draw(states()), Colours(SHOWN.__getitem__)
    for block_id, seen in decode(encode(state, colours=colours)).blocks.items():
        owners = [SHOWN[name] for name in state.owners.get(block_id, ())]
        if seen.kind in (OWN, BOTH):
            unknown = [OWNED, SHARED][len(owners) :] if len(owners) < 2 else []
            expected = [*owners, *unknown][: 1 + (seen.kind == BOTH)]
            assert [colours.table[number] for number in seen.colours] == expected


@given(st.data())
def test_a_frame_of_what_changed_brings_the_frame_before_up_to_date(data: st.DataObject) -> None:
    before, after = data.draw(states()), data.draw(states())
    if before.num_blocks != after.num_blocks:
        return
    first, last = decode(encode(before)), decode(encode(after))
    changed = [block_id for block_id, seen in last.blocks.items() if first.blocks[block_id] != seen]
    change = decode(encode(after, ids=changed))
    assert {**first.blocks, **change.blocks} == last.blocks


@given(st.data())
def test_some_blocks_are_told_as_all_of_them_are(data: st.DataObject) -> None:
    state = data.draw(states())
    marks, colours = data.draw(marks_for(state)), Colours(SHOWN.__getitem__)
    ids = data.draw(st.lists(st.integers(0, state.num_blocks - 1), unique=True))
    every, some = (decode(encode(state, marks, colours, ids=which)) for which in (None, ids))
    assert list(some.blocks.items()) == [(block_id, every.blocks[block_id]) for block_id in ids]


@given(states())
def test_a_block_takes_two_bytes_and_a_shared_one_four(state: State) -> None:
    shared = sum(refs > 1 for refs in state.ref_cnt)
    assert len(encode(state)) == 16 + 2 * state.num_blocks + 2 * shared


@given(st.data())
def test_a_frame_of_the_queue_tells_its_ends_its_length_and_who_left(data: st.DataObject) -> None:
    state = data.draw(states())
    before = data.draw(st.lists(st.integers(1, 199), unique=True, max_size=64))
    before = [block_id for block_id in before if block_id < state.num_blocks]
    queue = decode_queue(encode_queue(state, NO_MARKS, before=before))
    front, _, back = queue_ends(state)
    assert (queue.front, queue.back, queue.length) == (tuple(front), tuple(back), len(state.queue))
    assert queue.gone == tuple(block_id for block_id in before if block_id not in state.queue)
    assert all(queue.frame.blocks[block_id].kind == FREE for block_id in (*front, *back))


def test_the_same_state_is_the_same_bytes() -> None:
    one, other = seed_lab(), seed_lab()
    assert encode(one.state, marks_of(one.journal.steps[-1])) == encode(other.state, marks_of(other.journal.steps[-1]))


def test_the_walk_through_is_told_as_its_tiles_show_it() -> None:
    lab = seed_lab(2)
    colours = Colours(painter(lab.journal))
    blocks = decode(encode(lab.state, marks_of(lab.journal.steps[-1]), colours)).blocks
    assert blocks[1] == (BOTH, True, True, False, False, 2, (2, 3))
    assert blocks[4] == (OWN, False, False, False, False, 1, (2,))
    assert blocks[6] == (OWN, False, False, False, False, 1, (3,))
    assert blocks[7] == (FREE, False, False, False, False, 0, ())
    assert blocks[0].kind == NULL


def test_bytes_of_another_kind_are_refused() -> None:
    frame, queue = encode(seed_lab().state), encode_queue(seed_lab().state)
    with pytest.raises(ValueError, match="no frame of blocks"):
        decode(queue + bytes(16))
    with pytest.raises(ValueError, match="no frame of a queue"):
        decode_queue(frame)
    with pytest.raises(struct.error):
        decode(frame[:-1])
