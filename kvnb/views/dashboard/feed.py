"""What a page must be told so that it shows a pool after some step: of the present only what changed.

Must not know: widgets, threads, clocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from kvnb.core.events import Cleared, Hashed, Unhashed
from kvnb.journal import Journal, State, Step
from kvnb.journal.columns import TOUCHING
from kvnb.journal.events import Restored
from kvnb.views import text
from kvnb.views.canvas.frames import BOTH, Colours, encode, encode_queue, whole, words_at, words_of
from kvnb.views.canvas.still import marks_at
from kvnb.views.dashboard.rows import owners, rows
from kvnb.views.gauges import gauges
from kvnb.views.theme import painter
from kvnb.views.tiles import NO_MARKS, Marks
from kvnb.views.words import listed, queue_ends


class News(NamedTuple):
    """One message: plain values, the blocks as a frame (whole or of some ids), the free queue as a frame."""

    facts: dict[str, Any]
    blocks: bytes
    queue: bytes


class Feed:
    """Follows one journal; each step's events are folded once, into a state of its own.

    News of the present costs O(blocks changed) since the last, unless a step went back or dropped the whole cache.
    """

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._seq = 0
        self._ends: tuple[int, ...] = ()
        self._begin()

    def _begin(self) -> None:
        """Take the state as it is; ``_torn`` stays set when an interrupt or a mistake cuts off what changes it later."""
        self._done = len(self.journal)
        self._state = self.journal.state_at(self._done, own=True)
        self._colours = Colours(painter(self.journal))
        self._touched: set[int] = set()
        self._stale, self._torn = True, False
        self._see_all()

    def _see_all(self) -> None:
        self._words = words_of(self._state, NO_MARKS, self._colours)
        self._shared = {block_id for block_id, word in enumerate(self._words) if word & 3 == BOTH}

    @property
    def behind(self) -> bool:
        """Whether the journal has steps that were not told of yet."""
        return self._done < len(self.journal)

    @property
    def state(self) -> State:
        """The state after the last step that was followed; for looking only."""
        return self._state

    def now(self, *, all_blocks: bool = False) -> News:
        """News of the present; ``all_blocks``: for a page that missed some."""
        if self._torn:
            self._begin()
        self._torn = True
        steps = self.journal.steps[self._done :]
        self._colours = Colours(painter(self.journal))
        for step in steps:
            self._take(step)
        marks = marks_at(self.journal, self._done)
        self._seq += 1
        blocks = self._blocks(marks, all_blocks or self._stale)
        self._torn = False
        return self._news(self._state, marks, self._done, blocks)

    def at(self, step: int) -> News:
        """News of the past: the pool after ``step``. The next news of the present has every block."""
        state, marks = self.journal.state_at(step), marks_at(self.journal, step)
        self._colours, self._stale = Colours(painter(self.journal)), True
        self._seq += 1
        return self._news(state, marks, step, encode(state, marks, self._colours, self._seq))

    # --- following -------------------------------------------------------------------------------------------

    def _take(self, step: Step) -> None:
        for event in step.events:
            if isinstance(event, Restored):
                self._state, self._stale = self.journal.advance(self._state, step), True
                self._see_all()
            elif isinstance(event, Cleared):
                self._touched.update(*self._state.copies.values())
                self._state.apply(event)
            else:
                self._state.apply(event)
                if isinstance(event, TOUCHING):
                    self._touched.update(event.ids)
        self._done = step.number

    def _blocks(self, marks: Marks, everything: bool) -> bytes:
        """A frame of what changed, or of every block where that takes fewer bytes."""
        marked = frozenset[int]().union(*marks)
        ids = sorted(self._touched | marked)
        self._change(ids, words_at(self._state, marks, self._colours, ids))
        # What is marked now has to be told again once it is not.
        self._touched = set(marked)
        self._stale = False
        if everything or 6 * len(ids) > 2 * self._state.num_blocks:
            return whole(self._state, self._words, sorted(self._shared), self._seq)
        return encode(self._state, marks, self._colours, self._seq, ids)

    def _change(self, ids: Iterable[int], words: Iterable[int]) -> None:
        for block_id, word in zip(ids, words, strict=True):
            self._words[block_id] = word
            (self._shared.add if word & 3 == BOTH else self._shared.discard)(block_id)

    # --- saying ----------------------------------------------------------------------------------------------

    def _news(self, state: State, marks: Marks, step: int, blocks: bytes) -> News:
        queue = encode_queue(state, marks, self._colours, self._seq, self._ends)
        front, _, back = queue_ends(state)
        self._ends = (*front, *back)
        facts = {
            "seq": self._seq, "step": step, "steps": len(self.journal), "digest": self._digest(step)[:8],
            "says": self._says(step), "gauges": [list(gauge) for gauge in gauges(state)],
            "owners": owners(state, self._colours), **rows(state, self._colours),
        }  # fmt: skip
        return News(facts, blocks, queue)

    def _digest(self, step: int) -> str:
        return self.journal.steps[step - 1].digest if step else self.journal.first_digest

    def _says(self, step: int) -> list[str]:
        if not step:
            return ["the new pool"]
        last = self.journal.steps[step - 1]
        return [text.sentence(last), *filter(None, [_lost(last), _filled(last)])]


def _lost(step: Step) -> str:
    events = [event for event in step.of(Unhashed) if event.ids]
    if not events:
        return ""
    ids = [block_id for event in events for block_id in event.ids]
    what = "not computed" if events[0].why == "uncomputed" else "evict"
    return f"{what}: {_blocks(ids)} {'loses its hash' if len(ids) == 1 else 'lose their hashes'}"


def _filled(step: Step) -> str:
    """Blocks that became full while their request ran; those of an admission are no news."""
    ids = [block_id for event in step.of(Hashed) for block_id in event.ids]
    if not ids or step.command.verb not in ("append", "prefill") or step.command.args.get("fail"):
        return ""
    return f"{_blocks(ids)} {'is full: it gets a hash' if len(ids) == 1 else 'are full: they get a hash'}"


def _blocks(ids: Sequence[int]) -> str:
    return f"{'block' if len(ids) == 1 else 'blocks'} {listed([str(block_id) for block_id in ids])}"
