"""What a prefill cost: tokens that forward passes computed, and tokens that they were saved since the cache had them.

Must not know: the live pool, how it is drawn. It reads the events alone: a pass needs no event of its own, since what was
scheduled and neither put off nor lost is computed when its step ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from kvnb.journal.columns import moments
from kvnb.journal.journal import Journal, Step
from kvnb.manager.events import Computed, Deferred, Ended, Looked, RequestIs, Tokens


class Work(NamedTuple):
    """Scheduled tokens, by what became of them.

    saved
        Tokens of a prefill that the cache had (vLLM: hit tokens; under a window also those that it does not see any more).
    computed, recomputed
        Tokens of a prefill that a forward pass computed for the first time; and once more, since a preemption took them away.
    decoded
        Tokens that were appended, and drafts.
    failed
        Tokens whose forward pass failed: nothing was computed.
    """

    saved: int = 0
    computed: int = 0
    recomputed: int = 0
    decoded: int = 0
    failed: int = 0

    @property
    def prefill(self) -> int:
        """Tokens of prefills that are there, however they came."""
        return self.saved + self.computed + self.recomputed

    @property
    def forward(self) -> int:
        """Tokens that went through the model, or would have where there is no memory."""
        return self.computed + self.recomputed + self.decoded

    @property
    def share(self) -> float | None:
        """Of the tokens of prefills the part that was saved; None while there is none."""
        return self.saved / self.prefill if self.prefill else None

    def plus(self, other: Work) -> Work:
        """Both together."""
        return Work(*map(sum, zip(self, other, strict=True)))


_NONE = Work()


@dataclass(slots=True)
class _Request:
    """A request as far as its tokens go.

    prompt
        How many tokens its prefill has: all that it had when it was last admitted.
    scheduled, drafts
        As in ``RequestState``.
    first
        The place of the first scheduled token that no forward pass has computed; None: there is none.
    done
        How many of its tokens have ever been computed or found in the cache, whether they are still there or not.
    asked
        Tokens of its first prompt and how many of these were hit, until all of them are there for the first time.
    """

    prompt: int = -1
    scheduled: int = 0
    drafts: int = 0
    first: int | None = None
    put_off: bool = False
    done: int = 0
    asked: tuple[int, int] | None = None


@dataclass
class Prefills:
    """What has been computed and saved after some number of steps.

    total, last
        So far, and by the last step.
    looked
        Tokens whose prefix the last step looked up in the cache: those of the request that it admitted.
    prompt_tokens, prompt_tokens_cached
        vLLM's counters: tokens of the prompts that are all there, and how many of these were hit at their first admission.
    """

    total: Work = _NONE
    last: Work = _NONE
    looked: int = 0
    prompt_tokens: int = 0
    prompt_tokens_cached: int = 0
    requests: dict[str, _Request] = field(default_factory=dict)

    def copy(self) -> Prefills:
        """The same, independent of this one."""
        return replace(self, requests={name: replace(request) for name, request in self.requests.items()})

    @property
    def size(self) -> int:
        """About how much a copy copies."""
        return 1 + len(self.requests)

    def apply(self, step: Step) -> None:
        """Add a step that restores nothing."""
        self.last, self.looked = _NONE, 0
        for event in step.events:
            follow = _FOLDS.get(type(event))
            if follow:
                follow(self, event)
        for name in dict.fromkeys(event.name for event in step.of(Tokens)):
            if not self.requests[name].put_off:
                self._settle(self.requests[name])
        self.total = self.total.plus(self.last)

    def _request(self, event: RequestIs) -> None:
        request = self.requests.setdefault(event.name, _Request())
        if event.state == "preempted":
            lost = 0 if request.first is None else request.scheduled + request.drafts - request.first
            self.last = self.last._replace(failed=self.last.failed + lost)
            request.scheduled, request.drafts, request.first, request.put_off = 0, 0, None, False
        request.prompt = -1

    def _tokens(self, event: Tokens) -> None:
        request = self.requests[event.name]
        if request.prompt < 0:
            request.prompt, request.first = event.n, 0
            if not request.done and request.asked is None:
                request.asked = event.n, 0
        # Drafts that are accepted, or not, had their slots before.
        elif request.first is None and event.scheduled + event.draft > request.scheduled + request.drafts:
            request.first = request.scheduled
        request.scheduled, request.drafts = event.scheduled, event.draft

    def _looked(self, event: Looked) -> None:
        request = self.requests[event.name]
        request.first = event.hits
        request.done = max(request.done, event.hits)
        self.last = self.last._replace(saved=self.last.saved + event.hits)
        self.looked += event.n
        if not event.preempted:
            request.asked = event.n, event.hits

    def _put_off(self, event: Deferred) -> None:
        self.requests[event.name].put_off = True

    def _computed(self, event: Computed) -> None:
        for name in event.names:
            self._settle(self.requests[name])

    def _ended(self, event: Ended) -> None:
        del self.requests[event.name]

    def _settle(self, request: _Request) -> None:
        """What waits is computed."""
        if request.first is not None:
            end = request.scheduled + request.drafts
            decoded = max(0, end - max(request.first, request.prompt))
            again = max(0, min(request.done, request.scheduled) - request.first)
            done = Work(0, end - request.first - decoded - again, again, decoded)
            self.last = self.last.plus(done)
        request.first, request.put_off = None, False
        request.done = max(request.done, request.scheduled)
        if request.asked and request.done >= request.asked[0]:
            self.prompt_tokens += request.asked[0]
            self.prompt_tokens_cached += request.asked[1]
            request.asked = None


_FOLDS: dict[type, Callable[[Prefills, Any], None]] = {
    RequestIs: Prefills._request, Tokens: Prefills._tokens, Looked: Prefills._looked, Deferred: Prefills._put_off,
    Computed: Prefills._computed, Ended: Prefills._ended,
}  # fmt: skip


class Row(NamedTuple):
    """A step: what it looked up, what it did, and what was done so far in the steps that are in effect after it."""

    number: int
    looked: int
    work: Work
    total: Work


def prefill_rows(journal: Journal, first: int = 0, until: int | None = None) -> list[Row]:
    """A row a step, from step ``first`` on; 0 is the new pool. An undo does nothing itself, and takes back what was done."""
    rows = []
    for number, prefills, is_own in moments(journal, until, Prefills, Prefills.apply):
        if number >= first:
            rows.append(Row(number, *((prefills.looked, prefills.last) if is_own else (0, Work())), prefills.total))
    return rows


def prefills(journal: Journal) -> Prefills:
    """What the steps in effect have computed and saved."""
    found = Prefills()
    for number in journal.lineage():
        found.apply(journal.steps[number - 1])
    return found
