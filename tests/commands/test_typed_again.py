from __future__ import annotations

from typing import Any

import pytest
from command_lines import parsed, run
from hypothesis import given
from hypothesis import strategies as st

from kvnb import Lab
from kvnb.commands.grammar import is_expression, split
from kvnb.errors import KvnbError
from kvnb.manager.command import Command
from kvnb.session import Session

TEXTS = st.one_of(
    st.text(min_size=1, max_size=12),
    st.text(st.sampled_from("a-$x{};'\"\\ \n\t#<&é\u2028\x1b"), min_size=1, max_size=8),
    st.sampled_from(["$x", "{x}", "-x", "--", "--all", "-h", "#", "a;", ";", "a b", "l1\nl2", "'", '"', "\\", "<script>", "🙂"]),
)
TOKENS = st.lists(st.integers(0, 2**40), min_size=1, max_size=4)
COMMANDS = st.one_of(
    st.builds(lambda verb, n, t: Command(verb, {"name": n, "text": t}), st.sampled_from(["admit", "append"]), TEXTS, TEXTS),
    st.builds(lambda verb, n, t: Command(verb, {"name": n, "tokens": t}), st.sampled_from(["admit", "append"]), TEXTS, TOKENS),
    st.builds(lambda verb, n: Command(verb, {"name": n}), st.sampled_from(["admit", "preempt"]), TEXTS),
    st.builds(lambda names: Command("release", {"names": names}), st.lists(TEXTS, min_size=1, max_size=3)),
    st.builds(lambda ids: Command("evict", {"ids": ids}), st.lists(st.integers(0, 99), min_size=1, max_size=3)),
    st.just(Command("reset", {})),
    st.just(Command("undo", {})),
)


@given(COMMANDS)
def test_a_command_of_the_journal_reads_back_as_itself(command: Command) -> None:
    line = str(command)
    verb = split(line).words[0].text
    assert Command(verb, parsed(line)) == command
    assert not split(line).silent
    assert not any(word.bare and is_expression(word.text) for word in split(line).words)


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=5))
def test_a_history_typed_again_gives_the_same_digest(requests: list[tuple[str, str]]) -> None:
    session = Session()
    lab = session.new(60)[0]
    for name, text in requests:
        for change in (lambda: lab.admit(name, text), lambda: lab.append(name, text), lambda: lab.release(name)):  # noqa: B023
            try:
                change()
            except KvnbError:
                continue
    again = typed_again(lab)
    assert again.digest == lab.digest


def typed_again(lab: Lab) -> Lab:
    session = Session()
    again, _ = session.new(lab.behaviour.num_blocks)
    for step in lab.journal.steps:
        run(session, str(step.command))
    return again


@pytest.mark.parametrize(
    ("args", "line"),
    [
        ({"name": "r0", "text": "ABC"}, "admit r0 ABC"),
        ({"name": "a b", "text": "it's"}, "admit 'a b' 'it'\"'\"'s'"),
        ({"name": "-x", "text": "$y"}, "admit -- -x '$y'"),
        ({"name": "r0", "tokens": [1, 2]}, "admit --tokens 1,2 r0"),
    ],
)
def test_a_command_is_written_as_one_would_type_it(args: dict[str, Any], line: str) -> None:
    assert str(Command("admit", args)) == line
