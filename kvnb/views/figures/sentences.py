"""The sentence over each timeline: what the picture shows, in the seed's words, true for the pool's settings.

Must not know: how it is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence

from kvnb.journal import Journal
from kvnb.journal.columns import CACHED, EMPTY, Levels, Run
from kvnb.journal.prefills import Row, Work
from kvnb.manager import Behaviour
from kvnb.views.markup import TIMES, TO
from kvnb.views.words import count, listed, short

KINDS = ("used by one", "shared", "free and cached", "free and empty")
"""In the order in which they are stacked."""
WORK = ("saved", "computed", "again", "decode", "failed")
LEGEND = ("saved: from cache", "computed", "computed again", "decode, drafts", "failed pass")
"""What becomes of scheduled tokens, as ``Work`` has it and as it is stacked: in a table, and beside a colour."""
PANELS = ("tokens of each step", "share of prefill saved so far")
_LETTER, _GAP = 5.8, 6
"""Pixels for a letter of a label, and between two labels."""


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


def prefill_title(journal: Journal, total: Work) -> str:
    """How many tokens of prefills were saved so far, and how many had to be computed."""
    if not total.prefill:
        return "No prompt has been prefilled yet"
    computed = total.computed + total.recomputed
    if not journal.behaviour.prefix_caching:
        return f"{count(computed, 'prefill token')} computed: with prefix caching off none is saved"
    again = f", {total.recomputed:,} of them again" if total.recomputed else ""
    return f"{total.saved:,} of {count(total.prefill, 'prefill token')} saved, {computed:,} computed{again}"


def prefill_notes(journal: Journal, total: Work) -> list[str]:
    """What else there was to compute, and whether there is a model that does, for the quiet line."""
    notes = [count(total.decoded, "decode token")] * (total.decoded > 0)
    notes += [f"{total.failed:,} in failed passes"] * (total.failed > 0)
    # Without memory nothing is computed but on paper.
    return [*notes, *["block ids only"] * (journal.memory is None)]


def percent(share: float) -> str:
    """``47 %``; only nothing is 0 %, only all is 100 %."""
    rounded = round(100 * share)
    if (rounded == 0) != (share == 0):
        return "<1 %"
    return ">99 %" if rounded == 100 and share < 1 else f"{rounded} %"


def saved_labels(rows: Sequence[Row], wide: float) -> dict[int, list[str]]:
    """By step lines to write over it: how much of the request was saved, as fully as steps ``wide`` pixels apart allow."""
    told = {row.number: (row.work.saved, row.looked) for row in rows if row.work.saved}
    forms = (
        {number: [f"{saved:,} of {looked:,} saved"] for number, (saved, looked) in told.items()},
        {number: [f"{saved:,} of {looked:,}", "saved"] for number, (saved, looked) in told.items()},
        {number: [percent(saved / looked), "saved"] for number, (saved, looked) in told.items()},
        {number: [percent(saved / looked)] for number, (saved, looked) in told.items()},
    )
    for form in forms:
        if all(_LETTER * len(line) + _GAP <= wide for lines in form.values() for line in lines):
            return form
    return {}


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
