"""Colours for eyes of every kind, and for a printer without any.

The simulation is that of Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision
Deficiency" (IEEE TVCG 15(6), 2009), severity 1.0, on linear RGB; distances are Euclidean in Ottosson's Oklab (2020),
where about 0.02 is just noticeable.
"""

from __future__ import annotations

import re
from itertools import combinations, pairwise

import pytest
from helpers import seed_lab

from kvnb import Lab
from kvnb.core.events import Back, Hit
from kvnb.views import theme
from kvnb.views.theme import HIT, LOST, OWNED, RAMP, REQUESTS, SHARED, Paint, contrast, luminance, painter
from kvnb.views.tiles import Brush, marks_of

Rows = tuple[tuple[float, float, float], ...]

EYES: dict[str, Rows] = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
TO_LMS: Rows = (
    (0.4122214708, 0.5363325363, 0.0514459929), (0.2119034982, 0.6806995451, 0.1073969566),
    (0.0883024619, 0.2817188376, 0.6299787005),
)  # fmt: skip
TO_LAB: Rows = (
    (0.2104542553, 0.7936177850, -0.0040720468), (1.9779984951, -2.4285922050, 0.4505937099),
    (0.0259040371, 0.7827717662, -0.8086757660),
)  # fmt: skip


def times(rows: Rows, vector: list[float]) -> list[float]:
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in rows]


def linear(colour: str) -> list[float]:
    digits = colour[1:] if len(colour) == 7 else "".join(c * 2 for c in colour[1:])
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]


def seen(colour: str, eyes: str) -> list[float]:
    """The colour in Oklab, as these eyes see it."""
    rgb = [min(1.0, max(0.0, part)) for part in times(EYES[eyes], linear(colour))]
    return times(TO_LAB, [part ** (1 / 3) for part in times(TO_LMS, rgb)])


def apart(one: str, other: str, eyes: str) -> float:
    return sum((a - b) ** 2 for a, b in zip(seen(one, eyes), seen(other, eyes), strict=True)) ** 0.5


def paints() -> list[Paint]:
    """Every fill with its ink that the theme has, whoever adds one."""
    found = [value for value in vars(theme).values() if isinstance(value, Paint)]
    for value in vars(theme).values():
        if isinstance(value, tuple) and not isinstance(value, Paint):
            found += [part for part in value if isinstance(part, Paint)]
    return found


# --- the simulation itself -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("eyes", EYES)
def test_white_and_black_look_the_same_to_all_eyes(eyes: str) -> None:
    assert seen("#fff", eyes) == pytest.approx([1, 0, 0], abs=0.01)
    assert seen("#000", eyes) == pytest.approx([0, 0, 0], abs=0.01)


def test_red_and_green_come_nearer_to_eyes_that_lack_a_cone_for_them() -> None:
    for eyes in ("protanopia", "deuteranopia"):
        assert apart("#c00000", "#007000", eyes) < apart("#c00000", "#007000", "normal") / 2
    assert apart("#0000ff", "#00a000", "tritanopia") < apart("#0000ff", "#00a000", "normal") / 1.5


# --- the theme -------------------------------------------------------------------------------------------------------


def test_ink_can_be_read_on_every_paint_of_the_theme() -> None:
    assert len(paints()) >= len(REQUESTS) + len(RAMP) + 3
    assert {colours.fill: round(contrast(*colours), 2) for colours in paints() if contrast(*colours) < 4.5} == {}


@pytest.mark.parametrize("eyes", EYES)
def test_requests_differ_to_all_eyes(eyes: str) -> None:
    fills = [colours.fill for colours in REQUESTS]
    assert min(apart(one, other, eyes) for one, other in combinations(fills, 2)) > 0.05
    # Most lessons have up to four requests.
    assert min(apart(one, other, eyes) for one, other in combinations(fills[:4], 2)) > 0.07


@pytest.mark.parametrize("eyes", EYES)
def test_moments_differ_from_requests_and_from_each_other_to_all_eyes(eyes: str) -> None:
    moments = (HIT, LOST.fill)
    assert min(apart(colours.fill, moment, eyes) for colours in REQUESTS for moment in moments) > 0.09
    assert min(apart(one, other, eyes) for one, other in combinations([*moments, OWNED.fill, SHARED.fill], 2)) > 0.08


def test_the_ramp_becomes_darker_by_a_step_that_is_seen_in_grey() -> None:
    shades = [luminance(colours.fill) for colours in RAMP]
    assert all((light + 0.05) / (dark + 0.05) > 1.3 for light, dark in pairwise(shades))


def test_in_grey_six_of_eight_requests_differ_and_names_tell_the_rest() -> None:
    shades = sorted(luminance(colours.fill) for colours in REQUESTS)
    steps = [(light + 0.05) / (dark + 0.05) for dark, light in pairwise(shades)]
    assert sum(step > 1.25 for step in steps) >= 5
    assert (luminance(SHARED.fill) + 0.05) / (luminance(OWNED.fill) + 0.05) > 2.5


# --- states by shape ---------------------------------------------------------------------------------------------------


def colourless(markup: str) -> str:
    return re.sub(r"#[0-9A-Fa-f]{3,6}\b|rgba\([^)]*\)", "GREY", re.sub(r"\d+(?=<|$)", "N", markup))


@pytest.mark.parametrize("num_blocks", [24, 300])
def test_without_any_colour_every_state_of_a_block_has_another_shape(num_blocks: int) -> None:
    lab = Lab(num_blocks, block_size=4, device="none")
    lab.admit("a", "ABCDEFGHI")
    lab.admit("b", "ABCDxyzw1")
    lab.admit("c", "ABCDEFGHz")
    lab.release("c")
    brush, state = Brush(painter(lab.journal)), lab.state
    free_cached = Lab(num_blocks, block_size=4, device="none")
    free_cached.admit("a", "ABCDE")
    free_cached.release("a")
    shapes = {
        "null": brush.tile(state, 0),
        "shared": brush.tile(state, 1),
        "one owner, cached": brush.tile(state, 2),
        "one owner": brush.tile(state, 3),
        "free and empty": brush.tile(state, 9),
        "free and cached": brush.tile(free_cached.state, 1),
    }
    drawn = {colourless(markup) for markup in shapes.values()}
    assert len(drawn) == len(shapes)


def test_without_any_colour_a_hit_an_eviction_and_a_return_are_told_apart() -> None:
    lab = seed_lab()
    hit, back, lost = (
        colourless(Brush(painter(lab.journal), marks_of(lab.journal.steps[k - 1])).tile(lab.journal.state_at(k), block_id))
        for k, block_id in ((5, 1), (4, 1), (6, 5))
    )
    assert lab.journal.steps[4].of(Hit)
    assert lab.journal.steps[3].of(Back)
    assert "box-shadow" in hit
    assert "background:GREY" in hit, "a ring round a block in use: hit"
    assert "box-shadow" in back
    assert "background:GREY" not in back, "a ring round a block of the queue: it came back"
    assert "✕" in lost
