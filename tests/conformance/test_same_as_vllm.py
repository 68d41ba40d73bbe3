"""Whatever is done to kvnb and to real vLLM, in whatever order, they look the same after every step.

``KVNB_CONFORMANCE_STEPS`` asks for more steps than the 50,000 of every run.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from pair import Pair

from kvnb.manager import Behaviour

STEPS = int(os.environ.get("KVNB_CONFORMANCE_STEPS", "50000"))
PER_EXAMPLE = 50
TOKENS = st.lists(st.sampled_from([1, 1, 1, 2]), min_size=1, max_size=60)
FEW = st.lists(st.sampled_from([1, 1, 2]), min_size=1, max_size=9)
SALTS = st.sampled_from([None, None, "s", "salted"])
ADAPTERS = st.sampled_from([None, None, ("ad", "p/1"), ("ad", "p/2"), ("other", "")])
HASHES = st.sampled_from(["sha256", "sha256", "sha256_cbor", "xxhash", "xxhash_cbor"])
WINDOWS = st.one_of(st.none(), st.integers(2, 40))

done: Counter[str] = Counter()


class SameAsVllm(RuleBasedStateMachine):
    """A pool of 2 to 200 blocks of 1 to 32 tokens on both sides."""

    core = None

    @initialize(
        num_blocks=st.one_of(st.integers(2, 24), st.integers(2, 200)),
        block_size=st.one_of(st.integers(1, 4), st.integers(1, 32)),
        prefix_caching=st.sampled_from([True, True, True, False]),
        sliding_window=WINDOWS,
        hash=HASHES,
    )
    def begin(self, **settings):
        self.pair = Pair(self.core, Behaviour(**settings))
        self.judge = self.pair.judge
        self.count = 0

    def teardown(self):
        if hasattr(self, "pair"):
            done["examples"] += 1
            done.update(self.pair.refusals)

    def tally(self, what):
        done[what] += 1
        done["steps"] += 1

    def goes(self):
        return not self.pair.over

    def ready(self):
        """Running requests whose prompt is scheduled and that have no drafts pending."""
        return [n for n in self.pair.running() if not self.drafts(n) and not self.left(n)]

    def drafts(self, name):
        return len(self.pair.requests[name].drafts)

    def left(self, name):
        request = self.pair.requests[name]
        return 0 if request.drafts else request.num_tokens - request.num_computed_tokens

    @precondition(lambda self: self.pair.over)
    @rule()
    def begin_again(self):
        """After a named difference the two go different ways."""
        self.pair = Pair(self.core, self.pair.behaviour)
        self.judge = self.pair.judge

    @precondition(goes)
    @rule(tokens=TOKENS, salt=SALTS, lora=ADAPTERS)
    def admit(self, tokens, salt, lora):
        self._admit(tokens, salt, lora, None)

    @precondition(goes)
    @rule(tokens=TOKENS, chunk=st.integers(1, 40))
    def admit_in_chunks(self, tokens, chunk):
        self._admit(tokens, None, None, chunk)

    def _admit(self, tokens, salt, lora, chunk):
        self.count += 1
        name = f"r{self.count}"
        self.pair.starts(
            "admit", lambda: self.judge.admit(name, tokens, salt, lora, chunk),
            name=name, tokens=tokens, salt=salt, lora=list(lora) if lora else None, chunk=chunk,
        )  # fmt: skip
        self.tally("admit in chunks" if chunk else "admit")

    @precondition(lambda self: self.goes() and self.pair.preempted())
    @rule(data=st.data(), chunk=st.one_of(st.none(), st.integers(1, 40)))
    def resume(self, data, chunk):
        name = data.draw(st.sampled_from(self.pair.preempted()))
        self.pair.starts("admit", lambda: self.judge.resume(name, chunk), name=name, chunk=chunk)
        self.tally("resume")

    @precondition(lambda self: self.goes() and any(self.left(n) for n in self.pair.running()))
    @rule(data=st.data())
    def prefill(self, data):
        name = data.draw(st.sampled_from([n for n in self.pair.running() if self.left(n)]))
        n = data.draw(st.integers(1, self.left(name)))
        self.pair.goes_on("prefill", lambda: self.judge.prefill(name, n), name, n=n)
        self.tally("prefill")

    @precondition(lambda self: self.goes() and self.ready())
    @rule(data=st.data(), tokens=FEW)
    def append(self, data, tokens):
        self._append(data, tokens, [])

    @precondition(lambda self: self.goes() and self.ready())
    @rule(data=st.data(), tokens=FEW, drafts=FEW)
    def append_with_drafts(self, data, tokens, drafts):
        self._append(data, tokens, drafts)

    def _append(self, data, tokens, drafts):
        name = data.draw(st.sampled_from(self.ready()))
        draft = {"tokens": drafts} if drafts else None
        self.pair.goes_on("append", lambda: self.judge.append(name, tokens, drafts), name, tokens=tokens, draft=draft)
        self.tally("append with drafts" if drafts else "append")

    @precondition(lambda self: self.goes() and any(self.drafts(n) for n in self.pair.running()))
    @rule(data=st.data())
    def accept(self, data):
        name = data.draw(st.sampled_from([n for n in self.pair.running() if self.drafts(n)]))
        k = data.draw(st.integers(0, self.drafts(name)))
        self.pair.always("accept", lambda: self.judge.accept(name, k), name=name, k=k)
        self.tally("accept")

    @precondition(lambda self: self.goes() and self.pair.requests)
    @rule(data=st.data())
    def release(self, data):
        name = data.draw(st.sampled_from(list(self.pair.requests)))
        self.pair.always("release", lambda: self.judge.release(name), names=[name])
        self.tally("release")

    @precondition(lambda self: self.goes() and self.pair.running())
    @rule(data=st.data())
    def preempt(self, data):
        name = data.draw(st.sampled_from(self.pair.running()))
        self.pair.always("preempt", lambda: self.judge.preempt(name), name=name)
        self.tally("preempt")

    @precondition(lambda self: self.goes() and self.pair.cached())
    @rule(data=st.data(), everything=st.sampled_from([True, False, False]))
    def drop_hashes(self, data, everything):
        if everything and not self.pair.running():
            self.pair.always("reset", self.judge.reset)
            return self.tally("reset")
        block_id = data.draw(st.sampled_from(self.pair.cached()))
        self.pair.always("evict", lambda: self.judge.evict(block_id), ids=[block_id])
        return self.tally("evict")


def test_fifty_thousand_steps_are_the_same_as_vllms(vllm, capsys):
    SameAsVllm.core = vllm
    done.clear()
    rules = settings(
        max_examples=STEPS // PER_EXAMPLE, stateful_step_count=PER_EXAMPLE, deadline=None, derandomize=True, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    while done["steps"] < STEPS:
        run_state_machine_as_test(SameAsVllm, settings=rules)
    with capsys.disabled():
        print(f"\n{done['steps']:,} steps the same as vLLM's: {dict(done)}")


def test_a_refused_reset_is_refused_by_vllm_too(vllm):
    pair = Pair(vllm, Behaviour(num_blocks=8, block_size=2))
    pair.starts("admit", lambda: pair.judge.admit("r0", [1, 2, 3]), name="r0", tokens=[1, 2, 3])
    with pytest.raises(Exception, match="still in use"):
        pair.recorder.engine.scheduler.reset()
    assert pair.judge.reset() is False


def admit_and_release_three(pair):
    judge = pair.judge
    for name, tokens in (("r0", [1, 2, 3, 4]), ("r1", [1, 2, 3, 4]), ("r2", [7])):
        pair.starts("admit", lambda name=name, tokens=tokens: judge.admit(name, tokens), name=name, tokens=tokens)
    for name in ("r0", "r1", "r2"):
        pair.always("release", lambda name=name: judge.release(name), names=[name])


def test_the_rules_of_today_are_vllms(vllm):
    admit_and_release_three(Pair(vllm, Behaviour(num_blocks=8, block_size=2)))


@pytest.mark.parametrize("setting", ["full_hit", "free_to", "free_order"])
def test_a_pool_under_another_rule_is_told_from_vllms(vllm, setting):
    other = {"full_hit": True, "free_to": "back", "free_order": "forward"}[setting]
    pair = Pair(vllm, Behaviour(num_blocks=8, block_size=2, **{setting: other}))
    with pytest.raises(AssertionError):
        admit_and_release_three(pair)
