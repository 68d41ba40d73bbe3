"""One pool's history: numbered steps, each a command with its events and the digest of all so far.

Must not know: how a command is carried out. Appending to ``steps`` is the one act that makes a step exist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple

from kvnb.errors import UnknownName
from kvnb.journal.digest import first_digest, next_digest
from kvnb.journal.events import Event, Restored
from kvnb.journal.forked import Forked
from kvnb.journal.lines import Lines
from kvnb.journal.past import Moment, Past
from kvnb.journal.state import State
from kvnb.manager.behaviour import Behaviour
from kvnb.manager.command import Command

if TYPE_CHECKING:
    import pandas as pd


class Cell(NamedTuple):
    """The notebook cell that ran a step: prompt number, hash of its source, the front end's id if it gave one."""

    execution_count: int
    source: str
    cell_id: str | None


class Step(NamedTuple):
    """One finished command; ``number`` counts from 1. Outside the digest stay the last two fields.

    cell
        The notebook cell that ran it.
    origin
        Where its tokens come from when nobody typed them: the model that made them, with the sampling's settings.
    """

    number: int
    command: Command
    events: tuple[Event, ...]
    digest: str
    cell: Cell | None = None
    origin: Mapping[str, Any] | None = None

    def of(self, kind: type[Event]) -> list[Any]:
        """This step's events of one kind, in order."""
        return [event for event in self.events if type(event) is kind]


class Journal:
    """The steps of the pool ``name``, and the state after any of them.

    memory
        The settings of the memory behind the blocks, as plain values; outside the digest. None: block ids only.
    forked
        Where a fork comes from, and what was refused there; outside the digest. None for a pool that began with no step.
    lines
        Which steps are in effect after which.
    listeners
        Called after each step of a pool that runs, when it is finished; they must not raise, nor take long.

    Other threads may read ``steps``, states and lines while one adds steps. The state after the last step is one that all
    share and that goes on with the journal; ``state_at(k, own=True)`` is for whoever reads it meanwhile.
    """

    def __init__(
        self,
        behaviour: Behaviour,
        name: str = "pool",
        steps: Iterable[Step] = (),
        memory: Mapping[str, Any] | None = None,
        forked: Forked | None = None,
    ) -> None:
        self.behaviour = behaviour
        self.name = name
        self.memory = memory
        self.forked = forked
        self.steps = list(steps)
        self.first_digest = first_digest(behaviour)
        self.listeners: list[Callable[[], object]] = []
        self.lines = Lines(self.steps)
        self._lock = RLock()
        self._past = Past(self.steps, self.lines, lambda: State(behaviour.num_blocks), _fold)
        # The moment after the last step that was asked for, and the one that another step was last asked for.
        self._live: Moment[State] | None = None
        self._looked: Moment[State] | None = None

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def digest(self) -> str:
        """Hex SHA-256 of the settings and of every step so far."""
        return self.steps[-1].digest if self.steps else self.first_digest

    def next_step(
        self,
        command: Command,
        events: Sequence[Event],
        cell: Cell | None = None,
        origin: Mapping[str, Any] | None = None,
    ) -> Step:
        """The step that ``command`` would be; it exists only once it is in ``steps``."""
        return Step(len(self.steps) + 1, command, tuple(events), next_digest(self.digest, command, events), cell, origin)

    def lineage(self, k: int | None = None) -> list[int]:
        """The numbers of the steps that are in effect after step ``k`` (default: the last), undone ones left out."""
        return self.lines.line(len(range(len(self.steps))[:k]))

    @property
    def state(self) -> State:
        """The state after the last step, for looking only; each step is folded once, whenever this is next asked."""
        with self._lock:
            return self._live_at(len(self.steps))

    def state_at(self, k: int, own: bool = False) -> State:
        """The state after step ``k`` (0: the new pool), which is the caller's own unless ``k`` is the last step.

        It is folded from a snapshot not far before, or from the state that was last asked for; see ``Past`` for how far
        apart the snapshots are and how many. Raises UnknownName when ``k`` is out of range.

        own
            True: a copy also after the last step.
        """
        with self._lock:
            last = len(self.steps)
            if not 0 <= k <= last:
                raise UnknownName(f"no step {k}: there are steps 0 to {last}")
            if k == last:
                return self._live_at(k).copy() if own else self._live_at(k)
            looked, self._looked = self._looked, None
            looked = self._past.reach(self.lines.end(k), looked)
            self._looked = looked
            return looked.thing.copy()

    def advance(self, state: State, step: Step) -> State:
        """``state`` with one more step folded in; a new one where the step restores an earlier state."""
        for event in step.events:
            if isinstance(event, Restored):
                with self._lock:
                    return self._past.reach(self.lines.end(step.number)).thing
            state.apply(event)
        return state

    def _live_at(self, k: int) -> State:
        # While the fold moves it is put away: an interrupt in the middle leaves none rather than a torn one.
        live, self._live = self._live, None
        live = self._past.reach(self.lines.end(k), live)
        self._live = live
        return live.thing

    def to_frame(self, rows: str = "steps") -> pd.DataFrame:
        """A pandas DataFrame, a row a step, or with ``"events"`` a row an event. Raises MissingPackage without pandas."""
        from kvnb.journal import frames

        return frames.to_frame(self, rows)


def _fold(state: State, step: Step) -> None:
    for event in step.events:
        state.apply(event)
