"""Cells as an image of pixels inside an SVG: a large pool in a few kilobytes.

Must not know: what the codes of the cells mean.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from struct import pack
from zlib import compress, crc32

from kvnb.journal import Journal
from kvnb.views.figures.cells import Cells
from kvnb.views.figures.static.pen import LEFT, TOP, WIDE, Frame, drawing, word
from kvnb.views.figures.steps import Steps, pool_text
from kvnb.views.theme import Ground

ROWS, _HIGH = 200, 300


def num_steps(num_blocks: int) -> int:
    """How many steps are drawn: of a very large queue few, for each is read from end to end."""
    return 400 if num_blocks <= 20_000 else 80


def mosaic_svg(
    journal: Journal, of: Ground, steps: Steps, cells: Cells, title: str, ends: tuple[str, str], says: str = ""
) -> str:
    """Cells with their key; ``ends`` name the first row and the last."""
    frame = Frame(of, steps, _HIGH, 1)
    number = -(-(journal.behaviour.num_blocks - 1) // cells.every)
    data = b64encode(png(cells.columns, number, [of.paper, *cells.colours])).decode()
    image = (
        f'<image x="{LEFT}" y="{TOP}" width="{WIDE - LEFT - frame.right}" height="{_HIGH}" preserveAspectRatio="none" '
        f'style="image-rendering:pixelated" href="data:image/png;base64,{data}"/>'
    )
    parts = [
        image,
        word(LEFT - 8, TOP + 10, ends[0], of.quiet, "end"),
        word(LEFT - 8, TOP + _HIGH, ends[1], of.quiet, "end"),
    ]
    key = [
        (words, f'<rect x="-6" y="-6" width="12" height="12" fill="{colour}" stroke="{of.line}"/>') for words, colour in cells.key
    ]
    return drawing(frame, journal, title, pool_text(journal, steps, says, cells.says), key, parts)


def png(columns: Sequence[bytes], rows: int, colours: Sequence[str]) -> bytes:
    """A PNG with a pixel a cell; code 0, and what a column lacks, has the first colour."""
    padded = [column.ljust(rows, b"\0") for column in columns]
    lines = b"".join(b"\0" + bytes(line) for line in zip(*padded, strict=True))
    palette = b"".join(bytes(_rgb(colour)) for colour in colours)
    head = pack(">IIBBBBB", len(columns), rows, 8, 3, 0, 0, 0)
    chunks = [(b"IHDR", head), (b"PLTE", palette), (b"IDAT", compress(lines, 9)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(map(_chunk, *zip(*chunks, strict=True)))


def _chunk(kind: bytes, data: bytes) -> bytes:
    return pack(">I", len(data)) + kind + data + pack(">I", crc32(kind + data))


def _rgb(colour: str) -> tuple[int, ...]:
    digits = colour[1:] if len(colour) == 7 else "".join(letter * 2 for letter in colour[1:])
    return tuple(int(digits[place : place + 2], 16) for place in (0, 2, 4))
