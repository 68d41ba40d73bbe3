"""What a fork says: where it comes from, what was done, refused and skipped, and where it came out otherwise first.

Must not know: how a fork is made, the live pool, IPython.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kvnb.core.events import Hashed
from kvnb.errors import named, printable
from kvnb.journal import Journal, State, Step
from kvnb.journal.fork import words
from kvnb.journal.forked import Forked, Left
from kvnb.views import text
from kvnb.views.cards import queue_row
from kvnb.views.markup import QUIET, card, div, element, foot, quiet, safe, table
from kvnb.views.pools import Fact, aligned, facts, original_painter
from kvnb.views.ranges import ranges
from kvnb.views.theme import Painter
from kvnb.views.tiles import Brush, marks_of
from kvnb.views.words import count, short

_LEFT = 12
"""At most so many of the commands that were refused, or skipped, are written out."""


def origin_text(forked: Forked) -> str:
    """``forked from pool at step 6, with --free-to back; 6 commands: 6 done, 0 refused, 0 skipped``."""
    return f"{came_from(forked)}; {counts_text(forked)}"


def came_from(forked: Forked) -> str:
    """``forked from pool at step 6, with --free-to back``; plain text."""
    changed = _options(forked.settings)
    return f"forked from {short(forked.pool, 40)} at step {forked.step:,}, " + (
        f"with {changed}" if changed else "with the same settings"
    )


def counts_text(forked: Forked) -> str:
    """How many commands there were, and what became of them."""
    refused, skipped = len(forked.refused), len(forked.skipped)
    total = count(forked.num_done + refused + skipped, "command")
    return f"{total}: {forked.num_done:,} done, {refused:,} refused, {skipped:,} skipped"


def _options(settings: Mapping[str, Any]) -> str:
    """Settings as they are typed."""
    return " ".join(_option(name, value) for name, value in settings.items() if name != "none_hash")


def _option(name: str, value: Any) -> str:
    typed = printable(name.replace("_", "-"))
    if isinstance(value, bool):
        return f"--{typed}" if value else f"--no-{typed}"
    return f"--{typed} {named(str(0 if value is None else value))}"


# --- the first difference ------------------------------------------------------------------------------------


class Side(NamedTuple):
    """What one of the two pools did at a step: the step, if it was done, the state after it, and that in lines."""

    name: str
    step: Step | None
    state: State
    lines: list[str]


def sides(original: Journal, fork: Journal) -> tuple[Side, Side] | None:
    """Both pools at the first step that came out otherwise; None where none did."""
    forked = fork.forked
    assert forked is not None, "only a fork differs from its original"
    if not forked.differs:
        return None
    number = sum(1 for done in forked.numbers if done <= forked.differs)
    done = forked.differs in forked.numbers
    was = original.steps[forked.differs - 1]
    left = next((left for left in (*forked.refused, *forked.skipped) if left.number == forked.differs), None)
    said = f"{'refused' if left in forked.refused else 'skipped'}: {printable(left.why)}" if left else ""
    return (
        _side(original, was, original.state_at(forked.differs), ""),
        _side(fork, fork.steps[number - 1] if done else None, fork.state_at(number), said),
    )


def _side(journal: Journal, step: Step | None, state: State, said: str) -> Side:
    if step is None:
        return Side(journal.name, None, state, [said, text.queue_text(state)])
    hashed = [block_id for event in step.of(Hashed) for block_id in event.ids]
    kept = [f"blocks {ranges(hashed)} get a hash"] if len(hashed) > 1 else [f"block {i} gets a hash" for i in hashed]
    kept = kept or ["no block gets a hash"] * (step.command.verb in ("admit", "prefill", "append"))
    request = state.requests.get(step.command.args.get("name", ""))
    held = [text.table_text(request.table)] if request and request.table else []
    more = [line.strip() for line in text.details(step)]
    return Side(journal.name, step, state, [text.sentence(step), *more, *held, *kept, text.queue_text(state)])


def differing(was: Side, now: Side) -> tuple[list[str], list[str]]:
    """The sentence of each, and those of the lines that the other has not."""
    return _own(was, now), _own(now, was)


def _own(side: Side, other: Side) -> list[str]:
    return [line for at, line in enumerate(side.lines) if at == 0 or line not in other.lines]


def _what(original: Journal, fork: Journal) -> str:
    assert fork.forked is not None
    step = original.steps[fork.forked.differs - 1]
    return f"step {step.number:,}, {printable(words(step.command))}"


# --- as text -------------------------------------------------------------------------------------------------


def fork_text(original: Journal, fork: Journal) -> str:
    """A fork beside its original, in a few lines."""
    forked = fork.forked
    assert forked is not None
    lines = [f"{short(fork.name)}: {came_from(forked)}", f"  {counts_text(forked)}", *_first_text(original, fork)]
    for word, left in (("refused", forked.refused), ("skipped", forked.skipped)):
        lines += [f"  {word}: {_left_text(one)}" for one in left[:_LEFT]]
        lines += [f"  {word}: and {len(left) - _LEFT:,} more"] * (len(left) > _LEFT)
    return "\n".join([*lines, *_end_text(_end(original, fork), (original.name, fork.name))])


def _left_text(left: Left) -> str:
    return f"step {left.number:,}, {printable(left.command)}: {printable(left.why)}"


def _first_text(original: Journal, fork: Journal) -> Iterator[str]:
    found = sides(original, fork)
    if found is None:
        yield "  every step came out as in the original"
        return
    yield f"  first difference at {_what(original, fork)}"
    wide = max(len(short(side.name)) for side in found) + 1
    for side, lines in zip(found, differing(*found), strict=True):
        yield f"    {short(side.name) + ':':<{wide}} {lines[0]}"
        yield from (f"    {'':<{wide}} {line}" for line in lines[1:])


def _end(original: Journal, fork: Journal) -> list[Fact]:
    assert fork.forked is not None
    return [fact for fact in facts(original, fork.forked.step, fork, len(fork)) if fact.what != "settings"]


def _end_text(rows: Sequence[Fact], names: tuple[str, str]) -> Iterator[str]:
    table = [("in the end", *map(short, names)), *(fact[:3] for fact in rows)]
    return (f"  {line}" for line in aligned(table))


# --- as HTML -------------------------------------------------------------------------------------------------


def fork_html(original: Journal, fork: Journal) -> str:
    """A fork beside its original."""
    forked = fork.forked
    assert forked is not None
    head = div("", element("b", "font-size:16px", safe(short(fork.name))), " ", quiet(safe(came_from(forked))))
    return card(
        head,
        div("font-size:14px;margin-top:6px", safe(counts_text(forked))),
        *_first_html(original, fork, original_painter(original, fork)),
        *_left_html(forked),
        div("margin-top:14px", _end_html(original, fork)),
        foot(f"digest {fork.digest[:4]}…", f"{short(original.name)} {forked.digest[:4]}… at step {forked.step:,}"),
    )


def _first_html(original: Journal, fork: Journal, paint_of: Painter) -> Iterator[str]:
    found = sides(original, fork)
    if found is None:
        yield div("margin-top:10px", "Every step came out as in the original.")
        return
    yield div("margin-top:14px", "First difference at ", f"<b>{safe(_what(original, fork))}</b>")
    for side, lines in zip(found, differing(*found), strict=True):
        said = [safe(line) for line in lines if not line.startswith("free queue")]
        yield div("margin-top:10px", f"<b>{safe(short(side.name))}</b>: ", "<br>".join(said))
        if any(line.startswith("free queue") for line in lines):
            yield queue_row(side.state, Brush(paint_of, marks_of(side.step)))


def _left_html(forked: Forked) -> Iterator[str]:
    rows = [(word, left) for word, some in (("refused", forked.refused), ("skipped", forked.skipped)) for left in some[:_LEFT]]
    if rows:
        shown = [(f"{left.number:,}", safe(left.command), word, safe(left.why)) for word, left in rows]
        yield div("margin-top:14px", table(("step", "command", "", "why"), shown))
    more = len(forked.refused) + len(forked.skipped) - len(rows)
    if more:
        yield div(f"margin-top:4px;font-size:12px;{QUIET}", f"and {more:,} more")


def _end_html(original: Journal, fork: Journal) -> str:
    rows = [(safe(fact.what), *(_told(value, fact) for value in fact[1:3])) for fact in _end(original, fork)]
    return table(("in the end", short(original.name), short(fork.name)), rows)


def _told(value: str, fact: Fact) -> str:
    """A number of one side; in bold where the other has another."""
    return f"<b>{safe(value)}</b>" if fact.a != fact.b else safe(value)
