"""One pool's history: numbered steps, each a command with its events and the digest of all so far.

Must not know: how a command is carried out. Appending to ``steps`` is the one act that makes a step exist.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kvnb.errors import UnknownName
from kvnb.journal.digest import first_digest, next_digest
from kvnb.journal.events import Event, Restored
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
    """

    def __init__(
        self,
        behaviour: Behaviour,
        name: str = "pool",
        steps: Iterable[Step] = (),
        memory: Mapping[str, Any] | None = None,
    ) -> None:
        self.behaviour = behaviour
        self.name = name
        self.memory = memory
        self.steps = list(steps)
        self.first_digest = first_digest(behaviour)
        self._fold: tuple[int, State] | None = None

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
        line: list[int] = []
        for step in self.steps[:k]:
            restored = step.of(Restored)
            if not restored:
                line.append(step.number)
            while restored and line and line[-1] > restored[0].k:
                line.pop()
        return line

    @property
    def state(self) -> State:
        """The state after the last step, for looking only; each step is folded once, whenever this is next asked."""
        # While the fold moves it is put away: an interrupt in the middle leaves none rather than a torn one.
        kept, self._fold = self._fold, None
        done, state = kept or (0, State(self.behaviour.num_blocks))
        for step in self.steps[done:]:
            state = self.advance(state, step)
        self._fold = (len(self.steps), state)
        return state

    def state_at(self, k: int) -> State:
        """The state after step ``k`` (0: the new pool), for looking only. Raises UnknownName when out of range."""
        if not 0 <= k <= len(self.steps):
            raise UnknownName(f"no step {k}: there are steps 0 to {len(self.steps)}")
        return self.state if k == len(self.steps) else self._fold_line(self.lineage(k))

    def advance(self, state: State, step: Step) -> State:
        """``state`` with one more step folded in; a new one where the step restores an earlier state."""
        for event in step.events:
            if isinstance(event, Restored):
                return self._fold_line(self.lineage(step.number))
            state.apply(event)
        return state

    def _fold_line(self, line: Iterable[int]) -> State:
        state = State(self.behaviour.num_blocks)
        for number in line:
            for event in self.steps[number - 1].events:
                state.apply(event)
        return state

    def to_frame(self, rows: str = "steps") -> pd.DataFrame:
        """A pandas DataFrame, a row a step, or with ``"events"`` a row an event. Raises MissingPackage without pandas."""
        from kvnb.journal import frames

        return frames.to_frame(self, rows)
