from __future__ import annotations

from typing import Any

import pytest
from command_lines import parsed, run
from hypothesis import given
from hypothesis import strategies as st

from kvnb import Lab
from kvnb.arguments import cache_keys
from kvnb.commands.grammar import is_expression, split
from kvnb.commands.parse import wants_help
from kvnb.errors import KvnbError
from kvnb.manager.command import Command
from kvnb.session import Session

TEXTS = st.one_of(
    st.text(min_size=1, max_size=12),
    st.text(st.sampled_from("a-$x{};'\"\\ \n\t#<&é\u2028\x1b"), min_size=1, max_size=8),
    st.sampled_from(["$x", "{x}", "-x", "--", "--all", "-h", "#", "a;", ";", "a b", "l1\nl2", "'", '"', "\\", "<script>", "🙂"]),
)
TOKENS = st.lists(st.integers(0, 2**40), min_size=1, max_size=4)
LORAS = st.tuples(TEXTS.filter(lambda name: "=" not in name), st.one_of(st.just(""), TEXTS)).map(list)
PROMPTS = st.one_of(st.fixed_dictionaries({"text": TEXTS}), st.fixed_dictionaries({"tokens": TOKENS}))
DRAFTS = st.one_of(PROMPTS, st.just({"text": ""}), st.just({"tokens": []}))
KEYS = st.fixed_dictionaries({}, optional={"salt": TEXTS, "lora": LORAS, "chunk": st.integers(1, 99)})
COMMANDS = st.one_of(
    st.builds(lambda n, p, keys: Command("admit", {"name": n, **p, **keys}), TEXTS, PROMPTS, KEYS),
    st.builds(lambda n, chunk: Command("admit", {"name": n, "chunk": chunk}), TEXTS, st.integers(1, 99)),
    st.builds(lambda n, p, draft: Command("append", {"name": n, **p, "draft": draft}), TEXTS, PROMPTS, DRAFTS),
    st.builds(lambda n, number: Command("prefill", {"name": n, "n": number}), TEXTS, st.integers(1, 99)),
    st.builds(lambda n, k: Command("accept", {"name": n, "k": k}), TEXTS, st.integers(0, 99)),
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
    assert Command(verb, canonical(parsed(line))) == command
    assert not split(line).silent
    expressions = [word.text for word in split(line).words if word.bare and is_expression(word.text)]
    assert len(expressions) == ("tokens" in command.args.get("draft", {}))
    assert not wants_help(split(line).words[1:])


def canonical(given: dict[str, Any]) -> dict[str, Any]:
    """What a Lab makes of what was typed: an adapter with its path, drafts as a text or as tokens."""
    draft = given.get("draft")
    if draft is not None:
        given["draft"] = {"text": draft} if isinstance(draft, str) else {"tokens": draft}
    return {**given, **cache_keys(given.get("salt"), given.get("lora"))}


@given(st.lists(st.tuples(TEXTS, TEXTS, KEYS, DRAFTS), min_size=1, max_size=5))
def test_a_history_typed_again_gives_the_same_digest(requests: list[tuple[str, str, Any, Any]]) -> None:
    session = Session()
    lab = session.new(60)[0]
    for name, text, keys, draft in requests:
        for change in (
            lambda: lab.admit(name, text, **keys), lambda: lab.prefill(name), lambda: lab.append(name, text),  # noqa: B023
            lambda: lab.append(name, text, draft=draft.get("text", draft.get("tokens"))),  # noqa: B023
            lambda: lab.accept(name, len(lab.state.requests[name].table) % 2),  # noqa: B023
            lambda: lab.preempt(name), lambda: lab.admit(name, chunk=2), lambda: lab.release(name),  # noqa: B023
        ):  # fmt: skip
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
        ({"name": "r0", "text": "A", "salt": "-h", "lora": ["ad", ""]}, "admit --salt '-h' --lora ad r0 A"),
        ({"name": "r0", "text": "A", "lora": ["ad", "a path"], "chunk": 4}, "admit --lora 'ad=a path' --chunk 4 r0 A"),
    ],
)
def test_a_command_is_written_as_one_would_type_it(args: dict[str, Any], line: str) -> None:
    assert str(Command("admit", args)) == line


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (Command("append", {"name": "r0", "text": "A", "draft": {"text": "B C"}}), "append --draft 'B C' r0 A"),
        (Command("append", {"name": "r0", "text": "A", "draft": {"tokens": [1, 2]}}), "append --draft {[1,2]} r0 A"),
        (Command("prefill", {"name": "r0", "n": 3}), "prefill r0 3"),
        (Command("accept", {"name": "-r0", "k": 0}), "accept -- -r0 0"),
    ],
)
def test_drafts_and_numbers_are_written_as_one_would_type_them(command: Command, line: str) -> None:
    assert str(command) == line
