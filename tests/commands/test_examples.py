from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from command_lines import refusal, run
from helpers import assert_sound
from made_notebooks import MadeNotebook

from kvnb.commands.table import VERBS
from kvnb.errors import KvnbError
from kvnb.journal import Step
from kvnb.results import Decoded, Generated, StepResult
from kvnb.session import Session

EXAMPLES = [(verb.name, example) for verb in VERBS.values() for example in verb.examples]


def before(verb: str) -> list[str]:
    """What has to be there before an example of ``verb`` makes sense."""
    if verb == "admit":
        return ["new 40"]
    requests = ["new 40", "admit r0 ABCDEFGHIJKLMNO", "admit r1 ABCDEFGHIJxxxx", "admit r2 ABCDEFGHIJKLyyyyyyyy"]
    if verb == "reset":
        return [*requests, "release --all"]
    if verb == "prefill":
        return [*requests, "admit r3 zzzzzzzz --chunk 4"]
    if verb == "step":
        return [*requests, "admit r3 zzzzzzzz --defer"]
    if verb == "accept":
        return [*requests, "append r1 Q --draft RST"]
    return [*requests, "save run.jsonl"]


def steps_of(result: object) -> Sequence[Step]:
    """The steps that a result tells of: one, a token each where the model made them, none for a look."""
    return result.steps if isinstance(result, Generated | Decoded) else [result.step] if isinstance(result, StepResult) else []


@pytest.mark.parametrize(("verb", "example"), EXAMPLES, ids=[example for _, example in EXAMPLES])
def test_every_example_of_the_table_runs(session: Session, verb: str, example: str) -> None:
    MadeNotebook("%kvpool new 11").save(Path("lesson.ipynb"))
    run(session, *before(verb))
    lab, steps = session.lab(), len(session.lab().journal)
    result = run(session, example)
    assert str(result) or verb == "log"
    assert len(lab.journal) - steps == len(steps_of(result))
    assert isinstance(result, StepResult | Generated | Decoded) == (VERBS[verb].kind == "changes")
    if verb != "corrupt":  # which is there to break what must hold
        assert_sound(lab)


@pytest.mark.parametrize("verb", [verb for verb in VERBS.values() if verb.kind == "changes"], ids=lambda verb: verb.name)
def test_a_changing_verb_reaches_the_pool_that_is_named(session: Session, verb: object) -> None:
    name = verb.name  # type: ignore[attr-defined]
    run(session, *before(name), "new 11 --name other")
    run(session, f"{VERBS[name].examples[0]} --pool pool")
    made = {"generate": "append", "decode": "step"}.get(name, name)
    assert session.lab("pool").journal.steps[-1].command.verb == made
    assert len(session.lab("other").journal) == 0


def test_a_prompt_can_come_from_a_file_unchanged(session: Session, tmp_path: Path) -> None:
    (tmp_path / "prompt.txt").write_bytes("line\r\n$x {y}; é\n".encode())
    run(session, "new 11", "admit r0 --file prompt.txt")
    assert session.lab().journal.steps[-1].command.args["text"] == "line\r\n$x {y}; é\n"


def test_a_preempted_request_resumes_without_a_prompt(session: Session) -> None:
    run(session, "new 11", "admit r0 ABCDEFGH", "preempt r0")
    assert run(session, "admit r0").num_tokens == 8
    assert refusal(session, "admit r0").startswith("r0 ")


def test_undo_goes_back_and_the_log_keeps_both(session: Session) -> None:
    run(session, "new 11", "admit r0 ABCDEFGH", "release r0", "undo")
    assert session.lab().requests == ("r0",)
    assert len(session.lab().journal) == 3


@pytest.mark.parametrize("value", [[65, 66], (65, 66), range(65, 67), b"AB", "AB"])
def test_a_variable_in_the_texts_place_may_hold_text_or_tokens(session: Session, value: object) -> None:
    run(session, "new 11", "admit r0 $value", value=value)
    assert session.lab().journal.steps[-1].command.args in ({"name": "r0", "tokens": [65, 66]}, {"name": "r0", "text": "AB"})


@pytest.mark.parametrize("value", [1.5, [1.5], {"a": 1}, [[1]], object(), True and 7])
def test_a_variable_that_is_neither_is_refused_in_one_line(session: Session, value: object) -> None:
    run(session, "new 11")
    for line in ("admit r0 $value", "admit r0 --tokens $value", "admit r0 {value}"):
        assert "whole numbers" in refusal(session, line, value=value)


def test_every_result_says_itself_as_text_and_as_html(session: Session) -> None:
    MadeNotebook("%kvpool new 11").save(Path("lesson.ipynb"))
    for verb, example in EXAMPLES:
        session.close_all()
        run(session, *before(verb))
        try:
            result = run(session, example)
        except KvnbError as error:
            pytest.fail(f"{example}: {error}")
        if verb != "log":
            bundle = result._repr_mimebundle_()
            assert set(bundle) >= {"text/plain", "text/html"}
            assert bundle["text/plain"] == repr(result)
