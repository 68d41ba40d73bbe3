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
from kvnb.results import StepResult

NAMES = ["r0", "r1", "r2", "r3", "r4", "r5"]

# Few letters and few beginnings, so that prefixes collide.
prompts = st.builds(
    lambda base, length, tail: (base * length)[:length] + tail,
    st.sampled_from(["a", "ab", "aab"]), st.integers(0, 24), st.text("ab", max_size=3),
)  # fmt: skip
which = st.integers(0, len(NAMES))


Mistake = Callable[[Lab, str], object]
MISTAKES: list[Mistake] = [
    lambda lab, name: lab.admit(name), lambda lab, name: lab.admit(name, "a"), lambda lab, name: lab.admit(name, ""),
    lambda lab, name: lab.append(name, "a"), lambda lab, name: lab.append(name, ""), lambda lab, name: lab.preempt(name),
    lambda lab, name: lab.release(name, name), lambda lab, name: lab.release(name, "nobody"), lambda lab, name: lab.release(),
    lambda lab, name: lab.evict(1, 99), lambda lab, name: lab.evict(0), lambda lab, name: lab.evict(),
    lambda lab, name: lab.reset(), lambda lab, name: lab.undo(), lambda lab, name: lab.release(all=True),
]  # fmt: skip


class AnyCommands(RuleBasedStateMachine):
    """Random commands on a random pool; a place number picks a request, the highest one picks a name that is not there."""

    commands: ClassVar[int] = 0
    finished: ClassVar[int] = 0
    lab: Lab

    @initialize(
        num_blocks=st.integers(1, 60), block_size=st.integers(1, 8), prefix_caching=st.sampled_from([True, True, True, False]),
        free_to=st.sampled_from(["front-back", "back"]), free_order=st.sampled_from(["reverse", "forward"]),
        full_hit=st.booleans(),
    )  # fmt: skip
    def make(self, **values: Any) -> None:
        self.lab = Lab(values.pop("num_blocks"), **values)

    # --- the commands --------------------------------------------------------------------------------------

    @rule(place=which, text=prompts)
    def admit_text(self, place: int, text: str) -> None:
        self.run(lambda: self.lab.admit(self.new_name(place), text))

    @rule(place=which, text=prompts)
    def admit_tokens(self, place: int, text: str) -> None:
        self.run(lambda: self.lab.admit(self.new_name(place), tokens=[ord(letter) for letter in text]))

    @precondition(lambda self: self.names("preempted"))
    @rule(place=which)
    def resume(self, place: int) -> None:
        self.run(lambda: self.lab.admit(self.pick(place, "preempted")))

    @precondition(lambda self: self.names("running"))
    @rule(place=which, text=st.text("ab", max_size=9))
    def append(self, place: int, text: str) -> None:
        self.run(lambda: self.lab.append(self.pick(place, "running"), text))

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

    @precondition(lambda self: self.lab.behaviour.num_blocks > 1)
    @rule(ids=st.lists(st.integers(0, 58), min_size=1, max_size=4))
    def evict(self, ids: list[int]) -> None:
        self.run(lambda: self.lab.evict(*[1 + block_id % (self.lab.behaviour.num_blocks - 1) for block_id in ids]))

    @precondition(lambda self: not self.names("running"))
    @rule()
    def reset(self) -> None:
        self.run(lambda: self.lab.reset())

    @precondition(lambda self: self.lab.journal.lineage())
    @rule()
    def undo(self) -> None:
        self.run(lambda: self.lab.undo())

    @rule(mistake=st.sampled_from(MISTAKES), place=which)
    def likely_mistake(self, mistake: Mistake, place: int) -> None:
        self.run(lambda: mistake(self.lab, self.pick(place)))

    # --- what must hold ------------------------------------------------------------------------------------

    def names(self, status: str | None = None) -> list[str]:
        return [name for name, request in self.lab.state.requests.items() if status in (None, request.state)]

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
            self.assert_hits_and_hashes(result, before[1])
            AnyCommands.finished += 1
        AnyCommands.commands += 1
        assert_sound(self.lab)
        self.assert_tables_fit()

    def assert_tables_fit(self) -> None:
        """Each running request has just the blocks it needs, and a block has the same tokens for all who share it."""
        block_size, covers = self.lab.behaviour.block_size, {}  # type: ignore[var-annotated]
        for name, request in self.lab._alive().scheduler.requests.items():
            table = self.lab.block_table(name)
            assert len(table) == (-(-request.num_tokens // block_size) if request.status == "running" else 0)
            for place, block_id in enumerate(table):
                tokens = tuple(request.token_ids[: (place + 1) * block_size])
                assert covers.setdefault(block_id, tokens) == tokens

    def assert_hits_and_hashes(self, result: StepResult, before: dict[str, Any]) -> None:
        """A lookup hits all that it can, the copy entered first; every block that became full is hashed, once."""
        verb, name = result.step.command.verb, result.step.command.args.get("name")
        if verb not in ("admit", "append") or not self.lab.behaviour.prefix_caching:
            return
        request, block_size = self.lab._alive().scheduler.requests[name], self.lab.behaviour.block_size
        known = before["requests"][name][1] // block_size if verb == "append" else 0
        if verb == "admit":
            most = (request.num_tokens - (not self.lab.behaviour.full_hit)) // block_size
            lookup = [short_key(key) for key in request.block_hashes[:most]]
            hits = tuple(before["copies"][key][0] for key in takewhile(before["copies"].__contains__, lookup))
            assert result.hit_blocks == hits
            known = len(hits)
        full = request.num_tokens // block_size
        hashed = [block_id for event in result.step.of(Hashed) for block_id in event.ids]
        assert hashed == list(result.block_table[known:full])

    def teardown(self) -> None:
        assert self.lab.verify().holds


@pytest.mark.slow
def test_any_sequence_of_commands_keeps_every_invariant_and_a_refused_one_changes_nothing() -> None:
    AnyCommands.commands = AnyCommands.finished = 0
    run_state_machine_as_test(
        AnyCommands, settings=settings(max_examples=800, stateful_step_count=60, derandomize=True, database=None, deadline=None)
    )
    print(f"\n{AnyCommands.commands} commands, {AnyCommands.finished} of them not refused")
    assert AnyCommands.finished >= 20_000
