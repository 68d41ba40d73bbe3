from __future__ import annotations

import re
import struct
from base64 import b64decode
from zlib import crc32, decompress

import pytest
from helpers import seed_lab
from hypothesis import given, settings
from hypothesis import strategies as st

from kvnb import Lab
from kvnb.views.canvas import blocks_shown, queue_shown
from kvnb.views.canvas.frames import BOTH, FREE, HASHED, HIT, LOST, OWN
from kvnb.views.canvas.png import Picture, blocks_png
from kvnb.views.theme import OWNED, REQUESTS, SHARED

TABLE = (OWNED, SHARED, *REQUESTS)
WORDS = st.builds(
    lambda kind, bits, first, second: kind | (bits << 2) | (first << 6) | (second << 11),
    st.integers(1, 3), st.integers(0, 15), st.integers(0, 9), st.integers(0, 9),
)  # fmt: skip


def pixels(picture: Picture) -> list[list[str]]:
    """The PNG read by the letter of its standard: every pixel as a colour."""
    data, at, parts = picture.png, 8, {}
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert struct.unpack_from(">I", data, at + 8 + length) == (crc32(kind + body),)
        parts[kind] = body
        at += 12 + length
    assert list(parts) == [b"IHDR", b"PLTE", b"IDAT", b"IEND"]
    width, height = struct.unpack_from(">II", parts[b"IHDR"])
    assert (width, height) == (picture.width, picture.height)
    palette = [parts[b"PLTE"][i : i + 3].hex() for i in range(0, len(parts[b"PLTE"]), 3)]
    raw = decompress(parts[b"IDAT"])
    rows = [raw[y * (width + 1) : (y + 1) * (width + 1)] for y in range(height)]
    assert all(row[0] == 0 for row in rows)
    return [["#" + palette[index].upper() for index in row[1:]] for row in rows]


@given(st.lists(WORDS, min_size=1, max_size=60), st.integers(1, 200))
@settings(max_examples=40, deadline=None)
def test_a_png_of_any_blocks_is_valid_and_not_too_large(words: list[int], times: int) -> None:
    picture = blocks_png([0, *words * times], TABLE)
    rows = pixels(picture)
    assert picture.width <= 780
    assert picture.height <= 600
    assert all(len(row) == picture.width for row in rows)


def test_every_block_of_a_large_pool_can_be_found_in_its_png() -> None:
    words = [0, *(OWN | (2 + i % 8) << 6 for i in range(99_999))]
    picture = blocks_png(words, TABLE)
    rows, columns = pixels(picture), picture.width // 2
    for block_id in (1, 349, 350, 12_345, 99_999):
        row, column = divmod(block_id, columns)
        assert rows[2 * row][2 * column] == REQUESTS[(block_id - 1) % 8].fill


def test_a_png_tells_the_kinds_apart_by_shape_too() -> None:
    kinds = [FREE, FREE | HASHED, OWN | 2 << 6, BOTH | 2 << 6 | 3 << 11, OWN | HIT | 2 << 6, OWN | LOST | 2 << 6]
    rows = pixels(blocks_png([0, *kinds], TABLE))
    shapes = []
    for place in range(7):
        block = [row[20 * place : 20 * place + 19] for row in rows[:19]]
        seen = sorted({colour for row in block for colour in row})
        shapes.append(tuple(seen.index(colour) for row in block for colour in row))
    flat = [shape for shape in shapes if set(shape) == {0}]
    assert len(flat) == 2, "free and empty, and one owner, are a ground and a colour"
    assert len(set(shapes)) >= 5


@pytest.mark.parametrize("worst", [True, False])
def test_a_png_of_100_000_blocks_is_below_a_tenth_of_a_megabyte(worst: bool) -> None:
    mixed = [0, *((i * 2_654_435_761 >> 7) % 3 + 1 | (i * 40_503 % 8 + 2) << 6 for i in range(99_999))]
    assert len(blocks_png(mixed if worst else [0, *[FREE] * 99_999], TABLE).png) <= 100_000


def test_small_pools_show_tiles_and_large_ones_an_image_that_says_what_it_shows() -> None:
    small = seed_lab()
    shown = blocks_shown(small.journal, small.state, len(small.journal))
    assert "<img" not in shown.html
    assert "11 blocks: 10 used by one, 0 shared, 0 free and cached, 0 free and empty" in shown.text
    large = Lab(5_000, block_size=4, device="none")
    large.admit("<b>r</b>", "ABCDEFGH")
    shown = blocks_shown(large.journal, large.state, 1)
    image = re.search(r'<img alt="([^"]*)" [^>]*src="data:image/png;base64,([^"]*)">', shown.html)
    assert image is not None
    assert image[1] == "Block map, 5,000 blocks: 2 used by one, 0 shared, 0 free and cached, 4,997 free and empty"
    assert b64decode(image[2]).startswith(b"\x89PNG")
    assert "4,997 free and empty" in re.sub(r"<[^>]*>", "", shown.html)
    large.admit("again", "ABCDEFGHI")
    html = blocks_shown(large.journal, large.state, 2).html
    assert "2 just hit" in html
    assert "ringed" not in html, "there is no room for a ring"


def test_what_is_shown_of_a_past_step_is_that_step() -> None:
    lab = seed_lab()
    shown = queue_shown(lab.journal, lab.journal.state_at(1), 1)
    assert shown.text == "free queue (front first, * = cached): 5 6 7 8 9 10"
    assert "step 1 · 6 free of 10" in shown.html


def test_without_a_live_notebook_an_output_is_the_static_form_alone() -> None:
    lab = seed_lab()
    shown = blocks_shown(lab.journal, lab.state, len(lab.journal))
    assert shown._repr_mimebundle_() == {"text/plain": shown.text, "text/html": shown.html}
    assert shown.widget is None
