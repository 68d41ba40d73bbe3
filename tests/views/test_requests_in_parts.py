"""Requests in chunks, with drafts and under a window: what every view says of them."""

from __future__ import annotations

import re

import pytest
from page import Page, step_card

from kvnb import Lab
from kvnb.views import html, text
from kvnb.views.text import sentence

TO = "\N{EN DASH}"


def chunked() -> Lab:
    """Fifteen tokens, of which five are scheduled."""
    lab = Lab(11, block_size=4, device="none")
    lab.admit("r0", "ABCDEFGHIJKLMNO", chunk=5)
    return lab


def drafting(drafts: str = "HIJ") -> Lab:
    """Seven tokens, and drafts in the slots behind them."""
    lab = Lab(11, block_size=4, device="none")
    lab.admit("r0", "ABCDEF")
    lab.append("r0", "G", draft=drafts)
    return lab


def windowed() -> Lab:
    """Two blocks of ``r0`` left the window."""
    lab = Lab(11, block_size=4, sliding_window=6, device="none")
    lab.admit("r0", "ABCDEFGHIJKLM")
    lab.append("r0", "N")
    return lab


def request_page(lab: Lab) -> str:
    return Page(html.request_html(lab.journal, lab.state, "r0")).text


def request_lines(lab: Lab) -> list[str]:
    says = text.request_text(lab.state, "r0", 4)
    return re.sub(r"hash [0-9a-f]{16}", "hash ...", says).split("\n")


def pool_page(lab: Lab) -> str:
    return Page(html.state_html(lab.journal, lab.state, len(lab.journal))).text


# --- sentences -----------------------------------------------------------------------------------------------------


def test_a_chunk_says_how_many_tokens_are_scheduled() -> None:
    lab = chunked()
    assert sentence(lab.journal.steps[-1]) == "r0: 15 tokens, 0 block(s) from cache, 2 new, 5 tokens scheduled"
    assert sentence(lab.prefill("r0", 3).step) == "r0: 15 tokens, 0 new, 8 tokens scheduled"
    assert sentence(lab.prefill("r0").step) == "r0: 15 tokens, 2 new"


def test_the_chunk_of_a_block_says_so() -> None:
    lab = Lab(11, block_size=4, device="none")
    assert sentence(lab.admit("r0", "ABCDEFGH", chunk=4).step) == (
        "r0: 8 tokens, 0 block(s) from cache, 1 new, 4 tokens scheduled"
    )


def test_drafts_have_their_slots_said_and_accepting_counts_them() -> None:
    lab = drafting()
    assert sentence(lab.journal.steps[-1]) == "r0: 7 tokens, 1 new, slots for 3 drafts"
    assert sentence(lab.accept("r0", 2).step) == "r0: 9 tokens, 2 of its drafts accepted"
    assert sentence(lab.append("r0", "J", draft="K").step) == "r0: 10 tokens, 0 new, slots for 1 draft"


def test_what_left_the_window_is_said() -> None:
    lab = windowed()
    assert sentence(lab.journal.steps[-1]) == "r0: 14 tokens, 0 new, 2 left the window"
    lab.append("r0", "OPQ")
    assert sentence(lab.admit("r1", "ABCDEFGHIJKLMNOPQ").step) == (
        "r1: 17 tokens, 2 block(s) from cache, 1 new, 2 before the window"
    )


def test_a_pool_under_a_window_says_so() -> None:
    assert text.size_text(windowed().behaviour) == "11 blocks of 4 tokens, a window of 6 tokens"


# --- a request, block by block ---------------------------------------------------------------------------------------


def test_a_chunked_request_is_told_as_far_as_it_is_scheduled() -> None:
    assert request_lines(chunked()) == [
        "r0: 15 tokens (5 scheduled), running, 0 from cache",
        "  tokens 0-3: block 1, hash ...",
        "  tokens 4-4: block 2, no hash",
    ]
    page = request_page(chunked())
    assert "15 tokens (5 scheduled)" in page
    assert f"0{TO}3ABCD" in page
    assert "4E2" in page
    assert "F" not in page.split("shared with")[1]


def test_drafts_are_told_apart_from_tokens() -> None:
    assert request_lines(drafting()) == [
        "r0: 7 tokens and 3 drafts, running, 0 from cache",
        "  tokens 0-3: block 1, hash ...",
        "  tokens 4-7: block 2, no hash",
        "  tokens 8-9: block 3, no hash",
    ]
    page = request_page(drafting())
    assert "7 tokens and 3 drafts" in page
    assert f"4{TO}7EFGH draft2" in page
    assert f"8{TO}9IJ draft3" in page


def test_slots_of_rejected_drafts_hold_no_token_yet() -> None:
    lab = drafting()
    lab.accept("r0", 0)
    assert request_lines(lab)[-2:] == ["  tokens 4-6: block 2, no hash", "  no token yet: block 3, no hash"]
    assert f"4{TO}6EFG2" in request_page(lab)
    assert "none yet3no hash" in request_page(lab)


def test_block_0_stands_for_what_left_the_window() -> None:
    assert request_lines(windowed())[1:3] == [
        "  tokens 0-3: block 0, no memory: they left the window",
        "  tokens 4-7: block 0, no memory: they left the window",
    ]
    page = request_page(windowed())
    assert f"0{TO}3ABCD0 nullno memory: they left the window" in page
    assert f"12{TO}13MN4" in page


def test_under_a_window_only_real_blocks_are_shared() -> None:
    lab = windowed()
    lab.admit("r1", "ABCDEFGHIJKLMx")
    assert lab.block_table("r1")[:3] == (0, 2, 3)
    assert request_lines(lab)[3].endswith("block 3, hash ..., shared with r1")
    assert "r1" not in request_page(lab).split(f"8{TO}11")[0]
    assert "in the table of r0 and r1" in text.block_text(lab.state, 3)


def test_a_preempted_request_is_told_too() -> None:
    lab = chunked()
    lab.preempt("r0")
    assert request_lines(lab) == ["r0: 15 tokens, preempted, 0 from cache"]
    assert request_page(lab) == "r0: 15 tokens, preempted, 0 from cache"


@pytest.mark.parametrize(
    ("tokenizer", "prompt", "shown"),
    [
        ("chars", {"text": "aé🙂"}, "aé🙂"),
        ("chars", {"tokens": [97, 98, 2**40]}, "ab1099511627776 "),
        ("chars", {"tokens": [1, 2, 3]}, "1 2 3 "),
        ("bytes", {"text": "aé"}, "a195 169 "),
    ],
)
def test_tokens_are_letters_where_the_tokenizer_has_letters(tokenizer: str, prompt: dict[str, str], shown: str) -> None:
    lab = Lab(11, block_size=4, tokenizer=tokenizer, device="none")
    lab.admit("r0", **prompt)  # type: ignore[arg-type]
    assert shown in request_page(lab)


def test_a_request_is_shown_with_the_words_it_has_after_an_undo() -> None:
    lab = drafting()
    lab.accept("r0", 3)
    lab.undo()
    assert f"8{TO}9IJ draft" in request_page(lab)


# --- cards and tables --------------------------------------------------------------------------------------------------


def test_a_state_says_what_is_scheduled_and_what_is_a_draft() -> None:
    assert "5 of 15 tokens" in pool_page(chunked())
    assert "7 tokens, 3 drafts" in pool_page(drafting())
    assert text.tables_text(chunked().state) == "r0: 15 tokens (5 scheduled), running, block table [1 2]"
    assert text.tables_text(drafting().state) == "r0: 7 tokens and 3 drafts, running, block table [1 2 3]"


def test_null_entries_of_a_table_are_tiles_and_numbers() -> None:
    assert text.tables_text(windowed().state) == "r0: 14 tokens, running, block table [0 0 3 4]"
    assert "0 null 0 null 3* 4" in pool_page(windowed())
    assert "0 null 0 null 3* 4" in Page(step_card(windowed())).text


def test_a_step_card_says_which_block_became_full() -> None:
    lab = chunked()
    assert "is full" not in Page(step_card(lab)).text
    lab.prefill("r0", 3)
    assert "block 2 is full: it gets a hash" in Page(step_card(lab)).text
    lab.prefill("r0")
    lab.append("r0", "PQRSTUVWX")
    assert "blocks 4, 5 and 6 are full: they get a hash" in Page(step_card(lab)).text
    assert text.step_text(lab.journal.steps[-1], lab.state).count("is full: it gets a hash") == 3


def test_a_block_that_left_the_window_before_it_was_hashed_is_not_said_to_be_full() -> None:
    lab = Lab(11, block_size=4, sliding_window=2, device="none")
    lab.admit("r0", "ABCDEF")
    lab.append("r0", "G", draft="HIJKLM")
    lab.accept("r0", 6)
    lab.append("r0", "N")
    assert "is full" not in Page(step_card(lab)).text
    assert "r0: 14 tokens, 0 new, 2 left the window" in Page(step_card(lab)).text
    assert text.details(lab.journal.steps[-1]) == []


def test_a_step_card_of_drafts_says_their_slots() -> None:
    lab = drafting()
    assert "r0: 7 tokens, 1 new, slots for 3 drafts" in Page(step_card(lab)).text
    lab.accept("r0", 1)
    assert "r0: 8 tokens, 1 of its drafts accepted" in Page(step_card(lab)).text
