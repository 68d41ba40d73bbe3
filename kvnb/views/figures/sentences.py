"""The sentence over each timeline: what the picture shows, in the seed's words, true for the pool's settings.

Must not know: how it is drawn.
"""

from __future__ import annotations

from kvnb.journal import Journal
from kvnb.journal.columns import Levels
from kvnb.manager import Behaviour
from kvnb.views.words import count


def queue_title(behaviour: Behaviour) -> str:
    """Where blocks leave the free queue, and where freed ones go."""
    if not behaviour.prefix_caching:
        return "Blocks leave the free queue at its front, and go back to its front"
    if behaviour.free_to == "back":
        return "Blocks leave the free queue at its front; whatever is freed goes to its back"
    return "The front of the free queue is reused next; a freed block with a hash goes to the back"


def usage_title(journal: Journal, rows: Levels, number: int) -> str:
    """How full the pool is after the last step drawn, and how much of the tokens came from cache."""
    usable = journal.behaviour.num_blocks - 1
    used = rows.one[number] + rows.shared[number]
    evicted = sum(rows.evicted[: number + 1])
    cache = f"; {rows.hits[number]:,} of {count(rows.queries[number], 'token')} from cache" if rows.queries[number] else ""
    lost = f", {evicted:,} evicted so far" if evicted else ""
    return f"{used:,} of {count(usable, 'block')} in use{lost}{cache}"


def blocks_title(behaviour: Behaviour) -> str:
    """What becomes of a block that is freed."""
    if not behaviour.prefix_caching:
        return "A freed block is empty: with prefix caching off nothing in it can be hit"
    return "A freed block keeps its contents and its hash until someone else needs the space"
