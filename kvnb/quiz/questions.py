"""Every question by its number.

Must not know: how one is judged or shown.
"""

from __future__ import annotations

from kvnb.errors import UnknownName
from kvnb.quiz.items import Item
from kvnb.quiz.on_blocks import ON_BLOCKS
from kvnb.quiz.on_pools import EVICT_IT, TO_BUILD
from kvnb.quiz.on_rules import ON_RULES

ITEMS: dict[int, Item] = {item.number: item for item in (*ON_BLOCKS, EVICT_IT, *ON_RULES, *TO_BUILD)}
"""Number to question, in the order in which they are listed."""


def find(number: int) -> Item:
    """The question of that number. Raises UnknownName."""
    if number not in ITEMS:
        raise UnknownName(f"no question {number}: there are 1 to {len(ITEMS)}")
    return ITEMS[number]
