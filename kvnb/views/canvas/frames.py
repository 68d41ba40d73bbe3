"""The bytes that a canvas is fed with: two for a block, two more for one that is shared.

Must not know: canvases, widgets, how anything is drawn.

Everything is little-endian. A frame of blocks::

    "KV"  version  flags  seq u32  num_blocks u32  count u32            16 bytes
    ids    u32 x count        only with flag 1: the blocks that this frame is about; without it all of them
    words  u16 x count
    refs   u16 x the number of shared blocks among them, in their order

A word, from its lowest bit: kind (2 bits: 0 null, 1 free, 2 one owner, 3 shared), hashed, just hit, just lost its hash,
just came back, then two numbers of the colour table (5 bits each): the first and the second owner's. So a frame of some
ids is all that changes need: words are absolute, and frames with flag 1 may be applied to the last frame without it.

A frame of the free queue, whose blocks are those of its two ends and those that left them since the frame before::

    "KQ"  version  0  seq u32  length u32  front u16  back u16  gone u16  0 u16       20 bytes
    a frame of blocks with flag 1: front ids, back ids (both front first), gone ids
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kvnb.journal import State
from kvnb.views.theme import OWNED, REQUESTS, SHARED, Paint, Painter
from kvnb.views.tiles import GREY, NO_MARKS, Marks
from kvnb.views.words import queue_ends

VERSION = 1
NULL, FREE, OWN, BOTH = range(4)
"""Kinds of a block; ``BOTH``: shared by two or more."""
HASHED, HIT, LOST, BACK = 4, 8, 16, 32
SOME = 1
_FIRST, _SECOND = 6, 11
_HEAD, _QUEUE = struct.Struct("<2sBBIII"), struct.Struct("<2sBBIIHHHH")
_MOST_REFS = 0xFFFF


class Colours:
    """The colours of requests as numbers below 32: the grey of an unknown owner, of a second one, then the requests'."""

    def __init__(self, painter: Painter = GREY) -> None:
        self.table: tuple[Paint, ...] = (OWNED, SHARED, *REQUESTS)
        self._painter = painter
        self._numbers = {paint: number for number, paint in enumerate(self.table)}

    def number(self, name: str) -> int:
        """The place of a request's colour in ``table``; an unknown colour is grey."""
        return self._numbers.get(self._painter(name), 0)


NO_COLOURS = Colours()


def encode(
    state: State, marks: Marks = NO_MARKS, colours: Colours = NO_COLOURS, seq: int = 0, ids: Sequence[int] | None = None
) -> bytes:
    """The blocks of a state as one frame; with ``ids`` only these, in the order given."""
    if ids is None:
        words = words_of(state, marks, colours)
        return whole(state, words, [block_id for block_id, word in enumerate(words) if word & 3 == BOTH], seq)
    words = words_at(state, marks, colours, ids)
    shared = [block_id for block_id, word in zip(ids, words, strict=True) if word & 3 == BOTH]
    return _head(state, SOME, seq, words) + _little(array("I", ids)) + _little(words) + _refs(state, shared)


def whole(state: State, words: array[int], shared: Iterable[int], seq: int) -> bytes:
    """A frame of every block whose words are known; ``shared``: the ids of shared blocks, ascending."""
    return _head(state, 0, seq, words) + _little(words) + _refs(state, shared)


def _head(state: State, flags: int, seq: int, words: array[int]) -> bytes:
    return _HEAD.pack(b"KV", VERSION, flags, seq, state.num_blocks, len(words))


def _refs(state: State, shared: Iterable[int]) -> bytes:
    return _little(array("H", [min(state.ref_cnt[block_id], _MOST_REFS) for block_id in shared]))


def words_of(state: State, marks: Marks, colours: Colours) -> array[int]:
    """The word of every block, by id."""
    # A loop over every block does as little as it can; owners and marks are laid over what it gives.
    plain = ((FREE, FREE | HASHED), (OWN, OWN | HASHED))
    pairs = zip(state.ref_cnt, state.keys, strict=True)
    words = array("H", [plain[refs > 0][key is not None] for refs, key in pairs])
    bits = _OwnerBits(colours)
    for block_id, names in state.owners.items():
        if len(names) == 1:
            words[block_id] |= bits[names[0]]
    for block_id in [i for i, refs in enumerate(state.ref_cnt) if refs > 1]:
        words[block_id] = words[block_id] & HASHED | bits.both(state.owners.get(block_id, ()))
    for block_id in frozenset().union(*marks):
        words[block_id] |= _marked(marks, block_id)
    words[0] = NULL
    return words


def words_at(state: State, marks: Marks, colours: Colours, ids: Iterable[int]) -> array[int]:
    """The words of these blocks, in their order."""
    bits = _OwnerBits(colours)

    def word(block_id: int) -> int:
        refs, names = state.ref_cnt[block_id], state.owners.get(block_id, ())
        seen = _marked(marks, block_id) | HASHED * (state.keys[block_id] is not None)
        if refs > 1:
            return seen | bits.both(names)
        return seen | (OWN if refs else FREE) | (bits[names[0]] if len(names) == 1 else 0)

    return array("H", [word(block_id) if block_id else NULL for block_id in ids])


def _marked(marks: Marks, block_id: int) -> int:
    return HIT * (block_id in marks.hit) | LOST * (block_id in marks.lost) | BACK * (block_id in marks.back)


class _OwnerBits(dict[str, int]):
    """From a request's name to the bits of its colour as a first owner, each asked for once a frame."""

    def __init__(self, colours: Colours) -> None:
        super().__init__()
        self._colours = colours

    def __missing__(self, name: str) -> int:
        self[name] = self._colours.number(name) << _FIRST
        return self[name]

    def both(self, names: Sequence[str]) -> int:
        """The word of a block shared by these; whoever is not known is grey."""
        first = self[names[0]] if names else 0
        second = self[names[1]] >> _FIRST if len(names) > 1 else 1
        return BOTH | first | second << _SECOND


def encode_queue(
    state: State,
    marks: Marks = NO_MARKS,
    colours: Colours = NO_COLOURS,
    seq: int = 0,
    before: Iterable[int] = (),
) -> bytes:
    """The free queue's two ends as one frame; ``before``: the ids of the last frame, to tell which of them left."""
    front, _, back = queue_ends(state)
    gone = [block_id for block_id in before if block_id not in state.queue]
    head = _QUEUE.pack(b"KQ", VERSION, 0, seq, len(state.queue), len(front), len(back), len(gone), 0)
    return head + encode(state, marks, colours, seq, [*front, *back, *gone])


def _little(values: array[int]) -> bytes:
    if sys.byteorder == "big":
        values = values[:]
        values.byteswap()
    return values.tobytes()


# --- and back: what the front end does with the bytes, for tests and for whoever reads them in Python -------------


class Seen(NamedTuple):
    """One block as a frame tells it."""

    kind: int
    hashed: bool
    hit: bool
    lost: bool
    back: bool
    refs: int
    colours: tuple[int, ...]


class Frame(NamedTuple):
    """Blocks by id, in the frame's order."""

    seq: int
    num_blocks: int
    blocks: dict[int, Seen]


class QueueFrame(NamedTuple):
    """The two ends of a free queue, how long it is, and which blocks left it."""

    length: int
    front: tuple[int, ...]
    back: tuple[int, ...]
    gone: tuple[int, ...]
    frame: Frame


def decode(data: bytes) -> Frame:
    """A frame of blocks. Raises ValueError for anything else."""
    magic, version, flags, seq, num_blocks, count = _HEAD.unpack_from(data)
    if (magic, version) != (b"KV", VERSION):
        raise ValueError(f"no frame of blocks of version {VERSION}: it begins with {data[:3]!r}")
    at = _HEAD.size
    ids: Sequence[int] = range(count)
    if flags & SOME:
        ids, at = struct.unpack_from(f"<{count}I", data, at), at + 4 * count
    words = struct.unpack_from(f"<{count}H", data, at)
    refs = iter(struct.unpack_from(f"<{(len(data) - at - 2 * count) // 2}H", data, at + 2 * count))
    blocks = {i: seen(word, next(refs) if word & 3 == BOTH else 0) for i, word in zip(ids, words, strict=True)}
    return Frame(seq, num_blocks, blocks)


def seen(word: int, refs: int = 2) -> Seen:
    """What a word tells; ``refs``: the owners of a shared block."""
    kind, first, second = word & 3, word >> _FIRST & 31, word >> _SECOND
    number = refs if kind == BOTH else int(kind == OWN)
    colours = {OWN: (first,), BOTH: (first, second)}.get(kind, ())
    return Seen(kind, bool(word & HASHED), bool(word & HIT), bool(word & LOST), bool(word & BACK), number, colours)


def decode_queue(data: bytes) -> QueueFrame:
    """A frame of the free queue. Raises ValueError for anything else."""
    magic, version, _, _, length, front, back, gone, _ = _QUEUE.unpack_from(data)
    if (magic, version) != (b"KQ", VERSION):
        raise ValueError(f"no frame of a queue of version {VERSION}: it begins with {data[:3]!r}")
    frame = decode(data[_QUEUE.size :])
    ids = tuple(frame.blocks)
    return QueueFrame(length, ids[:front], ids[front : front + back], ids[front + back :][:gone], frame)
