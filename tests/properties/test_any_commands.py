"""Whatever is done to a pool, in whatever order: every invariant holds after every command, refused or not."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from typing import Any, ClassVar

import pytest
from helpers import assert_sound, snapshot
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from kvnb import Lab
from kvnb.core.events import Hashed
from kvnb.core.hashing import short_key
from kvnb.errors import KvnbError
from kvnb.journal.events import Restored
from kvnb.manager import Request
from kvnb.manager.events import RequestIs
from kvnb.results import StepResult

NAMES = ["r0", "r1", "r2", "r3", "r4", "r5"]

# Few letters and few beginnings, so that prefixes collide.
prompts = st.builds(
    lambda base, length, tail: (base * length)[:length] + tail,
    st.sampled_from(["a", "ab", "aab"]), st.integers(0, 24), st.text("ab", max_size=3),
)  # fmt: skip
which = st.integers(0, len(NAMES))
few = st.text("ab", min_size=1, max_size=5)
chunks = st.one_of(st.none(), st.integers(1, 12))
salts = st.sampled_from([None, None, None, "s", "t"])
adapters = st.sampled_from([None, None, None, "ad", "ad=p"])
windows = st.one_of(st.none(), st.integers(2, 8), st.integers(2, 20))
hashes = st.sampled_from(["sha256"] * 5 + ["sha256_cbor", "xxhash", "xxhash_cbor"])

Mistake = Callable[[Lab, str], object]
MISTAKES: list[Mistake] = [
    lambda lab, name: lab.admit(name), lambda lab, name: lab.admit(name, "a"), lambda lab, name: lab.admit(name, ""),
    lambda lab, name: lab.append(name, "a"), lambda lab, name: lab.append(name, ""), lambda lab, name: lab.preempt(name),
    lambda lab, name: lab.release(name, name), lambda lab, name: lab.release(name, "nobody"), lambda lab, name: lab.release(),
    lambda lab, name: lab.evict(1, 99), lambda lab, name: lab.evict(0), lambda lab, name: lab.evict(),
    lambda lab, name: lab.reset(), lambda lab, name: lab.undo(), lambda lab, name: lab.release(all=True),
    lambda lab, name: lab.prefill(name), lambda lab, name: lab.prefill(name, 99), lambda lab, name: lab.accept(name, 1),
    lambda lab, name: lab.accept(name, -1), lambda lab, name: lab.append(name, "a", draft="b" * 99),
    lambda lab, name: lab.admit(name, "a", chunk=0), lambda lab, name: lab.admit(name, salt="s"),
]  # fmt: skip


class AnyCommands(RuleBasedStateMachine):
    """Random commands on a random pool; a place number picks a request, the highest one picks a name that is not there.

    most, marks
        By request: the most slots it ever had since it started, and how many of its blocks were hashed or hit.
    after
        Both, as they were after each step, for undos.
    """

    commands: ClassVar[int] = 0
    finished: ClassVar[int] = 0
    lab: Lab

    @initialize(
        num_blocks=st.integers(1, 60), block_size=st.integers(1, 8), prefix_caching=st.sampled_from([True, True, True, False]),
        free_to=st.sampled_from(["front-back", "back"]), free_order=st.sampled_from(["reverse", "forward"]),
        full_hit=st.booleans(), sliding_window=windows, hash=hashes,
    )  # fmt: skip
    def make(self, **values: Any) -> None:
        self.lab = Lab(values.pop("num_blocks"), **values, device="none")
        self.most: dict[str, int] = {}
        self.marks: dict[str, int] = {}
        self.after: dict[int, tuple[dict[str, int], dict[str, int]]] = {0: ({}, {})}

    # --- the commands --------------------------------------------------------------------------------------

    @rule(place=which, text=prompts, salt=salts, lora=adapters)
    def admit_text(self, place: int, text: str, salt: str | None, lora: str | None) -> None:
        self.run(lambda: self.lab.admit(self.new_name(place), text, salt=salt, lora=lora))

    @rule(place=which, text=prompts, chunk=st.integers(1, 6))
    def admit_in_chunks(self, place: int, text: str, chunk: int) -> None:
        self.run(lambda: self.lab.admit(self.new_name(place), f"abababab{text}", chunk=chunk))

    @rule(place=which, text=prompts)
    def admit_tokens(self, place: int, text: str) -> None:
        self.run(lambda: self.lab.admit(self.new_name(place), tokens=[ord(letter) for letter in text]))

    @precondition(lambda self: self.names("preempted"))
    @rule(place=which, chunk=chunks)
    def resume(self, place: int, chunk: int | None) -> None:
        self.run(lambda: self.lab.admit(self.pick(place, "preempted"), chunk=chunk))

    @precondition(lambda self: self.unscheduled())
    @rule(place=which, n=chunks)
    def prefill(self, place: int, n: int | None) -> None:
        waiting = self.unscheduled()
        self.run(lambda: self.lab.prefill(waiting[place % len(waiting)], n))

    @precondition(lambda self: self.names("running"))
    @rule(place=which, text=st.text("ab", max_size=9))
    def append(self, place: int, text: str) -> None:
        self.run(lambda: self.lab.append(self.pick(place, "running"), text))

    @precondition(lambda self: self.names("running"))
    @rule(place=which, text=few, draft=few)
    def append_with_drafts(self, place: int, text: str, draft: str) -> None:
        self.run(lambda: self.lab.append(self.pick(place, "running"), text, draft=draft))

    @precondition(lambda self: self.drafting())
    @rule(place=which, k=st.integers(0, 5))
    def accept(self, place: int, k: int) -> None:
        drafting = self.drafting()
        self.run(lambda: self.lab.accept(drafting[place % len(drafting)], k))

    @rule(place=which, text=prompts, defer=st.booleans())
    def admit_deferred_or_failing(self, place: int, text: str, defer: bool) -> None:
        self.run(lambda: self.lab.admit(self.new_name(place), text, defer=defer, fail=not defer))

    @precondition(lambda self: self.names("running"))
    @rule(place=which, text=few, draft=st.one_of(st.none(), few), defer=st.booleans())
    def append_deferred_or_failing(self, place: int, text: str, draft: str | None, defer: bool) -> None:
        self.run(lambda: self.lab.append(self.pick(place, "running"), text, draft=draft, defer=defer, fail=not defer))

    @precondition(lambda self: any(request.num_deferred for request in self.lab.state.requests.values()))
    @rule(fail=st.sampled_from([False, False, True]))
    def step(self, fail: bool) -> None:
        self.run(lambda: self.lab.step(fail=fail))

    @precondition(lambda self: self.lab.requests)
    @rule(places=st.lists(which, min_size=1, max_size=2))
    def release(self, places: list[int]) -> None:
        self.run(lambda: self.lab.release(*[self.pick(place) for place in places]))

    @precondition(lambda self: len(self.lab.requests) > 3)
    @rule()
    def release_all(self) -> None:
        self.run(lambda: self.lab.release(all=True))

    @precondition(lambda self: self.names("running"))
    @rule(place=which)
    def preempt(self, place: int) -> None:
        self.run(lambda: self.lab.preempt(self.pick(place, "running")))

    @precondition(lambda self: self.lab.state.num_cached)
    @rule(ids=st.lists(st.integers(0, 58), min_size=1, max_size=4))
    def evict(self, ids: list[int]) -> None:
        self.run(lambda: self.lab.evict(*[1 + block_id % (self.lab.behaviour.num_blocks - 1) for block_id in ids]))

    @precondition(lambda self: self.lab.state.num_cached and not self.names("running"))
    @rule()
    def reset(self) -> None:
        self.run(lambda: self.lab.reset())

    @precondition(lambda self: self.lab.journal.lineage())
    @rule(n=st.sampled_from([1, 1, 1, 2, 3, 7]))
    def undo(self, n: int) -> None:
        self.run(lambda: self.lab.undo(n))

    @rule(mistake=st.sampled_from(MISTAKES), place=which)
    def likely_mistake(self, mistake: Mistake, place: int) -> None:
        self.run(lambda: mistake(self.lab, self.pick(place)))

    # --- what must hold ------------------------------------------------------------------------------------

    def names(self, status: str | None = None) -> list[str]:
        return [name for name, request in self.lab.state.requests.items() if status in (None, request.state)]

    @property
    def requests(self) -> dict[str, Request]:
        return self.lab._recorder.engine.scheduler.requests

    def unscheduled(self) -> list[str]:
        return [
            name for name in self.names("running") if self.lab.state.requests[name].num_scheduled < self.requests[name].num_tokens
        ]

    def drafting(self) -> list[str]:
        return [name for name in self.names() if self.lab.state.requests[name].num_drafts]

    def pick(self, place: int, status: str | None = None) -> str:
        names = self.names(status)
        return names[place % len(names)] if names and place < len(NAMES) else "nobody"

    def new_name(self, place: int) -> str:
        unused = [name for name in NAMES if name not in self.lab.requests]
        return unused[place % len(unused)] if unused and place < len(NAMES) else self.pick(0)

    def run(self, command: Callable[[], Any]) -> None:
        before = snapshot(self.lab)
        try:
            result = command()
        except KvnbError as error:
            refused = str(error)
            assert "\n" not in refused
            assert snapshot(self.lab) == before
        else:
            assert self.lab.digest != before[0]
            for undone in result.step.of(Restored):
                self.most, self.marks = map(dict, self.after[undone.k])
            self.assert_hits_and_hashes(result, before[1])
            AnyCommands.finished += 1
        AnyCommands.commands += 1
        assert_sound(self.lab)
        self.assert_counted()
        self.assert_tables_fit()
        self.after[len(self.lab.journal)] = dict(self.most), dict(self.marks)

    def assert_counted(self) -> None:
        """What the fold counts as it goes is what a recount gives."""
        state = self.lab.state
        assert state.num_cached == sum(key is not None for key in state.keys)
        assert state.num_free_cached == sum(state.keys[block_id] is not None for block_id in state.queue)
        assert state.num_shared == sum(len(owners) > 1 for owners in state.owners.values())

    def assert_tables_fit(self) -> None:
        """Each running request has the blocks it needs, and a block has the same tokens for all who share it."""
        block_size, covers = self.lab.behaviour.block_size, {}  # type: ignore[var-annotated]
        for name, request in self.requests.items():
            table = self.lab.block_table(name)
            slots = request.num_computed_tokens + len(request.drafts)
            self.most[name] = max(slots, self.most.get(name, 0)) if request.status == "running" else 0
            # Rejected drafts leave their slots: a table never becomes shorter.
            assert -(-slots // block_size) <= len(table) <= -(-self.most[name] // block_size)
            self.assert_null_before_the_window(name, table)
            for place, block_id in enumerate(table):
                tokens = (request.salt, request.lora, *request.token_ids[: (place + 1) * block_size])
                assert block_id == 0 or covers.setdefault(block_id, tokens) == tokens
        self.most = {name: slots for name, slots in self.most.items() if name in self.requests}

    def assert_null_before_the_window(self, name: str, table: tuple[int, ...]) -> None:
        """Null blocks stand at the front of a table only, and only for tokens that the next one does not see."""
        nulls = sum(block_id == 0 for block_id in table)
        assert not any(table[:nulls])
        window = self.lab.behaviour.sliding_window or 10**9
        assert nulls * self.lab.behaviour.block_size <= max(0, self.requests[name].num_computed_tokens - window + 1)

    def assert_hits_and_hashes(self, result: StepResult, before: dict[str, Any]) -> None:
        """A lookup hits all that it can, the copy entered first; every block that became full is hashed, once.

        Drafts are left out: what accepted ones filled is hashed by the next append.
        """
        verb, name = result.step.command.verb, result.step.command.args.get("name")
        if result.step.command.args.get("fail") and name in self.assert_lost(result):
            return
        hashed = [block_id for event in result.step.of(Hashed) for block_id in event.ids]
        if verb not in ("admit", "append", "prefill") or not self.lab.behaviour.prefix_caching:
            assert hashed == []
            return
        request = self.requests[name]
        if verb == "admit":
            self.marks[name] = self.assert_hits(result, request, before["copies"])
        full = request.num_computed_tokens // self.lab.behaviour.block_size
        assert hashed == [block_id for block_id in result.block_table[self.marks[name] : full] if block_id]
        self.marks[name] = max(full, self.marks[name])

    def assert_lost(self, result: StepResult) -> set[str]:
        """A pass that failed preempts who was in it, and what it was to compute can be hit by nobody.

        Who was in it: a request whose every token was a hit had nothing to compute.
        """
        lost = {event.name for event in result.step.of(RequestIs) if event.state == "preempted"}
        assert lost or self.lab.behaviour.full_hit
        assert str(result)
        assert all(self.requests[name].status == "preempted" for name in lost)
        # Where drafts were computed and accepted before, a block may be hashed in this step and rightly stay so.
        assert not set(result.new_blocks) & self.lab.cached
        self.marks.update(dict.fromkeys(lost, 0))
        return lost

    def assert_hits(self, result: StepResult, request: Request, copies: dict[str, Any]) -> int:
        """The blocks that a lookup shares are those it should; how many table entries it gives, null ones included."""
        block_size, window = self.lab.behaviour.block_size, self.lab.behaviour.sliding_window
        most = (request.num_tokens - (not self.lab.behaviour.full_hit)) // block_size
        found = [copies[key][0] if key in copies else 0 for key in map(short_key, request.block_hashes[:most])]
        prefix = list(takewhile(bool, found))
        entries, seen = len(prefix), prefix
        if window is not None:
            enough = -(-(window - 1) // block_size)
            runs = [end for end in range(enough, most + 1) if all(found[end - enough : end])]
            entries, seen = (runs[-1], found[: runs[-1]]) if runs else (entries, prefix)
            seen = seen[max(0, entries * block_size - window + 1) // block_size :]
        assert result.hit_blocks == tuple(seen)
        assert result.num_hit_tokens == entries * block_size
        return entries

    def teardown(self) -> None:
        assert self.lab.verify().holds


@pytest.mark.slow
def test_any_sequence_of_commands_keeps_every_invariant_and_a_refused_one_changes_nothing() -> None:
    AnyCommands.commands = AnyCommands.finished = 0
    run_state_machine_as_test(
        AnyCommands, settings=settings(max_examples=1000, stateful_step_count=60, derandomize=True, database=None, deadline=None)
    )
    print(f"\n{AnyCommands.commands} commands, {AnyCommands.finished} of them not refused")
    assert AnyCommands.finished >= 20_000
