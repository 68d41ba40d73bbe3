"""What an output holds for good: the blocks and the free queue as text and as static HTML.

Must not know: widgets, kernels.
"""

from __future__ import annotations

from base64 import b64encode

from kvnb.journal import Journal, State
from kvnb.views import bars, text
from kvnb.views.canvas.frames import Colours, words_of
from kvnb.views.canvas.png import blocks_png
from kvnb.views.cards import MAPPED, queue_row
from kvnb.views.markup import card, foot, row
from kvnb.views.theme import painter
from kvnb.views.tiles import Brush, Marks, marks_of, strip
from kvnb.views.words import count


def marks_at(journal: Journal, step: int) -> Marks:
    """What step ``step`` did to blocks; none for the new pool."""
    return marks_of(journal.steps[step - 1] if step else None)


def summary(state: State) -> str:
    """The pool in one sentence, for those who do not see it: ``11 blocks: 4 used by one, 0 shared, ...``."""
    parts = ", ".join(f"{part.number:,} {part.word}" for part in bars.parts(state))
    return f"{count(state.num_blocks, 'block')}: {parts}"


def blocks_text(journal: Journal, state: State, step: int) -> str:
    """Every kind of block with its number."""
    return f"{text.pool_line(journal, step)}\n  {text.usage_text(state)}\n  {summary(state)}"


def blocks_html(journal: Journal, state: State, step: int) -> str:
    """Every block in the order of its id: as tiles, or of many as an image."""
    marks = marks_at(journal, step)
    many = state.num_blocks > MAPPED
    shown, moments = (_image, _counts) if many else (_tiles, _moments)
    words = row("", "", bars.words(state))
    blocks = row("blocks", f"{state.num_blocks:,} in all", shown(journal, state, marks))
    return card(blocks, words, foot(_at(step), *moments(marks)))


def _tiles(journal: Journal, state: State, marks: Marks) -> str:
    brush = Brush(painter(journal), marks)
    return strip([brush.tile(state, block_id) for block_id in range(state.num_blocks)], state.num_blocks)


def _image(journal: Journal, state: State, marks: Marks) -> str:
    colours = Colours(painter(journal))
    picture = blocks_png(words_of(state, marks, colours), colours.table)
    says = f"Block map, {summary(state)}"
    source = f"data:image/png;base64,{b64encode(picture.png).decode()}"
    return f'<img alt="{says}" width="{picture.width}" style="max-width:100%" src="{source}">'


def queue_html(journal: Journal, state: State, step: int) -> str:
    """The free queue, front first; of a long one the two ends."""
    marks = marks_at(journal, step)
    free = f"{len(state.queue):,} free of {state.num_blocks - 1:,}"
    return card(queue_row(state, Brush(painter(journal), marks)), foot(_at(step), free, *_moments(marks)))


def _at(step: int) -> str:
    return f"step {step:,}" if step else "step 0, the new pool"


def _moments(marks: Marks) -> list[str]:
    ringed = "ringed: just hit" if marks.hit else "ringed: just came back" if marks.back else ""
    return [ringed, "✕ = just lost its hash" if marks.lost else ""]


def _counts(marks: Marks) -> list[str]:
    """The same where blocks are too small for a ring."""
    said = ((marks.hit, "just hit"), (marks.lost, "just lost its hash"), (marks.back, "just came back"))
    return [f"{len(ids):,} {what}" for ids, what in said if ids]
