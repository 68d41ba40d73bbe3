"""The figures that head a pool: used, cached, tokens hit, evicted; each a number, a word and a quiet line.

Must not know: HTML, widgets.
"""

from __future__ import annotations

from typing import NamedTuple

from kvnb.journal import State
from kvnb.views.words import count


class Gauge(NamedTuple):
    """One figure; ``part`` is how full it is, from 0 to 1, where that means something."""

    number: str
    word: str
    below: str
    part: float | None = None


def gauges(state: State) -> list[Gauge]:
    """The figures of a state, in their order; each takes O(1)."""
    counters, usable = state.counters, state.num_blocks - 1
    used = usable - len(state.queue)
    part = counters.hits / counters.queries if counters.queries else None
    return [
        Gauge(f"{used:,} / {usable:,}", "used", f"usage {state.usage:.2f}", state.usage),
        Gauge(f"{state.num_cached:,}", "cached", f"{count(len(state.copies), 'hash', 'hashes')} in the map", _of(state)),
        Gauge(f"{counters.hits:,} of {counters.queries:,}", "tokens hit", _share(counters.hits, counters.queries), part),
        Gauge(f"{counters.evicted_blocks:,}", "evicted", "so far"),
    ]


def _of(state: State) -> float:
    return state.num_cached / (state.num_blocks - 1) if state.num_blocks > 1 else 0.0


def _share(part: int, whole: int) -> str:
    if not whole:
        return "no lookup yet"
    percent = 100 * part / whole
    return f"{percent:.1f} %" if 0 < percent < 9.95 else f"{percent:.0f} %"
