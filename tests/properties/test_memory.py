"""Memory, whatever is done to the pool: it holds what the journal says, a hit gives what computing gives, undo brings it back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from helpers import assert_sound, needs
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from kvnb import Lab
from kvnb.errors import KvnbError
from kvnb.journal.contents import contents

needs("torch")

SMALL: dict[str, Any] = {"device": "cpu", "layers": 1, "kv_heads": 1, "head_size": 4}
NAMES = ["r0", "r1", "r2", "r3"]
places = st.integers(0, len(NAMES) - 1)
texts = st.builds(lambda length, tail: ("ab" * length)[:length] + tail, st.integers(0, 14), st.text("ab", min_size=1, max_size=3))
few = st.text("ab", min_size=1, max_size=4)
how = st.sampled_from([{}, {}, {"defer": True}, {"defer": True}, {"fail": True}])


def all_bytes(lab: Lab) -> list[bytes]:
    """The memory of every block."""
    assert lab.worker is not None
    return [lab.worker.store.block_bytes(block_id) for block_id in range(lab.behaviour.num_blocks)]


def written(lab: Lab) -> dict[int, list[bool]]:
    """By block, which slots are not NaN."""
    assert lab.worker is not None
    kv = lab.worker.store.kv.float().isnan()
    return {block_id: [not bool(kv[block_id, :, :, at].any()) for at in range(kv.shape[3])] for block_id in range(1, len(kv))}


class AnyMemory(RuleBasedStateMachine):
    """Random commands on a pool with a very small model; ``after`` keeps the memory as it was after each step."""

    finished: ClassVar[int] = 0
    lab: Lab

    @initialize(
        num_blocks=st.integers(4, 24), block_size=st.integers(1, 4), window=st.sampled_from([None, None, 2, 3, 6]),
        caching=st.sampled_from([True, True, False]), dtype=st.sampled_from(["float32", "float32", "bfloat16"]),
        long_passes=st.booleans(),
    )  # fmt: skip
    def make(self, num_blocks: int, block_size: int, window: int | None, caching: bool, dtype: str, long_passes: bool) -> None:
        given = {**SMALL, "sliding_window": window, "prefix_caching": caching, "dtype": dtype}
        self.lab = Lab(num_blocks, block_size=block_size, **given)
        assert self.lab.worker is not None
        # As a language model has it: what is computed again is computed in few passes, and equal up to rounding.
        self.lab.worker.model.prefers_long_passes = long_passes
        self.is_equal = not self.lab.worker.prefers_long_passes
        self.after = {0: all_bytes(self.lab)}

    @rule(place=places, text=texts, how=how, chunk=st.one_of(st.none(), st.none(), st.integers(1, 6)))
    def admit(self, place: int, text: str, how: dict[str, bool], chunk: int | None) -> None:
        name = NAMES[place]
        if name in self.names("running"):
            name = self.pick(place, "preempted")
        text_or_none = None if name in self.names("preempted") else text
        self.run(lambda: self.lab.admit(name, text_or_none, chunk=chunk, **how))

    @precondition(lambda self: any(r.num_scheduled < r.num_tokens for r in self.lab.state.requests.values()))
    @rule(place=places, how=how)
    def prefill(self, place: int, how: dict[str, bool]) -> None:
        self.run(lambda: self.lab.prefill(self.pick(place), **how))

    @rule(place=places, text=few, draft=st.one_of(st.none(), few), how=how)
    def append(self, place: int, text: str, draft: str | None, how: dict[str, bool]) -> None:
        self.run(lambda: self.lab.append(self.pick(place), text, draft=draft, **how))

    @precondition(lambda self: any(request.num_drafts for request in self.lab.state.requests.values()))
    @rule(place=places, k=st.integers(0, 4))
    def accept(self, place: int, k: int) -> None:
        self.run(lambda: self.lab.accept(self.pick(place), k))

    @rule(place=places, k=st.integers(1, 6), temperature=st.sampled_from([0.0, 1.0]))
    def generate(self, place: int, k: int, temperature: float) -> None:
        self.run(lambda: self.lab.generate(self.pick(place), k, temperature=temperature))

    @rule(k=st.integers(1, 5), few=st.booleans(), release=st.booleans())
    def decode(self, k: int, few: bool, release: bool) -> None:
        self.run(lambda: self.lab.decode(k, *self.lab.requests[: 2 if few else 9], release=release))

    @precondition(lambda self: any(request.num_deferred for request in self.lab.state.requests.values()))
    @rule(fail=st.sampled_from([False, False, True]))
    def step(self, fail: bool) -> None:
        self.run(lambda: self.lab.step(fail=fail))

    @precondition(lambda self: len(self.lab.requests) > 1)
    @rule(place=places)
    def release(self, place: int) -> None:
        self.run(lambda: self.lab.release(self.lab.requests[place % len(self.lab.requests)]))

    @precondition(lambda self: len(self.names("running")) > 1)
    @rule(place=places)
    def preempt(self, place: int) -> None:
        self.run(lambda: self.lab.preempt(self.pick(place)))

    @rule(block_id=st.integers(1, 23))
    def evict(self, block_id: int) -> None:
        self.run(lambda: self.lab.evict(block_id))

    @rule(n=st.sampled_from([1, 1, 2, 5]))
    def undo(self, n: int) -> None:
        line = self.lab.journal.lineage()
        if len(line) < n:
            return
        self.lab.undo(n)
        k = line[-n - 1] if len(line) > n else 0
        # Between two tokens of one `generate` nobody looked.
        assert not self.is_equal or all_bytes(self.lab) == self.after.get(k, all_bytes(self.lab))
        self.judge()

    # --- what must hold ------------------------------------------------------------------------------------

    def names(self, state: str) -> list[str]:
        return [name for name, request in self.lab.state.requests.items() if request.state == state]

    def pick(self, place: int, state: str = "running") -> str:
        """A request in that state, if there is any."""
        names = self.names(state)
        return names[place % len(names)] if names else NAMES[place]

    def run(self, command: Callable[[], Any]) -> None:
        before, digest = all_bytes(self.lab), self.lab.digest
        try:
            command()
        except KvnbError:
            assert (self.lab.digest, all_bytes(self.lab)) == (digest, before)
        else:
            AnyMemory.finished += 1
            self.judge()

    def judge(self) -> None:
        """Invariants, the journal's word on every slot, and a proof for every request that is computed."""
        lab = self.lab
        self.after[len(lab.journal)] = all_bytes(lab)
        assert_sound(lab)
        told = contents(lab.journal, range(1, lab.behaviour.num_blocks))
        assert {block_id: [slot.written is not None for slot in slots] for block_id, slots in told.items()} == written(lab)
        for name in self.names("running"):
            if name not in lab._recorder.engine.scheduler.waiting:
                assert lab.prove(name).reasons == ()


@pytest.mark.slow
def test_memory_holds_what_the_journal_says_a_hit_is_as_good_as_computing_and_undo_brings_it_back() -> None:
    AnyMemory.finished = 0
    run_state_machine_as_test(
        AnyMemory, settings=settings(max_examples=250, stateful_step_count=30, derandomize=True, database=None, deadline=None)
    )
    print(f"\n{AnyMemory.finished} commands that were not refused")
    assert AnyMemory.finished >= 1000
