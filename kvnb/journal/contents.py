"""What every slot of a block holds: which request's token, written by which step; live, cached, stale or unwritten.

Must not know: the memory itself. A journal tells enough: which step ended in a forward pass, over which tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from kvnb.core.events import Took
from kvnb.journal.events import Event
from kvnb.journal.journal import Journal, Step
from kvnb.journal.state import State
from kvnb.journal.transcript import Transcript
from kvnb.manager.engine import computes
from kvnb.manager.events import Ended, Extended, Looked, RequestIs, Tokens

Kind = Literal["live", "cached", "stale", "unwritten"]


class Written(NamedTuple):
    """A token whose K and V were written: the ``place`` of ``token`` in request ``name``, by step number ``step``."""

    name: str
    place: int
    token: int
    step: int


class Slot(NamedTuple):
    """One slot of a block.

    kind
        ``live``: a running request's token. ``cached``: free, and can be hit. ``stale``: left behind, nobody can reach
        it. ``unwritten``: nothing since its block was last taken.
    """

    kind: Kind
    written: Written | None


def contents(journal: Journal, ids: Iterable[int], k: int | None = None) -> dict[int, list[Slot]]:
    """The slots of these blocks after step ``k`` of a journal, by default its last. Cost: that of one fold of its events."""
    asked, steps = list(ids), [journal.steps[number - 1] for number in journal.lineage(k)]
    # What is meant for a block that a corrupt table hides goes to another.
    hidden = [step.command.args["block"] for step in steps if step.command.verb == "corrupt"]
    ledger = Ledger(journal, [*asked, *hidden])
    for step in steps:
        ledger.apply(step)
    state = journal.state if k is None else journal.state_at(k)
    return {block_id: ledger.block(block_id, state) for block_id in asked}


class Ledger:
    """Follows steps, and writes down who wrote which slot of the blocks ``ids``.

    Only the request that took a block from the free queue writes to it; those that share it read. Where its table is
    corrupt, it writes to the block that stands there.
    """

    def __init__(self, journal: Journal, ids: Iterable[int]) -> None:
        self._size = journal.behaviour.block_size
        self.slots: dict[int, list[Written | None]] = {block_id: [None] * self._size for block_id in ids}
        self._transcript = Transcript(journal.behaviour, hashes=False)
        self._taken: set[int] = set()
        # Block to the running request that writes to it, and the place of the block in its table.
        self._writer: dict[int, tuple[str, int]] = {}
        # A corrupt entry that is still written to, by request and place: the block that stands there.
        self._wrong: dict[tuple[str, int], int] = {}
        self._length: dict[str, int] = {}
        self._computed: dict[str, int] = {}
        self._end: dict[str, int] = {}

    def apply(self, step: Step) -> None:
        """Follow one step."""
        self._transcript.apply(step.command)
        if step.command.verb == "corrupt":
            self._corrupt(step.command.args)
        # A pass that failed preempts its requests afterwards; until then their tables say which slots it was to write.
        rest = list(step.events)
        while rest and not (step.command.args.get("fail") and _preempted(rest[0])):
            self._follow(rest.pop(0))
        if computes(step.command):
            self._pass(step)
        for event in rest:
            self._follow(event)

    def block(self, block_id: int, state: State) -> list[Slot]:
        """The slots of one block, in order, given the pool's state after the last step followed."""
        return [self._slot(block_id, state, written) for written in self.slots[block_id]]

    def _slot(self, block_id: int, state: State, written: Written | None) -> Slot:
        if written is None:
            return Slot("unwritten", None)
        if not state.ref_cnt[block_id]:
            return Slot("stale" if state.keys[block_id] is None else "cached", written)
        writer, _ = self._writer.get(block_id, ("", 0))
        # A rejected draft left its K and V in a slot that belongs to no token any more.
        return Slot("stale" if writer == written.name and written.place >= self._end[writer] else "live", written)

    def _corrupt(self, args: Mapping[str, Any]) -> None:
        name, place = self._writer.get(args["block"], ("", 0))
        if name == args["name"]:
            self._wrong[name, place] = args["other"]

    def _follow(self, event: Event) -> None:
        match event:
            case Took(ids):
                self._taken = {block_id for block_id in ids if block_id in self.slots}
                self.slots.update((block_id, [None] * self._size) for block_id in self._taken)
            case Extended(name, ids):
                self._extend(name, ids)
            case Tokens(name, _, scheduled, draft):
                self._end[name] = scheduled + draft
                self._computed[name] = min(self._computed[name], scheduled)
            case Looked(name, _, hits):
                self._computed[name] = hits
            case RequestIs(name, "running"):
                self._computed[name] = self._length[name] = 0
            case RequestIs(name) | Ended(name):
                self._forget(name)

    def _extend(self, name: str, ids: tuple[int, ...]) -> None:
        if self._taken:
            for place, block_id in enumerate(ids, start=self._length[name]):
                if block_id in self._taken:
                    self._writer[block_id] = (name, place)
            self._taken = set()
        self._length[name] += len(ids)

    def _forget(self, name: str) -> None:
        for table in (self._length, self._computed, self._end):
            table.pop(name, None)
        self._writer = {block_id: writer for block_id, writer in self._writer.items() if writer[0] != name}
        self._wrong = {entry: block_id for entry, block_id in self._wrong.items() if entry[0] != name}

    def _pass(self, step: Step) -> None:
        failed = step.command.args.get("fail")
        for block_id, (name, place) in self._writer.items():
            start, slots = place * self._size, self.slots.get(self._wrong.get((name, place), block_id))
            if slots is None:
                continue
            for at in range(max(self._computed[name], start), min(self._end[name], start + self._size)):
                slots[at - start] = None if failed else Written(name, at, self._token(name, at), step.number)
        self._computed.update(self._end)

    def _token(self, name: str, place: int) -> int:
        request = self._transcript.requests[name]
        return request.token_ids[place] if place < request.num_tokens else request.drafts[place - request.num_tokens]


def _preempted(event: Event) -> bool:
    return isinstance(event, RequestIs) and event.state == "preempted"
