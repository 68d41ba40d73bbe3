"""The seed's walk-through and its three exercises, line for line, wherever kvnb is used."""

from __future__ import annotations

import re
from collections.abc import Callable

from helpers import SEED_PROMPTS

Tell = Callable[[list[str]], list[str]]

EXPECTED = """
free queue (front first, * = cached): 1 2 3 4 5 6 7 8 9 10

r0: 15 tokens, 0 block(s) from cache, 4 new
block table [1 2 3 4]
free queue (front first, * = cached): 5 6 7 8 9 10

r1: 14 tokens, 2 block(s) from cache, 2 new
block table [1 2 5 6]
free queue (front first, * = cached): 7 8 9 10

free queue (front first, * = cached): 4 7 8 9 10 3*

free queue (front first, * = cached): 6 4 7 8 9 10 3* 5* 2* 1*

r2: 29 tokens, 3 block(s) from cache, 5 new
block table [1 2 3 6 4 7 8 9]
free queue (front first, * = cached): 10 5*

r3: 8 tokens, 0 block(s) from cache, 2 new
evict: block 5 loses its hash
block table [10 5]
free queue (front first, * = cached):
"""

SEED_WORDS = re.compile(r"free queue \(|block table \[|evict: |\w+: \d+ tokens, \d+ block\(s\) from cache, ")


def admit(name: str) -> str:
    return f"%kvpool admit {name} {SEED_PROMPTS[name]}"


def walk(new: str) -> list[str]:
    """The seed's story on another pool, until r1 is gone."""
    return [f"%kvpool {new}", admit("r0"), admit("r1"), "%kvpool release r0", "%kvpool release r1"]


def seed_lines(text: str) -> list[str]:
    """The lines that the seed's program prints too; indentation and sentences between them are left out."""
    return [line.strip() for line in text.splitlines() if SEED_WORDS.match(line.strip())]


def queue(text: str) -> str:
    return seed_lines(text)[-1].partition(": ")[2]


def usage(text: str) -> float:
    found = re.search(r"usage (\d\.\d\d)", text)
    assert found
    return float(found[1])


def test_the_seeds_walk_through_comes_out_line_for_line(tell: Tell) -> None:
    told = tell([*walk("new 11"), admit("r2"), admit("r3")])
    assert [seed_lines(text) for text in told] == [block.splitlines() for block in EXPECTED.strip().split("\n\n")]


def test_exercise_1_when_every_freed_block_goes_to_the_back_blocks_worth_nothing_stand_behind_the_cache(tell: Tell) -> None:
    told = tell([*walk("new 11 --free-to back"), admit("r2"), admit("r3")])
    assert queue(told[4]) == "7 8 9 10 4 3* 6 5* 2* 1*"
    assert queue(told[5]) == "6 5*"
    assert seed_lines(told[6])[1] == "evict: block 5 loses its hash"


def test_exercise_2_freed_in_forward_order_the_first_block_of_a_shared_prompt_is_evicted_first(tell: Tell) -> None:
    told = tell([*walk("new 11 --free-order forward"), f"%kvpool admit big {'z' * 32}"])
    assert queue(told[4]) == "6 4 7 8 9 10 3* 1* 2* 5*"
    assert [line for line in seed_lines(told[5]) if line.startswith("evict")] == [
        "evict: block 3 loses its hash",
        "evict: block 1 loses its hash",
    ]


def test_exercise_3_usage_stays_below_one_while_free_blocks_hold_cache(tell: Tell) -> None:
    steps = [*walk("new 11"), admit("r2"), "%kvpool append r2 abcd", "%kvpool append r2 e"]
    told = tell([line for step in steps for line in (step, "%kvpool usage")])
    assert [usage(text) for text in told[1::2]] == [0.0, 0.4, 0.6, 0.4, 0.0, 0.8, 0.9, 0.9]
    assert told[-1] == "usage 0.90 = 1 - 1/10 free; cached 9 blocks, 1 of them free; free and empty 0"
