"""What prefills computed and were saved is what the engine gave to its forward passes, step by step."""

from __future__ import annotations

from contextlib import suppress
from itertools import chain, pairwise
from typing import Any

import pytest
from helpers import SEED_PROMPTS, needs, seed_lab
from hypothesis import given, settings
from hypothesis import strategies as st

from kvnb import Lab
from kvnb.errors import KvnbError
from kvnb.journal import Journal, Step
from kvnb.journal.prefills import Prefills, Work, prefill_rows, prefills
from kvnb.manager import Behaviour
from kvnb.manager.command import Command
from kvnb.manager.engine import EngineCore
from kvnb.manager.events import Looked, Tokens
from kvnb.manager.worker import Scheduled

names = st.sampled_from(["a", "a", "b"])
texts = st.sampled_from(["ab", "abab", "ababab", "abababxy", "yyyyyyy", "abyyyyyyabab"])
passes = st.sampled_from([{}, {}, {}, {"defer": True}, {"fail": True}])
admits = st.builds(lambda name, text, how: ("admit", {"name": name, "text": text, **how}), names, texts, passes)
commands = st.one_of(
    admits,
    st.builds(lambda name, text, chunk: ("admit", {"name": name, "text": text, "chunk": chunk}), names, texts, st.integers(1, 3)),
    st.builds(lambda name, n, how: ("prefill", {"name": name, "n": n, **how}), names, st.integers(1, 3), passes),
    st.builds(lambda name, text, how: ("append", {"name": name, "text": text, **how}), names, texts, passes),
    st.builds(lambda name, draft: ("append", {"name": name, "text": "b", "draft": {"text": draft}}), names, texts),
    st.builds(lambda name, k: ("accept", {"name": name, "k": k}), names, st.integers(0, 3)),
    st.builds(lambda name, how: ("admit", {"name": name, **how}), names, passes),
    st.builds(lambda name: ("preempt", {"name": name}), names),
    st.builds(lambda name: ("release", {"names": [name]}), names),
    st.builds(lambda ids: ("evict", {"ids": ids}), st.lists(st.integers(1, 13), min_size=1, max_size=5)),
    st.just(("step", {})),
).map(lambda command: [command])
returns = st.builds(
    lambda name, lost, more: [
        ("preempt", {"name": name}), *[("evict", {"ids": list(range(1, 14))})] * lost, ("admit", {"name": name, **more}),
    ],
    names, st.booleans(), st.sampled_from([{}, {"chunk": 2}, {"defer": True}]),
)  # fmt: skip
scripts = st.builds(
    lambda first, parts: [*first, *chain.from_iterable(parts)],
    st.lists(admits, min_size=1, max_size=2), st.lists(st.one_of(commands, returns), min_size=4, max_size=30),
)  # fmt: skip
behaviours = st.sampled_from([{}, {}, {"sliding_window": 3}, {"prefix_caching": False}, {"full_hit": True}])


class Watched:
    """An engine whose forward passes are looked at, token by token; its history, and what each step did.

    prompts, there
        By request: how many tokens it had when it was last admitted, and the places that were ever computed or hit.
    """

    def __init__(self, **behaviour: Any) -> None:
        rule = Behaviour(num_blocks=14, block_size=2, **behaviour)
        self.events: list[Any] = []
        self.core, self.journal = EngineCore(rule, self.events.append), Journal(rule)
        self.prompts: dict[str, int] = {}
        self.there: dict[str, set[int]] = {}
        self.done: list[Work] = []

    def run(self, verb: str, args: dict[str, Any]) -> None:
        """Carry out a command, or change nothing."""
        command = Command(verb, args)
        self.events.clear()
        self.core.plan(command)()
        if verb == "admit":
            self.prompts[args["name"]] = self.core.scheduler.requests[args["name"]].num_tokens
        counts = self.counts(self.core.scheduled(command), bool(args.get("fail")))
        self.core.settle(command)
        self.journal.steps.append(Step(len(self.journal) + 1, command, tuple(self.events), ""))
        hits = sum(event.hits for event in self.events if isinstance(event, Looked))
        self.done.append(Work(hits, *counts))
        self.remember()
        if hits:
            self.there[args["name"]].update(range(hits))

    def counts(self, scheduled: list[Scheduled], fails: bool) -> list[int]:
        """Tokens of a pass: computed, computed again, decoded, in vain."""
        counts = [0, 0, 0, 0]
        for one in scheduled:
            for place in range(one.first, one.first + len(one.token_ids)):
                again, decoded = place in self.there.get(one.name, ()), place >= self.prompts[one.name]
                counts[3 if fails else 2 if decoded else int(again)] += 1
        return counts

    def remember(self) -> None:
        """What is there now of each request's tokens; drafts are none."""
        requests, waiting = self.core.scheduler.requests, self.core.scheduler.waiting
        for name, request in requests.items():
            until = min(waiting.get(name, request.num_computed_tokens), request.num_computed_tokens)
            self.there.setdefault(name, set()).update(range(until))
        self.there = {name: places for name, places in self.there.items() if name in requests}


def played(script: list[Any], **behaviour: Any) -> Watched:
    """An engine after these commands, the refused ones left out."""
    watched = Watched(**behaviour)
    for verb, args in script:
        with suppress(KvnbError):
            watched.run(verb, args)
    return watched


@given(scripts, behaviours)
def test_each_step_did_what_the_engine_gave_to_its_pass(script: list[Any], behaviour: dict[str, Any]) -> None:
    watched = played(script, **behaviour)
    rows = prefill_rows(watched.journal)
    assert [row.number for row in rows] == list(range(len(watched.journal) + 1))
    assert rows[0][1:] == (0, Work(), Work())
    assert [row.work for row in rows[1:]] == watched.done
    for before, row in pairwise(rows):
        assert row.total == Work(*map(sum, zip(before.total, row.work, strict=True)))


@given(scripts, behaviours)
def test_computed_and_saved_add_up_to_what_was_scheduled(script: list[Any], behaviour: dict[str, Any]) -> None:
    journal = played(script, **behaviour).journal
    waiting = sum(request.num_deferred for request in journal.state.requests.values())
    counters, total = journal.state.counters, prefills(journal).total
    assert total.saved == counters.hits + counters.preempted_hits
    scheduled = sum(num_scheduled(journal))
    assert total.saved + total.forward + total.failed + waiting == scheduled


def num_scheduled(journal: Journal) -> list[int]:
    """By step the slots that it filled, or meant to, drafts included: how far each request came beyond where it was."""
    slots: dict[str, int] = {}
    found = []
    for step in journal.steps:
        before = dict(slots)
        for event in step.events:
            if isinstance(event, Tokens):
                slots[event.name] = event.scheduled + event.draft
        found.append(sum(max(0, slots[name] - before.get(name, 0)) for name in slots))
        state = journal.state_at(step.number)
        slots = {name: had for name, had in slots.items() if state.requests.get(name) and state.requests[name].state == "running"}
    return found


@given(scripts, st.lists(st.integers(0, 40), max_size=3), behaviours)
def test_what_was_computed_is_what_the_lab_counts_undone_steps_left_out(
    script: list[Any], undone: list[int], behaviour: dict[str, Any]
) -> None:
    lab = Lab(14, block_size=2, device="none", **behaviour)
    for at, (verb, args) in enumerate(script):
        with suppress(KvnbError):
            run(lab, verb, args)
        for _ in range(undone.count(at)):
            with suppress(KvnbError):
                lab.undo()
    rows = prefill_rows(lab.journal)
    assert rows[-1].total.forward == prefills(lab.journal).total.forward == lab.num_forward_tokens
    assert all(row.work == Work() for row in rows[1:] if lab.journal.steps[row.number - 1].command.verb == "undo")
    assert prefill_rows(lab.journal, 2, 4) == rows[2:5]


def run(lab: Lab, verb: str, args: dict[str, Any]) -> Any:
    values = {**args, **({"draft": args["draft"]["text"]} if "draft" in args else {})}
    ids = values.get("names") or values.get("ids")
    return getattr(lab, verb)(*ids) if ids else getattr(lab, verb)(**values)


@settings(max_examples=10)
@given(scripts)
def test_with_memory_it_is_what_went_through_the_model(script: list[Any]) -> None:
    needs("torch")
    lab = Lab(14, block_size=2, device="cpu")
    for verb, args in script:
        with suppress(KvnbError):
            run(lab, verb, args)
    assert lab.worker is not None
    assert prefills(lab.journal).total.forward == lab.num_forward_tokens == lab.worker.num_forward_tokens


# --- one by one ------------------------------------------------------------------------------------------------------


def last(lab: Lab) -> Work:
    """What the last step did."""
    return prefill_rows(lab.journal)[-1].work


def test_of_a_shared_prefix_all_but_the_tail_is_saved() -> None:
    lab = Lab(120, block_size=16, device="none")
    prefix = list(range(512))
    lab.admit("r0", tokens=[*prefix, *range(1000, 1028)])
    assert last(lab) == Work(computed=540)
    lab.admit("r1", tokens=[*prefix, *range(2000, 2028)])
    assert last(lab) == Work(saved=512, computed=28)
    row = prefill_rows(lab.journal)[-1]
    assert (row.looked, row.total.prefill, row.total.share) == (540, 1080, 512 / 1080)


def test_a_chunk_counts_when_it_is_prefilled_and_a_deferred_one_when_it_is_computed() -> None:
    lab = seed_lab(1)
    lab.admit("r1", SEED_PROMPTS["r1"], chunk=2)
    assert last(lab) == Work(saved=8, computed=2)
    lab.prefill("r1", 3, defer=True)
    assert last(lab) == Work()
    lab.admit("r2", "ABCDyy", defer=True)
    assert last(lab) == Work(saved=4)
    lab.step()
    assert last(lab) == Work(computed=3 + 2)


def test_what_a_preemption_took_is_computed_again_and_the_rest_for_the_first_time() -> None:
    lab = Lab(11, block_size=4, device="none", prefix_caching=False)
    lab.admit("r0", "ABCDEFGHIJKL", chunk=5)
    lab.preempt("r0")
    lab.admit("r0", chunk=3)
    assert last(lab) == Work(recomputed=3)
    lab.prefill("r0")
    assert last(lab) == Work(computed=7, recomputed=2)
    lab.append("r0", "MN")
    assert last(lab) == Work(decoded=2)
    lab.preempt("r0")
    lab.admit("r0")
    assert last(lab) == Work(recomputed=14)


def test_drafts_are_computed_once_whether_they_are_accepted_or_not() -> None:
    lab = seed_lab(1)
    lab.append("r0", "P", draft="QRS")
    assert last(lab) == Work(decoded=4)
    lab.accept("r0", 2)
    assert last(lab) == Work()
    lab.append("r0", "T")
    assert last(lab) == Work(decoded=1)


def test_a_failed_pass_computed_nothing_and_what_it_lost_is_computed_for_the_first_time() -> None:
    lab = seed_lab(1)
    lab.admit("r1", SEED_PROMPTS["r1"], defer=True)
    lab.append("r0", "P", fail=True)
    assert last(lab) == Work(failed=1 + 6)
    lab.admit("r1")
    assert last(lab) == Work(saved=8, computed=6)
    lab.admit("r0")
    # Its last block has lost its hash.
    assert last(lab) == Work(saved=12, computed=1, recomputed=3)


def test_a_step_that_is_undone_takes_its_tokens_back() -> None:
    lab = seed_lab(2)
    lab.undo()
    row = prefill_rows(lab.journal)[-1]
    assert (row.work, row.total) == (Work(), Work(computed=15))
    assert prefill_rows(lab.journal)[2].work == Work(saved=8, computed=6)


def test_a_fork_has_a_history_of_its_own() -> None:
    lab = seed_lab()
    fork = lab.fork("plain", prefix_caching=False, num_blocks=21)
    assert prefills(fork.journal).total == Work(computed=15 + 14 + 29 + 8)
    assert prefills(lab.journal).total == Work(saved=20, computed=46)


def test_under_a_window_what_it_does_not_see_is_saved_too() -> None:
    lab = Lab(11, block_size=2, sliding_window=3, device="none")
    lab.admit("a", "ABCDEFGHI")
    lab.admit("b", "ABCDEFGHx")
    assert last(lab) == Work(saved=8, computed=1)


# --- vLLM's counters -------------------------------------------------------------------------------------------------


def counted(lab: Lab) -> tuple[int, int]:
    found: Prefills = prefills(lab.journal)
    return found.prompt_tokens, found.prompt_tokens_cached


def test_a_prompt_is_counted_once_when_all_of_it_is_there() -> None:
    lab = seed_lab(1)
    assert counted(lab) == (15, 0)
    lab.admit("r1", SEED_PROMPTS["r1"], chunk=2)
    assert counted(lab) == (15, 0)
    lab.prefill("r1", defer=True)
    assert counted(lab) == (15, 0)
    lab.step()
    assert counted(lab) == (15 + 14, 8)
    lab.append("r1", "zz")
    lab.preempt("r1")
    lab.admit("r1")
    assert counted(lab) == (15 + 14, 8)


@pytest.mark.parametrize("how", ["preempted", "failed"])
def test_a_prompt_that_was_interrupted_is_counted_with_the_hits_of_its_first_admission(how: str) -> None:
    lab = seed_lab(1)
    if how == "failed":
        lab.admit("r1", SEED_PROMPTS["r1"], fail=True)
    else:
        lab.admit("r1", SEED_PROMPTS["r1"], chunk=4)
        lab.preempt("r1")
    lab.release("r0")
    lab.reset()
    lab.admit("r1")
    assert prefill_rows(lab.journal)[-1].work.saved == 0
    assert counted(lab) == (15 + 14, 8)


def test_without_caching_a_prompt_is_counted_too() -> None:
    assert counted(seed_lab(2, prefix_caching=False)) == (15 + 14, 0)
