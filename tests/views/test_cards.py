from __future__ import annotations

import re

import pytest
from helpers import seed_lab
from page import Page, pool_row, step_card

from kvnb import Lab
from kvnb.core.invariants import Equation
from kvnb.errors import UnknownName
from kvnb.journal import State
from kvnb.views import html
from kvnb.views.tiles import Brush

# --- each state is told by more than its colour ----------------------------------------------------------------


def tile(state: State, block_id: int, brush: Brush | None = None) -> tuple[str, list[tuple[str, dict[str, str]]]]:
    page = Page((brush or Brush()).tile(state, block_id))
    return page.text, page.elements


def test_the_null_block_says_so_and_is_hatched() -> None:
    text, elements = tile(seed_lab().state, 0)
    assert text == "0 null"
    assert "background-image" in elements[0][1]


def test_free_and_empty_is_dashed_and_free_and_cached_solid_with_a_corner() -> None:
    state = seed_lab(4).state
    empty, kept = tile(state, 10), tile(state, 5)
    assert empty[0] == "10"
    assert "dashed" in empty[1][0][1]["border"]
    assert kept[0] == "5*"
    assert "solid" in kept[1][0][1]["border"]
    assert "border-top" in kept[1][1][1]


def test_an_owned_block_has_a_corner_when_it_carries_a_hash() -> None:
    state = seed_lab(1).state
    assert (tile(state, 3)[0], tile(state, 4)[0]) == ("3*", "4")


def test_a_shared_block_has_two_colours_and_its_count() -> None:
    lab = seed_lab(2)
    page = Page(step_card(lab))
    fills = [style["background"] for _, style in page.elements if "background" in style]
    assert "1* \N{MULTIPLICATION SIGN}2" in page.text
    assert {"#0072B2", "#E69F00"} <= set(fills)


def test_tiles_of_a_larger_pool_keep_corner_and_line() -> None:
    lab = Lab(100, block_size=4, device="none")
    lab.admit("r0", "ABCDEFGHI")
    held, partial = tile(lab.state, 1)[1][0][1], tile(lab.state, 3)[1][0][1]
    assert "gradient" in held["background"]
    assert "gradient" not in partial["background"]
    lab.release("r0")
    kept, empty = tile(lab.state, 1)[1][0][1], tile(lab.state, 3)[1][0][1]
    assert ("solid" in kept["border"], "gradient" in kept["background"]) == (True, True)
    assert ("dashed" in empty["border"], "background" in empty) == (True, False)


def test_a_hit_is_ringed_for_one_step_and_the_words_say_so() -> None:
    lab = seed_lab(2)
    assert step_card(lab).count("box-shadow") == 2
    assert "2 hit, 2 new" in Page(step_card(lab)).text
    assert "ringed: just hit" in Page(html.state_html(lab.journal, lab.state, 2)).text
    lab.append("r1", "y")
    assert "box-shadow" not in html.state_html(lab.journal, lab.state, 3)


def test_a_lost_hash_is_a_cross_and_a_sentence() -> None:
    page = Page(step_card(seed_lab()))
    assert "evict: block 5 loses its hash" in page.text
    assert "✕5*" in page.text
    assert "1 evicted" in page.text


def test_blocks_that_came_back_are_ringed() -> None:
    page = Page(step_card(seed_lab(3)))
    assert "ringed: just came back" in page.text
    assert sum("box-shadow" in style for _, style in page.elements) == 2


# --- what the cards say ------------------------------------------------------------------------------------------


def test_a_step_is_a_sentence_tiles_a_queue_and_a_quiet_line() -> None:
    lab = seed_lab(5)
    text = Page(step_card(lab)).text
    assert text.startswith("r2: 29 tokens, 3 block(s) from cache, 5 new")
    assert "1* 2* 3* 6* 4* 7* 8* 9" in text
    assert re.search(r"FRONT *reused next 10 5\* BACK *reused last", text)
    assert f"step 5 · usage 0.80 · nothing evicted · digest {lab.journal.digest[:4]}…" in text


def test_an_empty_queue_is_said() -> None:
    assert "empty: every block is in use" in Page(step_card(seed_lab())).text


def test_a_state_has_its_figures() -> None:
    lab = seed_lab(5)
    text = Page(html.state_html(lab.journal, lab.state, 5)).text
    for words in (
        "pool 11 blocks of 4 tokens",
        "8 / 10 used",
        "usage 0.80",
        "8 cached",
        "20 of 58 tokens hit",
        "34 %",
        "0 evicted",
    ):
        assert words in text
    for words in ("8 used by one", "0 shared", "1 free and cached", "1 free and empty", "step 5, after admit r2"):
        assert words in text


def test_the_new_pool_has_a_state_too() -> None:
    for num_blocks in (1, 2, 11):
        lab = Lab(num_blocks, device="none")
        text = Page(html.state_html(lab.journal, lab.state, 0)).text
        assert "no lookup yet" in text
        assert f"step 0, the new pool · digest {lab.journal.first_digest[:4]}…" in text
    assert "no block but the null block" in Page(html.usage_html(Lab(1, device="none").state)).text


def test_a_preempted_request_is_said_to_hold_nothing() -> None:
    lab = seed_lab(1)
    lab.preempt("r0")
    assert "preempted: holds no block, keeps its tokens" in Page(html.state_html(lab.journal, lab.state, 2)).text


def test_a_request_shows_the_tokens_of_each_block() -> None:
    lab = seed_lab(1)
    lab.append("r0", "PQ")
    text = Page(html.request_html(lab.journal, lab.state, "r0")).text
    assert "0\N{EN DASH}3ABCD" in text
    assert "16Q" in text
    lab.admit("r5", tokens=[1, 2])
    assert "0\N{EN DASH}11 2 6" in Page(html.request_html(lab.journal, lab.state, "r5")).text


def test_an_equation_that_does_not_hold_says_no() -> None:
    text = Page(html.check_html([Equation("a = b", "1, 1", True), Equation("c = d", "2, 3", False)])).text
    assert "oka = b1, 1NOc = d2, 3" in text


def test_the_pool_in_use_is_starred() -> None:
    text = Page(html.pools_html([{**pool_row("a"), "current": True}, {**pool_row("b"), "current": False}])).text
    assert "*a1146" in text
    assert "*b" not in text


def test_what_is_not_there_is_an_error() -> None:
    lab = seed_lab()
    with pytest.raises(UnknownName):
        html.block_html(lab.state, 99)
    with pytest.raises(UnknownName):
        html.request_html(lab.journal, lab.state, "r9")
