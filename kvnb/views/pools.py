"""Two pools side by side: settings, usage, cache, evictions, tables, queues; as text and as HTML.

Must not know: the live pools, figures, IPython.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kvnb.core.events import Unhashed
from kvnb.errors import printable
from kvnb.journal import Journal, State
from kvnb.journal.columns import num_evicted
from kvnb.journal.fork import words
from kvnb.journal.state import RequestState
from kvnb.views import text
from kvnb.views.markup import QUIET, SMALL, card, chip, div, element, foot, quiet, safe, span
from kvnb.views.ranges import ranges
from kvnb.views.theme import LINE, Painter, painter
from kvnb.views.tiles import Brush, queue_cells, strip, table_cells
from kvnb.views.words import count, short

_EVICTIONS, _REQUESTS, _TILES, _WORDS = 8, 10, 20, 60


class Fact(NamedTuple):
    """A figure of two pools."""

    what: str
    a: str
    b: str


def facts(a: Journal, at_a: int, b: Journal, at_b: int) -> list[Fact]:
    """The figures of two pools, each after one of its steps."""
    states = a.state_at(at_a), b.state_at(at_b)
    sizes = text.size_text(a.behaviour), text.size_text(b.behaviour)
    rows = [Fact("settings", *sizes), Fact("after", f"step {at_a:,}", f"step {at_b:,}")]
    rows += [Fact(what, *pair) for what, pair in zip(_WHAT, zip(*map(_figures, states), strict=True), strict=True)]
    return [fact for fact in rows if fact.what != "preemptions" or fact[1:] != ("0", "0")]


_WHAT = ("usage", "in use", "cached", "tokens from cache", "evicted", "preemptions")


def _figures(state: State) -> tuple[str, ...]:
    usable, counters = state.num_blocks - 1, state.counters
    hits = f"{counters.hits:,} of {counters.queries:,}"
    return (
        f"{state.usage:.2f}", f"{usable - len(state.queue):,} of {usable:,} blocks", count(state.num_cached, "block"),
        hits if counters.queries else "no lookup", count(counters.evicted_blocks, "block"), f"{counters.preemptions:,}",
    )  # fmt: skip


def original_painter(a: Journal, b: Journal) -> Painter:
    """One colour a request in both pools: a fork has the colours of its original."""
    return painter(b if is_fork_of(a, b) else a)


def is_fork_of(fork: Journal, original: Journal) -> bool:
    """Whether one journal began as the other's commands."""
    forked = fork.forked
    if forked is None or forked.step > len(original):
        return False
    return forked.digest == (original.steps[forked.step - 1].digest if forked.step else original.first_digest)


def names_of(a: State, b: State) -> tuple[list[str], int]:
    """The requests of both, and how many of very many are left out."""
    names = list(dict.fromkeys([*a.requests, *b.requests]))
    return names[:_REQUESTS], len(names[_REQUESTS:])


def evictions(journal: Journal) -> tuple[list[str], int]:
    """The first steps in effect that evicted something, in words, and how many more there are."""
    found = [step for number in journal.lineage() if num_evicted(step := journal.steps[number - 1])]
    said = []
    for step in found[:_EVICTIONS]:
        ids = [block_id for event in step.of(Unhashed) if event.why != "uncomputed" for block_id in event.ids]
        what = "block" if len(ids) == 1 else "blocks"
        said.append(f"step {step.number:,}, {printable(words(step.command, 30))}: {what} {ranges(ids)}")
    return said, len(found[_EVICTIONS:])


def contrast_sentence(a: Journal, b: Journal) -> str:
    """What the second has done otherwise in all: ``older hits 4 tokens fewer and evicts 1 block more than pool``."""
    was, now = a.state.counters, b.state.counters
    parts = [
        f"{verb} {count(abs(more), what)} {'more' if more > 0 else 'fewer'}"
        for verb, what, more in (
            ("hits", "token", now.hits - was.hits), ("evicts", "block", now.evicted_blocks - was.evicted_blocks),
        )
        if more
    ]  # fmt: skip
    names = short(a.name, 24), short(b.name, 24)
    said = f"{names[1]} {' and '.join(parts)} than {names[0]}" if parts else f"{names[1]} hits and evicts as much as {names[0]}"
    return said + (_left_out(b) if is_fork_of(b, a) else "")


def _left_out(fork: Journal) -> str:
    """What a fork has not done of its original's commands."""
    assert fork.forked is not None
    left = len(fork.forked.refused) + len(fork.forked.skipped)
    return f", and did {count(left, 'command')} fewer" if left else ""


# --- as text -------------------------------------------------------------------------------------------------


def pools_text(a: Journal, b: Journal) -> str:
    """Two pools as they are now, side by side."""
    names = short(a.name), short(b.name)
    rows = [("", *names), *(tuple(fact) for fact in facts(a, len(a), b, len(b)))]
    tables = [(short(name), *pair) for name, pair in _tables(a.state, b.state)]
    long = [row for row in tables if max(map(len, row[1:])) > _WORDS]
    lines = aligned([*rows, *(row for row in tables if row not in long)])
    more = names_of(a.state, b.state)[1]
    for what, *said in long:
        lines += [what, *_stacked(names, [[says] for says in said])]
    lines += [f"... ({more:,} more requests) ..."] * bool(more)
    lines += ["free queue (front first, * = cached)", *_stacked(names, [_queue(a), _queue(b)])]
    lines += ["evictions", *_stacked(names, [_lost(a), _lost(b)])]
    return "\n".join([f"{names[0]} and {names[1]}: {contrast_sentence(a, b)}", *(f"  {line}" for line in lines)])


def aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows as lines, each column as wide as its longest word."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(word.ljust(wide) for word, wide in zip(row, widths, strict=True)).rstrip() for row in rows]


def _stacked(names: tuple[str, str], said: Sequence[Sequence[str]]) -> Iterator[str]:
    """What is said of each pool, below one another."""
    wide = max(map(len, names)) + 1
    for name, some in zip(names, said, strict=True):
        yield from (f"  {name + ':' if at == 0 else '':<{wide}} {line}".rstrip() for at, line in enumerate(some))


def _tables(a: State, b: State) -> Iterator[tuple[str, tuple[str, str]]]:
    for name in names_of(a, b)[0]:
        yield short(name), (request_words(a.requests.get(name)), request_words(b.requests.get(name)))


def request_words(request: RequestState | None) -> str:
    """``15 tokens, block table [1 2 3 4]``."""
    if request is None:
        return "not there"
    held = text.table_text(request.table) if request.table else request.state
    return f"{text.tokens_text(request)}, {held}"


def _queue(journal: Journal) -> list[str]:
    return [text.queue_text(journal.state).split(": ", 1)[1] or "empty"]


def _lost(journal: Journal) -> list[str]:
    said, more = evictions(journal)
    return [*said, *[f"and {count(more, 'step')} more"] * bool(more)] or ["none"]


# --- as HTML -------------------------------------------------------------------------------------------------

_GRID = "display:grid;grid-template-columns:122px minmax(0,1fr) minmax(0,1fr);gap:0 28px"


def pools_html(a: Journal, b: Journal) -> str:
    """Two pools as they are now, side by side."""
    brush = Brush(original_painter(a, b))
    names, more = names_of(a.state, b.state)
    tables = [_line(_chip(name, brush), *(_table_html(journal.state, name, brush) for journal in (a, b))) for name in names]
    return card(
        div("font-size:14px", safe(contrast_sentence(a, b))),
        _line("", *(div(f"border-bottom:1px solid {LINE}", element("b", "font-size:16px", safe(short(j.name)))) for j in (a, b))),
        *(_fact_html(fact) for fact in facts(a, len(a), b, len(b))),
        *tables,
        *[_line("", quiet(f"… {more:,} more requests …"), "")] * bool(more),
        _line(_label("free queue", "front first"), *(_strip(j.state, queue_cells(j.state, brush)) for j in (a, b))),
        _line(_label("evictions"), *("<br>".join(map(safe, _lost(journal))) for journal in (a, b))),
        foot(f"{short(a.name)}: digest {a.digest[:4]}…", f"{short(b.name)}: digest {b.digest[:4]}…"),
    )


def _line(label: str, *sides: str) -> str:
    return div(f"{_GRID};margin-top:12px", div("", label), *(div("", side) for side in sides))


def _label(word: str, below: str = "") -> str:
    more = f"<br>{span(f'{SMALL};{QUIET}', below)}" if below else ""
    return div("font-size:12px;line-height:15px", f"<b>{word}</b>{more}")


def _chip(name: str, brush: Brush) -> str:
    return div("font-size:12px;line-height:15px", chip(short(name, 12), brush.painter(name)))


def _fact_html(fact: Fact) -> str:
    """A figure of both; in bold where they differ."""
    values = [safe(value) for value in fact[1:]]
    values = [f"<b>{value}</b>" for value in values] if fact.a != fact.b else values
    label = div("font-size:12px;line-height:18px", quiet(fact.what))
    return div(f"{_GRID};margin-top:3px", label, *(div("", value) for value in values))


def _table_html(state: State, name: str, brush: Brush) -> str:
    request = state.requests.get(name)
    if request is None:
        return quiet("not there")
    says = div(f"{SMALL};{QUIET}", safe(_besides(request)))
    return (_strip(state, table_cells(state, request.table, brush, _TILES)) if request.table else "") + says


def _besides(request: RequestState) -> str:
    hits = f", {request.hits:,} from cache" if request.hits else ""
    state = "" if request.table else f", {request.state}"
    return f"{text.tokens_text(request)}{hits}{state}"


def _strip(state: State, cells: list[str]) -> str:
    return div("display:flex", strip(cells, state.num_blocks))
