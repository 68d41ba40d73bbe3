"""A picture of a large pool as a small PNG: a palette, a few pixels a block, written without a library.

Must not know: requests' names, HTML.

At this size a block is a square of its owner's colour; free and empty is the ground, a corner stands for a hash as on a
tile, a second colour from below for a second owner.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple
from zlib import compress, crc32

from kvnb.views.canvas.frames import BOTH, FREE, NULL, Seen, seen
from kvnb.views.theme import BLACK, EDGE, HIT, LOST, Paint

GROUND, EMPTY, KEPT = "#FFFFFF", "#F0F1F3", "#B9BCC2"
WIDE, HIGH, HIGHEST, LARGEST = 780, 480, 600, 20
"""In pixels: a picture; one that would else have to make do with a pixel a block; the largest block."""


class Picture(NamedTuple):
    """A PNG and its size in pixels."""

    png: bytes
    width: int
    height: int


def blocks_png(words: Sequence[int], table: Sequence[Paint]) -> Picture:
    """Every block, row by row; its word as in ``frames``, and the colours that the words speak of."""
    side, columns = _fit(len(words))
    palette = [GROUND, EMPTY, KEPT, EDGE, BLACK, HIT, LOST.fill, *(paint.fill for paint in table)]
    stamps = {word: _stamp(seen(word), side) for word in set(words)}
    lines: list[bytes] = []
    for start in range(0, len(words), columns):
        row = [stamps[word] for word in words[start : start + columns]]
        missing = bytes(side * (columns - len(row)))
        lines += [b"".join([stamp[y] for stamp in row]) + missing for y in range(side)]
    return Picture(_written(palette, lines), columns * side, len(lines))


def _fit(num_blocks: int) -> tuple[int, int]:
    """How large a block can be, and how many stand in a row: a round number of them where they are many."""
    for side in range(LARGEST, 1, -1):
        columns = _columns(side)
        if -(-num_blocks // columns) * side <= (HIGHEST if side == 2 else HIGH):
            return side, columns
    return 1, _columns(1)


def _columns(side: int) -> int:
    fit = WIDE // side
    return fit - fit % (50 if fit >= 200 else 10)


_GROUND, _EMPTY, _KEPT, _EDGE, _BLACK, _HIT, _LOST, _OWNERS = range(8)


def _stamp(block: Seen, side: int) -> list[bytes]:
    """A block as lines of palette indices; from four pixels on there is ground between blocks."""
    inner = side - (side > 3)
    rows = [bytearray([_fill(block)] * inner) for _ in range(inner)]
    if block.kind == NULL:
        for y, row in enumerate(rows):
            row[:] = bytes(_BLACK if (x + y) % 2 else _GROUND for x in range(inner))
    for row in rows[inner - -(-inner // 3) :] if block.kind == BOTH else ():
        row[:] = bytes([_OWNERS + block.colours[1]]) * inner
    if block.hashed and block.kind == FREE and inner > 1:
        for y in range(max(1, inner // 3)):
            for x in range(inner - max(1, inner // 3) + y, inner):
                rows[y][x] = _BLACK if inner > 3 else _EDGE
    mark = _HIT if block.hit else _LOST if block.lost else 0
    if mark and inner > 3:
        rows[0][:] = rows[-1][:] = bytes([mark]) * inner
        for row in rows:
            row[0] = row[-1] = mark
    gap = bytes(side - inner)
    return [bytes(row) + gap for row in rows] + [bytes(side)] * (side - inner)


def _fill(block: Seen) -> int:
    if block.kind == FREE:
        return _KEPT if block.hashed else _EMPTY
    return _OWNERS + block.colours[0] if block.colours else _BLACK


def _written(palette: Sequence[str], lines: Sequence[bytes]) -> bytes:
    head = struct.pack(">IIBBBBB", len(lines[0]), len(lines), 8, 3, 0, 0, 0)
    colours = b"".join(bytes.fromhex(_six(colour)) for colour in palette)
    pixels = compress(b"".join(b"\0" + line for line in lines), 9)
    parts = [(b"IHDR", head), (b"PLTE", colours), (b"IDAT", pixels), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*part) for part in parts)


def _six(colour: str) -> str:
    return colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc32(kind + data))
