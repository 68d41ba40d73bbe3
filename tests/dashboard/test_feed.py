"""What a page is told of a pool: added up, it is the pool; and it costs what changed."""

from __future__ import annotations

from contextlib import suppress

from dashboard_pages import Page
from helpers import seed_lab
from hypothesis import given, settings
from hypothesis import strategies as st

from kvnb import Lab
from kvnb.errors import KvnbError
from kvnb.views.canvas.frames import Colours, decode, decode_queue, encode
from kvnb.views.canvas.still import marks_at
from kvnb.views.dashboard.feed import Feed
from kvnb.views.theme import painter

VERBS = "admit append release evict undo reset tell past"
moves = st.lists(st.tuples(st.sampled_from(VERBS.split()), st.integers(0, 9)))


def whole(lab: Lab, step: int) -> bytes:
    """Every block after a step, as one frame made from nothing."""
    journal = lab.journal
    return encode(journal.state_at(step), marks_at(journal, step), Colours(painter(journal)))


def change(lab: Lab, verb: str, number: int) -> None:
    name = f"r{number % 3}"
    run = {
        "admit": lambda: lab.admit(name, "abcdefgh"[: 2 + number % 7] + str(number % 2)),
        "append": lambda: lab.append(name, "x" * (1 + number % 3)),
        "release": lambda: lab.release(name),
        "evict": lambda: lab.evict(1 + number % 8),
        "undo": lambda: lab.undo(),
        "reset": lambda: (lab.release(all=True), lab.reset()),
    }[verb]
    with suppress(KvnbError):
        run()


@given(moves)
@settings(max_examples=150)
def test_what_a_page_adds_up_is_the_pool_also_when_it_was_in_the_past_meanwhile(script: list[tuple[str, int]]) -> None:
    lab = Lab(9, block_size=2, device="none")
    feed = Feed(lab.journal)
    page = Page(feed.now())
    for verb, number in [*script, ("tell", 0)]:
        if verb == "past":
            step = number % (len(lab.journal) + 1)
            page.take(feed.at(step))
            assert page.blocks == decode(whole(lab, step)).blocks
        elif verb == "tell":
            page.take(feed.now())
            assert page.blocks == decode(whole(lab, len(lab.journal))).blocks
            assert decode_queue(page.queue).length == len(lab.free_queue)
        else:
            change(lab, verb, number)


def test_news_of_a_large_pool_is_as_large_as_what_changed() -> None:
    lab = Lab(100_000, block_size=4, device="none")
    feed = Feed(lab.journal)
    assert len(feed.now().blocks) == 16 + 2 * 100_000, "the first frame has every block, two bytes each"
    lab.admit("r0", tokens=range(40))
    assert len(feed.now().blocks) == 16 + 10 * (4 + 2)
    lab.admit("r1", tokens=range(38))
    assert len(feed.now().blocks) == 16 + 10 * (4 + 2) + 9 * 2, "nine hit, now shared, and one new"
    lab.release("r1")
    assert len(feed.now().blocks) == 16 + 10 * (4 + 2), "what was ringed is told again without its ring"
    assert len(feed.now().blocks) == 16 + 6, "only the block that just came back is still marked"


def test_a_change_of_most_blocks_is_a_whole_frame_of_two_bytes_a_block_and_two_more_for_shared_ones() -> None:
    lab = Lab(1000, block_size=4, device="none")
    feed = Feed(lab.journal)
    feed.now()
    lab.admit("r0", tokens=range(3200))
    assert len(feed.now().blocks) == 16 + 2 * 1000
    lab.admit("r1", tokens=range(3200))
    assert len(feed.now().blocks) == 16 + 2 * 1000 + 2 * 799


def test_a_step_is_folded_once_however_often_news_is_asked_for() -> None:
    lab = seed_lab()
    feed = Feed(lab.journal)
    before = feed.state
    feed.now()
    assert feed.state is before
    assert not feed.behind
    lab.release("r2")
    assert feed.behind
    feed.now()
    assert feed.state is before, "the state went on; it was not made again"
    assert feed.state.columns() == lab.state.columns()
    assert feed.state is not lab.state, "nobody else's state moves while the page is told"


def test_the_facts_are_the_words_of_the_other_pictures() -> None:
    lab = seed_lab(3)
    facts = Feed(lab.journal).now().facts
    assert (facts["step"], facts["steps"]) == (3, 3)
    assert lab.digest.startswith(facts["digest"])
    assert facts["says"] == ["r0 finishes: 1 block(s) to the front, 1 to the back, 2 still in use by others"]
    assert [gauge[:3] for gauge in facts["gauges"]] == [
        ["4 / 10", "used", "usage 0.40"],
        ["4", "cached", "4 hashes in the map"],
        ["8 of 29", "tokens hit", "28 %"],
        ["0", "evicted", "so far"],
    ]
    (row,) = facts["rows"]
    assert (row["name"], row["tokens"], row["note"], row["head"]) == ("r1", "14 tokens", "8 from cache", [1, 2, 5, 6])


def test_of_many_requests_the_youngest_are_rows_and_of_a_long_table_the_two_ends() -> None:
    lab = Lab(4000, block_size=4, device="none")
    for number in range(40):
        lab.admit(f"r{number}", tokens=range(1000 * number, 1000 * number + 200))
    facts = Feed(lab.journal).now().facts
    assert [row["name"] for row in facts["rows"]] == [f"r{number}" for number in range(28, 40)]
    assert facts["earlier"] == 28
    row = facts["rows"][-1]
    assert (*row["head"], *row["tail"]) == (*lab.block_table("r39")[:28], *lab.block_table("r39")[-4:])
    assert row["hidden"] == 50 - 32


def test_what_a_step_took_away_and_filled_is_said_of_all_its_blocks() -> None:
    lab = seed_lab(5)
    assert Feed(lab.journal).now().facts["says"] == ["r2: 29 tokens, 3 block(s) from cache, 5 new"]
    lab.admit("r3", "zzzzzzzz")
    assert Feed(lab.journal).now().facts["says"][1:] == ["evict: block 5 loses its hash"]
    lab = Lab(4, block_size=4, device="none")
    lab.admit("a", "abcdefgh")
    lab.release("a")
    lab.admit("b", "ijklmnopqrs")
    assert Feed(lab.journal).now().facts["says"][1:] == ["evict: blocks 2 and 1 lose their hashes"]
    lab.append("b", "t")
    assert Feed(lab.journal).now().facts["says"][1:] == ["block 1 is full: it gets a hash"]
