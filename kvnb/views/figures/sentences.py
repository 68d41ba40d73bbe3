"""The sentence over each timeline: what the picture shows, in the seed's words, true for the pool's settings.

Must not know: how it is drawn.
"""

from __future__ import annotations

from kvnb.journal import Journal
from kvnb.journal.columns import CACHED, EMPTY, Levels, Run
from kvnb.manager import Behaviour
from kvnb.views.markup import TIMES, TO
from kvnb.views.words import count, listed, short

KINDS = ("used by one", "shared", "free and cached", "free and empty")
"""In the order in which they are stacked."""


def queue_title(behaviour: Behaviour) -> str:
    """Where blocks leave the free queue, and where freed ones go."""
    if not behaviour.prefix_caching:
        return "The front is reused next; whatever is freed goes to the front"
    if behaviour.free_to == "back":
        return "The front is reused next; whatever is freed goes to the back"
    return "The front is reused next; a freed block with a hash goes to the back"


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
    return "A freed block keeps its contents until someone else needs the space"


def owners_words(run: Run) -> str:
    """``r0``, or ``r0 x2`` where it is not the only one; for inside a bar."""
    return "".join(short(name, 10) for name in run.owners[:1]) + (f" {TIMES}{len(run.owners)}" if len(run.owners) > 1 else "")


def life_words(run: Run) -> tuple[str, str]:
    """Who holds a block, or how it is free; and after which steps."""
    who = (
        listed(run.owners, lambda name: short(name, 24), most=4)
        if run.owners
        else {EMPTY: "free and empty", CACHED: "free and cached"}.get(run.kind, "in use")
    )
    return who, f"{run.first:,}" if run.first == run.last else f"{run.first:,}{TO}{run.last:,}"
