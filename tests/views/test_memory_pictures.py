"""Pictures of memory: the slots of a block, those of a pool, a proof, what a model made."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from helpers import SEED_PROMPTS, needs
from page import Page
from test_html import HOSTILE, PROPERTIES, TAGS

from kvnb import Lab
from kvnb.views.contents import WORDS
from kvnb.views.memory import Scale
from kvnb.views.shown import Moment, Shown, block_shown, contents_shown, generated_shown, proof_shown, step_shown
from kvnb.views.theme import contrast

needs("torch")


@pytest.fixture(scope="module")
def lab() -> Lab:
    """Every kind of slot: r1 runs, r0 left a cached block and a stale one, `waits` is not computed."""
    lab = Lab(11, block_size=4, device="cpu")
    lab.admit("r0", SEED_PROMPTS["r0"])
    lab.admit("r1", SEED_PROMPTS["r1"])
    lab.release("r0")
    lab.admit("waits", "qqqqqq", defer=True)
    lab.evict(3)
    return lab


def lines(shown: Shown) -> list[str]:
    return str(shown).splitlines()


def test_a_block_says_slot_by_slot_whose_token_it_holds_and_how_large_k_is(lab: Lab) -> None:
    says = lines(block_shown(Moment.of(lab), 6))
    assert says[0] == "block 6: ref_cnt 1, no hash, in the table of r1"
    assert says[1].startswith("  slot 0: live, token 120 'x', place 12 of r1, step 2; K ")
    assert says[3:] == ["  slot 2: unwritten", "  slot 3: unwritten"]


def test_a_block_that_waits_to_be_computed_has_a_hash_and_nothing_in_it(lab: Lab) -> None:
    says = lines(block_shown(Moment.of(lab), 4))
    assert "hash" in says[0]
    assert says[1:] == [f"  slot {at}: unwritten" for at in range(4)]


def test_a_pool_says_block_by_block_what_is_in_memory(lab: Lab) -> None:
    says = lines(contents_shown(Moment.of(lab)))
    assert says[0] == "slots: 14 live, 0 cached, 4 stale, 22 unwritten"
    assert says[3].startswith("  block 3: 4 stale, written by r0 in step 1; K ")
    assert says[10] == "  block 10: 4 unwritten"


def test_a_large_pool_shows_its_first_blocks_and_how_many_are_left_out() -> None:
    large = Lab(10_001, block_size=16, device="cpu", layers=1, kv_heads=1, head_size=2)
    large.admit("a", "x" * 5000)
    shown = contents_shown(Moment.of(large))
    assert lines(shown)[-1] == "  ... 9,936 more blocks: show block ID"
    assert len(shown.html) < 150_000


def test_without_memory_the_same_is_told_but_for_the_norms() -> None:
    pool = Lab(11, block_size=4, device="none")
    pool.admit("r0", "ABC")
    assert lines(block_shown(Moment.of(pool), 1))[1:] == [
        "  slot 0: live, token 65 'A', place 0 of r0, step 1", "  slot 1: live, token 66 'B', place 1 of r0, step 1",
        "  slot 2: live, token 67 'C', place 2 of r0, step 1", "  slot 3: unwritten",
    ]  # fmt: skip
    assert "K, head" not in block_shown(Moment.of(pool), 1).html


def test_a_proof_says_what_was_compared_and_by_how_much_it_differs() -> None:
    pool = Lab(11, block_size=4, device="cpu")
    pool.admit("r0", SEED_PROMPTS["r0"])
    proved = lines(proof_shown(pool, pool.prove("r0")))
    assert proved[0] == "r0 is proved: 15 tokens computed again, with no cache"
    assert [line.split(":")[0] for line in proved[1:5]] == [
        "  ok logits of the next token", "  ok K in blocks 1 2 3 4", "  ok V in blocks 1 2 3 4", "  ok next token",
    ]  # fmt: skip
    pool.kv[2] += 1
    refuted = lines(proof_shown(pool, pool.prove("r0")))
    assert refuted[0].startswith("r0 is NOT proved")
    assert refuted[2].startswith("  NO K in blocks 1 2 3 4: block 2 by ")
    assert "block 3" not in refuted[2]
    assert refuted[-1] == "  differences up to 1e-05 are rounding"


def test_what_nobody_has_written_is_named_in_a_proof() -> None:
    pool = Lab(11, block_size=4, device="cpu")
    pool.admit("r0", SEED_PROMPTS["r0"])
    pool.kv[1] = float("nan")
    assert "  NO K in blocks 1 2 3 4: block 1 by NaN (never written)" in lines(proof_shown(pool, pool.prove("r0")))


def test_what_a_model_made_is_told_in_quotes_with_the_blocks_that_became_full() -> None:
    pool = Lab(11, block_size=4, device="cpu")
    pool.admit("r0", "ABC")
    made = pool.generate("r0", 2, temperature=0.5, seed=3)
    says = repr(made).splitlines()
    assert says[0] == "r0 generates 2 tokens, 1 new block(s), drawn at temperature 0.5 with seed 3"
    assert says[1] == f"  {made.text!r}"
    assert says[2:4] == ["  block 1 is full: it gets a hash", "  block table [1 2]"]


def test_a_failed_pass_tells_what_was_lost_and_not_that_a_block_became_full() -> None:
    pool = Lab(11, block_size=4, device="none")
    pool.admit("r0", "ABC")
    says = lines(step_shown(pool.append("r0", "D", fail=True)))
    assert says[:2] == ["r0: 4 tokens, 0 new; the forward pass failed, r0 is preempted", "  not computed: block 1 loses its hash"]
    assert not any("is full" in line for line in says)


def pictures(lab: Lab, name: str) -> Iterator[str]:
    """Every picture of memory."""
    yield from (block_shown(Moment.of(lab), block_id).html for block_id in range(1, 7))
    yield contents_shown(Moment.of(lab)).html
    yield proof_shown(lab, lab.prove(name)).html
    yield generated_shown(lab.generate(name, 2)).html


@pytest.mark.parametrize("name", ["r9", HOSTILE])
def test_every_picture_of_memory_survives_a_sanitizer_and_shows_a_hostile_name_as_text(name: str) -> None:
    pool = Lab(11, block_size=4, device="cpu")
    pool.admit(name, "ABCDEFGHIJ<&")
    pool.admit("q", "ABCDEFGHIJ")
    pool.release("q")
    for picture in pictures(pool, name):
        page = Page(picture)
        assert {tag for tag, _ in page.elements} <= TAGS
        assert page.attributes <= {"style"}
        assert {key for _, style in page.elements for key in style} <= {*PROPERTIES.split(), "border-spacing"}
        assert "\x1b" not in page.text


def test_norms_from_pale_to_dark_can_be_read_on_their_fill_and_grow_darker() -> None:
    scale = Scale([])
    scale.low, scale.high = 0.0, 1.0
    paints = [scale.paint(part / 10) for part in range(11)]
    assert all(contrast(paint.fill, paint.ink) >= 4.5 for paint in paints)
    darkness = [contrast(paint.fill, "#ffffff") for paint in paints]
    assert darkness == sorted(darkness)


def test_each_kind_of_slot_has_a_word(lab: Lab) -> None:
    page = Page(contents_shown(Moment.of(lab)).html).text
    assert all(word in page for kind, word in WORDS.items() if kind != "cached")
