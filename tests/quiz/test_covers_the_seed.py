"""Everything that the lesson behind the first notebook asks has its place: a question of the quiz, or a cell."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest
from helpers import ROOT

from kvnb.quiz import ITEMS


class Place(NamedTuple):
    """Questions of the quiz, and what a cell of a notebook says."""

    quiz: tuple[int, ...] = ()
    says: tuple[str, ...] = ()
    notebook: str = "01-pool"


TRY_IT = {
    "every freed block to the back: what is evicted when request 2 arrives": Place((9,), ("--free-to back",)),
    "why that is worse": Place(
        (10,), ("new 3 --block-size 4 --free-to back", "The older rule threw the content of block 1 away")
    ),
    "blocks freed in forward order: which block of a system prompt goes first": Place((11,), ("--free-order forward",)),
    "usage after each event, below 1 though nothing unhashed is free": Place((12, 16), ('"cached", "usage"',)),
    "what that means for vllm:kv_cache_usage_perc": Place((12,), ("vllm:kv_cache_usage_perc` (1 means 100 %) says how much",)),
}
CHECK_YOURSELF = {
    "why the queue is threaded through the blocks": Place((3,), ("<b>1.</b> The free queue could be a",)),
    "when a cached block loses its hash": Place((13, 8, 2), ("<b>2.</b> When exactly",)),
    "why the last block is evicted before the first": Place((14, 11, 17), ("<b>3.</b> Why is the last block",)),
}
FOLLOW_THE_QUEUE = {
    "request 0 ends: its partial block leads, its hashed one closes": Place((4,), ("**Step 3.**",)),
    "request 1 ends: deepest first": Place((4, 14), ("**Step 4.**",)),
    "request 2 plucks its hits from the middle": Place((3, 9), ("**Step 5.**",)),
    "request 3 is the first to cost the cache something": Place((2, 8), ("**Step 6.**",)),
}
ALSO_SHOWN = {
    "a prompt that is known whole": Place((5, 18), ("have the same prompt of exactly two blocks", "--full-hit")),
    "duplicates": Place((6, 15), ("The other copy, block 3.",)),
    "a block is shared before it is computed": Place((7,), ("It happens when the tokens are **scheduled**",)),
    "shared blocks are read-only": Place((1,), ("Nobody writes to a shared block.",)),
    "old and new rule on the same story": Place(
        (8, 9), ("new {num_blocks} --block-size {block_size} --free-to back --device none --name older",)
    ),
    "old and new rule side by side": Place((), ("--free-to back",), "04-experiments"),
}
PLACES = {**TRY_IT, **CHECK_YOURSELF, **FOLLOW_THE_QUEUE, **ALSO_SHOWN}


def cells(notebook: str) -> list[str]:
    """The sources of a notebook's cells."""
    return ["".join(cell["source"]) for cell in json.loads((ROOT / "notebooks" / f"{notebook}.ipynb").read_text())["cells"]]


@pytest.mark.parametrize("asked", PLACES)
def test_what_the_lesson_asks_has_its_place(asked: str):
    place = PLACES[asked]
    assert place.quiz or place.says
    assert set(place.quiz) <= set(ITEMS)
    sources = cells(place.notebook)
    for says in place.says:
        assert any(says in source for source in sources), says


def test_every_question_stands_in_the_first_notebook_and_in_this_table():
    sources = "\n".join(cells("01-pool"))
    for number in ITEMS:
        assert f"quiz {number}\n" in f"{sources}\n" or f"quiz {number} --pool mine" in sources, number
    assert {number for place in PLACES.values() for number in place.quiz} == set(ITEMS)
