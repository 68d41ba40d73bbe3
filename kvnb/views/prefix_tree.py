"""The prefix cache as a tree: runs of hashes, one after another, that part where prompts do.

Must not know: how it is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kvnb.journal import State
from kvnb.journal.chains import Link


@dataclass
class Run:
    """Hashes that follow one another without a branch.

    cached
        False: the map has none of them any more; they stand here because of what comes after them.
    reachable
        Every hash before it is in the map, so that a lookup gets here.
    known
        False: nobody knows what comes before it.
    blocks
        How many blocks carry a hash of this run, or of one after it.
    """

    keys: list[str]
    place: int = 0
    cached: bool = True
    reachable: bool = True
    known: bool = True
    after: list[Run] = field(default_factory=list)
    blocks: int = 0


def prefix_tree(state: State, links: Mapping[str, Link]) -> list[Run]:
    """The runs that begin a prompt, each with those after it; every key of the map is in one run, once."""
    after = _after(state, links)
    tops = [_run(state, links, after, key) for key in after.get(None, ())]
    tops += [Run([key], known=False) for key in state.copies if key not in links]
    runs = list(walk(tops, state, links, after))
    for run in reversed(runs):
        own = sum(len(state.copies[key]) for key in run.keys) if run.cached else 0
        run.blocks = own + sum(child.blocks for child in run.after)
    return tops


After = Mapping[str | None, list[str]]


def _after(state: State, links: Mapping[str, Link]) -> dict[str | None, list[str]]:
    """By key, those that come next; of what is not in the map only what leads to something that is."""
    after: dict[str | None, list[str]] = {}
    seen = set[str]()
    for cached in state.copies:
        key: str | None = cached
        while key is not None and key in links and key not in seen:
            seen.add(key)
            parent = links[key].parent
            after.setdefault(parent, []).append(key)
            key = parent
    return after


def _run(state: State, links: Mapping[str, Link], after: After, key: str) -> Run:
    """The run that begins with ``key``."""
    run = Run([key], links[key].place, key in state.copies)
    while len(following := after.get(run.keys[-1], [])) == 1 and (following[0] in state.copies) == run.cached:
        run.keys.append(following[0])
    return run


def walk(tops: list[Run], state: State, links: Mapping[str, Link], after: After) -> Iterator[Run]:
    """Every run, each before those after it, which are made on the way; a long chain of branches is no deep recursion."""
    waiting = tops[::-1]
    while waiting:
        run = waiting.pop()
        run.after = [_run(state, links, after, key) for key in after.get(run.keys[-1], ())] if run.known else []
        for child in run.after:
            child.reachable = run.reachable and run.cached
        waiting += run.after[::-1]
        yield run
