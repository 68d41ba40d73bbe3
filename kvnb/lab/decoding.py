"""Several requests decoding together, as an engine has them: a packed pass a round, the newest preempted when blocks lack.

Must not know: IPython, tensors, how anything is drawn. Everything it does is a command of the Lab, a step of the journal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

from kvnb.errors import CommandError, NeverFits, OutOfBlocks, RequestError, named
from kvnb.results import Decoded
from kvnb.views.progress import progress

if TYPE_CHECKING:
    from kvnb.lab.lab import Lab


class Decoding:
    """Rounds in which each running request of ``names`` gets its next token, until each has ``k`` or said an end.

    The order is vLLM's (``v1/core/sched/scheduler.py``): running requests first, oldest first; when one finds no block, the
    newest of them is preempted, itself if need be; a round that preempted nobody then lets those that wait come back.

    Raises CommandError, UnknownName or RequestError, before the first round, for what cannot be.
    """

    def __init__(
        self, lab: Lab, names: Sequence[str], k: int, how: Mapping[str, Any], ends: Sequence[int], release: bool
    ) -> None:
        self._lab, self._how, self._ends, self._release = lab, how, ends, release
        _check(lab, names, k)
        scheduler = lab._recorder.engine.scheduler
        running = [name for name in lab.requests if name in names and scheduler.find(name).status == "running"]
        self._running = running
        self._waiting = [name for name in lab.requests if name in names and name not in running]
        self._left = {name: k for name in lab.requests if name in names}
        self._first = len(lab.journal)
        self._tokens: dict[str, list[int]] = {name: [] for name in self._left}
        self._reasons: dict[str, str | None] = dict.fromkeys(self._left)
        self._passes = 0

    def run(self) -> Decoded:
        """All rounds. An error or an interrupt of a pass leaves the steps made so far."""
        most = max(self._left.values(), default=0)
        with progress(range(most), "decode") as counted:
            for _ in chain(counted, repeat(0)):
                if not self._round():
                    break
        steps = self._lab.journal.steps[self._first :]
        write = self._lab._tokenizer.text
        return Decoded(self._lab, steps, self._tokens, self._reasons, self._passes, write)

    def _round(self) -> bool:
        """One pass; False when nobody could be served."""
        got, preempted = self._schedule()
        back = [] if preempted else list(self._resumed())
        if not got and not back:
            return False
        self._lab.step()
        self._passes += 1
        self._running += back
        for name, token in got.items():
            self._note(name, token)
        return True

    def _schedule(self) -> tuple[dict[str, int], bool]:
        """The next token of each running request that found room for it; whether somebody was preempted for that."""
        got: dict[str, int] = {}
        preempted = False
        for name in list(self._running):
            while name in self._running:
                try:
                    step = self._lab._decode_step(name, self._how, defer=True)
                except NeverFits:
                    self._running.remove(name)
                except OutOfBlocks:
                    if not got and len(self._running) == 1:
                        return got, preempted
                    self._preempt_newest()
                    preempted = True
                else:
                    got[name] = step.command.args["tokens"][0]
                    break
        return got, preempted

    def _preempt_newest(self) -> None:
        newest = self._running.pop()
        self._lab.preempt(newest)
        self._waiting.insert(0, newest)

    def _resumed(self) -> Iterator[str]:
        while self._waiting:
            try:
                self._lab.admit(self._waiting[0], defer=True)
            except NeverFits:
                # Those behind it need not wait for what never comes.
                self._waiting.pop(0)
            except OutOfBlocks:
                return
            else:
                yield self._waiting.pop(0)

    def _note(self, name: str, token: int) -> None:
        self._tokens[name].append(token)
        self._left[name] -= 1
        if token in self._ends:
            self._reasons[name] = "stop"
        elif not self._left[name]:
            self._reasons[name] = "length"
        if self._reasons[name]:
            self._running.remove(name)
            if self._release:
                self._lab.release(name)


def _check(lab: Lab, names: Sequence[str], k: int) -> None:
    if k < 1:
        raise CommandError(f"cannot make {k} tokens: give 1 or more")
    if not names:
        raise RequestError("no request to decode: admit one first")
    scheduler = lab._recorder.engine.scheduler
    for name in names:
        if names.count(name) > 1:
            raise RequestError(f"{named(name)} is named twice: once is enough")
        lab._memory("decode").check_tokens((), scheduler.find(name).num_tokens + k)
        if scheduler.find(name).status == "running":
            scheduler.check_ready(name)
    waits = [name for name in scheduler.waiting if name not in names]
    if waits:
        raise RequestError(f"{named(waits[0])} has tokens that wait for a pass, and a round would compute them: step first")
