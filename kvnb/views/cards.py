"""The two cards: what a step did, and the whole pool after it.

Must not know: the live pool, IPython.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kvnb.core.events import Cleared, Hashed, Hit, Took, Unhashed
from kvnb.journal import Journal, State, Step
from kvnb.journal.state import RequestState
from kvnb.views import bars, text
from kvnb.views.gauges import gauges
from kvnb.views.markup import QUIET, card, chip, div, element, foot, quiet, row, safe, span
from kvnb.views.theme import Painter, painter
from kvnb.views.tiles import CROSS, Brush, Marks, marks_of, note, queue_cells, strip, table_cells
from kvnb.views.words import count, listed, short, shortened

MAPPED = 256
"""Up to so many blocks a state shows each; of a larger pool a bar."""
_REQUESTS = 12


# --- a step --------------------------------------------------------------------------------------------------


def step_html(journal: Journal, step: Step, state: State) -> str:
    """What a step did: its sentence, what was evicted, the tiles it changed, the free queue, a line of figures."""
    brush = Brush(painter(journal), marks_of(step))
    return card(
        div("font-size:14px", _sentence(step, brush.painter)),
        *evictions(step),
        *filled(step),
        *_changed(step, state, brush),
        queue_row(state, brush),
        foot(f"step {step.number}", f"usage {state.usage:.2f}", _lost(step), f"digest {step.digest[:4]}…", _ringed(brush.marks)),
    )


def _sentence(step: Step, paint_of: Painter) -> str:
    """The sentence of the text form, names in their colours and hits in bold."""
    args, says = step.command.args, text.sentence(step)
    names = args.get("names") or [args[key] for key in ("name",) if key in args]
    head = listed(names) if names else step.command.verb
    chips = listed(names, lambda name: chip(short(name), paint_of(name))) if names else f"<b>{head}</b>"
    rest = safe(says.removeprefix(head))
    return chips + re.sub(r"([1-9]\d* block\(s\) from cache)", r"<b>\1</b>", rest)


def evictions(step: Step) -> Iterator[str]:
    """Blocks that lost their hash, a line of markup each event; those that a command named are no news."""
    for event in step.of(Unhashed):
        if step.command.verb == "evict":
            continue
        ids = listed(shortened(event.ids), str, 65)
        what = "not computed" if event.why == "uncomputed" else "evict"
        says = f"{what}: block {ids} loses its hash" if len(event.ids) == 1 else f"{what}: blocks {ids} lose their hash"
        pin = span("display:inline-block;width:16px;text-align:center;margin:5px 0 0 5px", CROSS)
        yield div("margin-top:4px", pin, safe(says))


def filled(step: Step) -> Iterator[str]:
    """Blocks that became full while their request ran; those of an admission are no news, and some left before."""
    for event in step.of(Hashed):
        if step.command.verb == "admit" or step.command.args.get("fail") or not event.ids:
            continue
        ids = listed(shortened(event.ids), str, 65)
        says = f"block {ids} is full: it gets a hash" if len(event.ids) == 1 else f"blocks {ids} are full: they get a hash"
        yield div("margin:4px 0 0 21px", safe(says))


def _changed(step: Step, state: State, brush: Brush) -> Iterator[str]:
    """The table of the command's request, or the blocks that a command named."""
    name = step.command.args.get("name", "")
    request = state.requests.get(name)
    if request and request.table:
        yield row("block table", _origin(step), strip(table_cells(state, request.table, brush), state.num_blocks))
    if step.command.verb == "evict":
        yield row("blocks", "✕ = hash lost", strip(table_cells(state, step.command.args["ids"], brush), state.num_blocks))


def _origin(step: Step) -> str:
    hit, new = (sum(len(event.ids) for event in step.of(kind)) for kind in (Hit, Took))
    return f"{hit} hit, {new} new" if hit else f"{new} new"


def _lost(step: Step) -> str:
    if step.of(Cleared):
        return "every hash dropped"
    lost = sum(len(event.ids) for event in step.of(Unhashed))
    return f"{lost:,} evicted" if lost else "nothing evicted"


def _ringed(marks: Marks) -> str:
    return "ringed: just hit" if marks.hit else "ringed: just came back" if marks.back else ""


def queue_row(state: State, brush: Brush) -> str:
    """The free queue, front first."""
    key = f"◥{element('i', 'font-size:0;line-height:0', '*')} = cached"
    return row("free queue", key, strip(queue_cells(state, brush), state.num_blocks))


# --- a state -------------------------------------------------------------------------------------------------


def state_html(journal: Journal, state: State, step: int) -> str:
    """The whole pool after a step; what was hit or lost in that step is marked."""
    last = journal.steps[step - 1] if step else None
    brush = Brush(painter(journal), marks_of(last))
    return card(
        div("", element("b", "font-size:16px", safe(short(journal.name))), " ", quiet(safe(text.size_text(journal.behaviour)))),
        _figures(state),
        _blocks(state, brush),
        queue_row(state, brush),
        *request_rows(state, brush),
        foot(
            _after(last),
            f"digest {(last.digest if last else journal.first_digest)[:4]}…",
            _ringed(brush.marks),
            "✕ = just lost its hash" if brush.marks.lost else "",
        ),
    )


def _after(last: Step | None) -> str:
    if last is None:
        return "step 0, the new pool"
    args = last.command.args
    names = args.get("names") or [args[key] for key in ("name",) if key in args]
    return f"step {last.number}, after {last.command.verb} {listed(names) if names else ''}".rstrip()


def _figures(state: State) -> str:
    figures = " ".join(_figure(*gauge[:3]) for gauge in gauges(state))
    return div("display:flex;flex-wrap:wrap;gap:2px 40px;margin-top:6px", figures)


def _figure(number: str, word: str, below: str) -> str:
    big = element("b", "font-size:18px;line-height:24px", number)
    return div("line-height:16px", big, f" {word}<br>", span(f"{QUIET};font-size:12px", below))


def _blocks(state: State, brush: Brush) -> str:
    """Every block in the order of its id, or of very many how many there are of each kind; then the words for them."""
    total = f"{state.num_blocks:,} in all"
    words = row("", "", bars.words(state))
    if state.num_blocks > MAPPED:
        return row("blocks", total, bars.bar(state)) + words
    tiles = [brush.tile(state, block_id) for block_id in range(state.num_blocks)]
    return row("blocks", total, strip(tiles, state.num_blocks)) + words


def request_rows(state: State, brush: Brush) -> list[str]:
    """A row a request; of very many the first and the last."""
    names = list(state.requests)
    most = 32 if len(names) <= 4 else 12
    hidden = len(names) - _REQUESTS
    shown: Sequence[str] = names if hidden <= 0 else [*names[: _REQUESTS - 4], *names[-4:]]
    rows = [_request_row(state, name, brush, most) for name in shown]
    if hidden > 0:
        rows.insert(_REQUESTS - 4, row("", "", quiet(f"… {hidden:,} more requests …")))
    return rows


def _request_row(state: State, name: str, brush: Brush, most: int) -> str:
    request = state.requests[name]
    cells = [*table_cells(state, request.table, brush, most), _request_note(request, state.num_blocks)]
    label = chip(short(name, 14), brush.painter(name))
    return row(label, _length(request), strip(cells, state.num_blocks))


def _length(request: RequestState) -> str:
    """``15 tokens``, ``5 of 15 tokens`` while the prompt comes in chunks, ``7 tokens, 3 drafts``."""
    chunked = request.state == "running" and request.num_scheduled < request.num_tokens
    scheduled = f"{request.num_scheduled:,} of " if chunked else ""
    drafts = f", {count(request.num_drafts, 'draft')}" if request.num_drafts else ""
    return f"{scheduled}{count(request.num_tokens, 'token')}{drafts}"


def _request_note(request: RequestState, num_blocks: int) -> str:
    if request.state == "preempted":
        return note(num_blocks, 240, quiet("preempted: holds no block, keeps its tokens"))
    return note(num_blocks, 90, quiet(f"{request.hits:,} from cache")) if request.hits else ""
