from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from helpers import seed_lab
from page import Page, pool_row, step_card

from kvnb import Lab
from kvnb.core.invariants import Equation
from kvnb.views import html
from kvnb.views.theme import contrast

TAGS = {"div", "span", "b", "i", "br", "pre", "table", "thead", "tbody", "tr", "th", "td"}
# Each was seen to pass JupyterLab's sanitizer (4.6); font-variant-numeric is dropped there without harm.
PROPERTIES = """
    background background-image background-size border border-bottom border-collapse border-left border-radius border-top
    box-shadow box-sizing color display flex flex-wrap float font-family font-size font-variant-numeric gap grid-auto-rows
    grid-column grid-template-columns height line-height margin margin-bottom margin-left margin-right margin-top max-width
    min-width opacity overflow padding text-align text-overflow vertical-align white-space width
"""
HOSTILE = "<script>alert('1')</script>\"&\x1b[31m\n\u202e" + "n" * 50
GREYS = re.compile(r"#808080|rgba\(128,128,128,[.\d]+\)|transparent")


def pictures(lab: Lab, name: str) -> Iterator[str]:
    """Every view of a pool, and the card of each of its steps."""
    state, journal = lab.state, lab.journal
    for number in range(len(journal) + 1):
        yield html.state_html(journal, journal.state_at(number), number)
        if number:
            yield step_card(lab, number)
    yield html.usage_html(state)
    yield from (html.block_html(state, block_id) for block_id in range(min(20, state.num_blocks)))
    yield html.request_html(journal, state, name)
    yield html.check_html([*lab.check(), Equation(f"{name} = 1", f"{name} < 2", False)])
    yield html.pools_html([dict(pool_row(name), current=current) for current in (True, False)])
    yield html.pools_html([])
    yield html.text_html(f"{name}\n  second line")


def busy_lab(name: str = "r9", num_blocks: int = 20) -> Lab:
    """A pool in which every state of a block and every verb occurs."""
    lab = Lab(num_blocks, block_size=4, name=name, device="none")
    lab.admit("r0", "ABCDEFGHIJKL")
    lab.admit(name, f"ABCDEFGHIJKL{name[:9]}")
    lab.admit("r2", "ABCDxyzw1")
    lab.append("r2", "234")
    lab.release("r0")
    lab.admit("r3", "ABCDEFGH9")
    lab.preempt("r3")
    lab.evict(1, 6)
    lab.undo()
    lab.admit("r4", tokens=[1, 2, 3, 4, 5])
    return lab


def windowed_lab(name: str) -> Lab:
    """A pool in which a chunk, drafts and block 0 in a table occur."""
    lab = Lab(20, block_size=4, name=name, sliding_window=6, device="none")
    lab.admit("r0", "ABCDEFGHIJKLMNO", chunk=9, salt=name, lora=(name.replace("=", ""), name))
    lab.admit(name, f"{name[:9]} and more", chunk=5)
    lab.prefill(name)
    lab.append(name, "x", draft=name[:9])
    return lab


@pytest.fixture(scope="module", params=["r9", HOSTILE], ids=["plain", "hostile"])
def pages(request: pytest.FixtureRequest) -> list[Page]:
    labs = [(busy_lab(request.param), request.param), (busy_lab(request.param, 100), request.param), (seed_lab(), "r2")]
    labs += [(busy_lab(request.param, 300), request.param), (windowed_lab(request.param), request.param)]
    return [Page(markup) for lab, name in labs for markup in pictures(lab, name)]


# --- what a notebook that is not trusted keeps -----------------------------------------------------------------


def test_only_tags_and_attributes_that_survive_are_used(pages: list[Page]) -> None:
    for page in pages:
        assert {tag for tag, _ in page.elements} <= TAGS
        assert page.attributes <= {"style"}


def test_only_styles_that_survive_are_used(pages: list[Page]) -> None:
    for page in pages:
        for _, style in page.elements:
            assert set(style) <= set(PROPERTIES.split())
            assert not re.search(r"var\(|hsl|currentcolor|url|expression|repeating", str(style), re.IGNORECASE)


def test_a_colour_never_stands_alone(pages: list[Page]) -> None:
    for page in pages:
        for _, style in page.elements:
            fill = " ".join(style[key] for key in ("background", "background-image") if key in style)
            if "color" in style or "#" in GREYS.sub("", fill):
                inks = [style["color"]]
                fills = re.findall(r"#[0-9A-Fa-f]{3,6}\b", style["background"])
                assert all(re.fullmatch(r"#([0-9A-Fa-f]{3}){1,2}", ink) for ink in inks)
                assert any(contrast(fill, style["color"]) >= 4.5 for fill in fills)


def test_no_name_becomes_markup_and_no_control_character_gets_through() -> None:
    for markup in [*pictures(busy_lab(HOSTILE), HOSTILE), *pictures(windowed_lab(HOSTILE), HOSTILE)]:
        assert "<script" not in markup
        assert all(c.isprintable() or c == "\n" for c in markup)
    assert "\\x1b[31m\\n\\u202e" in Page(step_card(busy_lab(HOSTILE), 2)).text


def test_a_prompt_is_escaped_where_it_is_shown() -> None:
    lab = Lab(11, block_size=4, device="none")
    lab.admit("r0", "<b>&\x1b\n x")
    page = Page(html.request_html(lab.journal, lab.state, "r0"))
    assert "<b>&" in page.text
    assert "\\x1b\\n x" in page.text


# --- sizes -------------------------------------------------------------------------------------------------------


def test_a_step_card_of_a_lesson_is_under_six_kilobytes() -> None:
    lab = seed_lab()
    assert max(len(step_card(lab, k + 1).encode()) for k in range(6)) < 6_000
    assert max(len(html.state_html(lab.journal, lab.journal.state_at(k), k).encode()) for k in range(7)) < 12_000


def test_a_pool_of_a_hundred_thousand_blocks_stays_under_thirty_kilobytes() -> None:
    lab = Lab(100_000, device="none")
    for k in range(5):
        lab.admit(f"r{k}", tokens=[0] * 64 + [k] * 200_000)
    cards = [step_card(lab), html.state_html(lab.journal, lab.state, 5)]
    lab.release(all=True)
    cards += [step_card(lab), html.state_html(lab.journal, lab.state, 6)]
    cards.append(html.usage_html(lab.state))
    lab.admit("long", tokens=range(1_000_000))
    cards.append(html.request_html(lab.journal, lab.state, "long"))
    lab.evict(*range(1, 50_000))
    cards.append(step_card(lab))
    assert max(len(card.encode()) for card in cards) < 30_000


def test_a_long_queue_is_shown_from_both_ends() -> None:
    lab = Lab(100_000, device="none")
    text = Page(html.state_html(lab.journal, lab.state, 0)).text
    assert "32 … 99,935 more … 99968" in text


def test_up_to_256_blocks_are_shown_each_and_of_more_a_bar() -> None:
    small, large = Lab(256, device="none"), Lab(257, device="none")
    assert "254 255" in Page(html.state_html(small.journal, small.state, 0)).text
    assert html.state_html(small.journal, small.state, 0).count("<b ") > 256
    assert html.state_html(large.journal, large.state, 0).count("<b ") < 100


def test_many_requests_are_shown_from_both_ends() -> None:
    lab = Lab(3000, block_size=4, device="none")
    for k in range(2000):
        lab.admit(f"r{k}", tokens=[k])
    card = html.state_html(lab.journal, lab.state, 2000)
    assert "… 1,988 more requests …" in Page(card).text
    assert len(card) < 30_000
    assert "r0, r1, r2, r3, r4, r5, r6, r7 and 1,992 more finish" in Page(step_card_after_release(lab)).text


def step_card_after_release(lab: Lab) -> str:
    lab.release(all=True)
    return step_card(lab)
