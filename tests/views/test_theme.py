from __future__ import annotations

from itertools import combinations

import pytest
from helpers import seed_lab

from kvnb import Lab
from kvnb.views import theme
from kvnb.views.theme import LOST, OWNED, REQUESTS, SHARED, Paint, contrast, paint, painter


@pytest.mark.parametrize("colours", [*REQUESTS, OWNED, SHARED, LOST], ids=lambda colours: colours.fill)
def test_ink_can_be_read_on_every_fill(colours: Paint) -> None:
    assert contrast(*colours) >= 4.5


def test_contrast_is_wcags() -> None:
    assert contrast("#000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#fff") == pytest.approx(4.48, abs=0.01)
    assert paint("#F0E442") == ("#F0E442", "#000")
    assert paint("#0072B2") == ("#0072B2", "#fff")


def test_the_palette_starts_with_okabe_and_ito_and_keeps_their_moments_apart() -> None:
    fills = [colours.fill for colours in REQUESTS]
    assert fills[:5] == ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#F0E442"]
    assert len({*fills, theme.HIT, LOST.fill, OWNED.fill, SHARED.fill}) == len(fills) + 4


def test_the_seeds_requests_have_the_first_four_colours() -> None:
    paint_of = painter(seed_lab().journal)
    assert [paint_of(name) for name in ("r0", "r1", "r2", "r3")] == list(REQUESTS[:4])


def test_a_colour_is_the_same_in_every_later_picture() -> None:
    early, late = painter(seed_lab(2).journal), painter(seed_lab().journal)
    assert [early("r0"), early("r1")] == [late("r0"), late("r1")]


def test_requests_that_run_together_differ_while_there_are_colours() -> None:
    lab = Lab(100, block_size=4, device="none")
    for k in range(40):
        lab.admit(f"job {k}", tokens=[k])
        if k >= len(REQUESTS) - 1:
            lab.release(lab.requests[k % 3])
        colours = [painter(lab.journal)(name) for name in lab.requests]
        assert all(one != other for one, other in combinations(colours, 2))


def test_more_requests_than_colours_share_them() -> None:
    lab = Lab(100, block_size=4, device="none")
    for k in range(3 * len(REQUESTS)):
        lab.admit(str(k), tokens=[k])
    assert {painter(lab.journal)(name) for name in lab.requests} == set(REQUESTS)


def test_a_late_request_of_a_long_journal_has_a_colour_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(theme, "_READ", 2)
    lab = seed_lab()
    assert painter(lab.journal)("r0") == REQUESTS[0]
    assert painter(lab.journal)("r3") == painter(lab.journal)("r3") in REQUESTS
    assert painter(lab.journal)("\ud800") in REQUESTS


def test_without_a_journal_every_request_is_grey() -> None:
    assert painter(None)("r0") == painter(None)("r1") == OWNED


def test_a_name_that_comes_back_does_not_share_its_colour_with_another() -> None:
    lab = Lab(40, block_size=2, device="none")
    for step in range(8):
        lab.admit(f"r{step}", "x")
        lab.release(f"r{step}")
    for name in ("r0", "a", "b"):
        lab.admit(name, "x")
    colours = [painter(lab.journal)(name) for name in ("r0", "a", "b")]
    assert len(set(colours)) == 3
