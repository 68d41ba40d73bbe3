"""The timelines as text: the last steps in a small table, in the words of the seed's sample program.

Must not know: plotly, HTML.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kvnb.journal import Journal
from kvnb.journal.columns import EMPTY, QueueRow, Run, levels, queue_rows, runs
from kvnb.journal.prefills import prefill_rows
from kvnb.views.figures.sentences import KINDS, WORK, life_words, prefill_title, usage_title
from kvnb.views.figures.steps import Steps, command, last_steps, span_text
from kvnb.views.markup import TO
from kvnb.views.words import shortened

STEPS, _BLOCKS, _RUNS = 12, 32, 8
"""At most so many steps; so many blocks, each with so many pieces of its life."""


def queue_text(journal: Journal, until: int | None = None) -> str:
    """The free queue after each of the last steps."""
    steps = last_steps(journal, until, STEPS)
    rows = [(str(row.number), command(journal, row.number), _ids(row)) for row in queue_rows(journal, steps.first, steps.last)]
    return "\n".join([f"free queue (front first, * = cached), {_span(journal, steps)}", *aligned(rows)])


def _ids(row: QueueRow) -> str:
    starred = {block_id for block_id, cached in zip(row.ids, row.cached, strict=True) if cached}
    words = [f"{word}*" if word.isdigit() and int(word) in starred else word for word in shortened(row.ids)]
    return " ".join(words) or "empty"


def usage_text(journal: Journal, until: int | None = None) -> str:
    """Blocks by kind after each of the last steps."""
    steps = last_steps(journal, until, STEPS)
    rows = levels(journal, steps.last)
    table: list[Sequence[str]] = [("step", "", *KINDS, "evicted", "hit ratio so far")]
    for number in range(steps.first, steps.last + 1):
        numbers = [rows.one[number], rows.shared[number], rows.cached[number], rows.empty[number], rows.evicted[number]]
        ratio = rows.hit_ratio(number)
        share = "" if ratio is None else f"{ratio:.2f} = {rows.hits[number]:,}/{rows.queries[number]:,}"
        table.append((str(number), command(journal, number), *(f"{n:,}" for n in numbers), share))
    head = f"{usage_title(journal, rows, steps.last)}, {_span(journal, steps)}"
    return "\n".join([head, *aligned(table)])


def blocks_text(journal: Journal, until: int | None = None) -> str:
    """The life of each block in the last steps; nothing is said of the time when it was free and empty."""
    steps = last_steps(journal, until, STEPS)
    lives: dict[int, list[Run]] = {block_id: [] for block_id in range(1, journal.behaviour.num_blocks)}
    for run in runs(journal, steps.first, steps.last):
        if run.kind != EMPTY:
            lives[run.block_id].append(run)
    told = {block_id: life for block_id, life in lives.items() if life}
    lines = [f"  block {block_id}: {_life(told[block_id])}" for block_id in list(told)[:_BLOCKS]]
    lines += [f"  ... {len(told) - _BLOCKS:,} more blocks"] * (len(told) > _BLOCKS)
    rest = len(lives) - len(told)
    lines += [f"  free and empty all the time: {rest:,} of {len(lives):,}"] * bool(rest)
    return "\n".join([f"the life of each block, {_span(journal, steps)}", *lines])


def prefill_text(journal: Journal, until: int | None = None) -> str:
    """Tokens saved, of those that were looked up, and computed in each of the last steps; columns of what there is."""
    steps = last_steps(journal, until, STEPS)
    rows = prefill_rows(journal, steps.first, steps.last)
    kinds = [kind for kind in range(len(WORK)) if kind < 2 or any(row.work[kind] for row in rows)]
    table: list[Sequence[str]] = [("step", "", *(WORK[kind] for kind in kinds), "saved so far")]
    for row in rows:
        share = row.total.share
        so_far = "" if share is None else f"{share:.2f} = {row.total.saved:,}/{row.total.prefill:,}"
        saved = f"{row.work.saved:,} of {row.looked:,}" if row.looked else f"{row.work.saved:,}"
        others = (f"{row.work[kind]:,}" for kind in kinds[1:])
        table.append((str(row.number), command(journal, row.number), saved, *others, so_far))
    head = f"{prefill_title(journal, rows[-1].total)}, {_span(journal, steps)}"
    return "\n".join([head, *aligned(table)])


def _life(life: Sequence[Run]) -> str:
    pieces = [f"{who} ({when.replace(TO, '-')})" for who, when in map(life_words, life[-_RUNS:])]
    return ", ".join(["..."] * (len(life) > _RUNS) + pieces)


def _span(journal: Journal, steps: Steps) -> str:
    return span_text(journal, steps).replace(TO, "-")


def aligned(rows: Iterable[Sequence[str]]) -> list[str]:
    """Rows as lines, each column as wide as its longest word but the last."""
    lines = list(rows)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  " + "  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip() for line in lines]
