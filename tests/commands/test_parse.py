from __future__ import annotations

from typing import Any

import pytest
from command_lines import parsed, refusal, run

from kvnb.session import Session


@pytest.mark.parametrize(
    ("line", "given"),
    [
        ("admit r0 ABC", {"name": "r0", "text": "ABC"}),
        ("admit r0", {"name": "r0"}),
        ("admit --tokens 1,2 r0", {"name": "r0", "tokens": [1, 2]}),
        ("admit r0 --tokens=1,2", {"name": "r0", "tokens": [1, 2]}),
        ("admit r0 --tokens '1 2'", {"name": "r0", "tokens": [1, 2]}),
        ("admit r0 --pool other ABC", {"name": "r0", "text": "ABC", "pool": "other"}),
        ("admit r0 --file=a=b", {"name": "r0", "file": "a=b"}),
        ("admit -- -x --y", {"name": "-x", "text": "--y"}),
        ("admit r0 -- --", {"name": "r0", "text": "--"}),
        ("admit '-x' '--pool'", {"name": "-x", "text": "--pool"}),
        ("admit r0 -", {"name": "r0", "text": "-"}),
        ("admit r0 ''", {"name": "r0", "text": ""}),
        ("release a b 'c d'", {"names": ["a", "b", "c d"]}),
        ("release --all", {"all": True}),
        ("evict 3 5", {"ids": [3, 5]}),
        ("new 11 --no-prefix-caching --free-to back", {"num_blocks": 11, "no_prefix_caching": True, "free_to": "back"}),
        ("reset", {}),
    ],
)
def test_a_line_gives_its_verb_these_arguments(line: str, given: dict[str, Any]) -> None:
    assert parsed(line) == given


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("admid r0 ABC", "unknown verb 'admid': did you mean admit?"),
        ("xyzzy", "unknown verb 'xyzzy': there are new, admit, prefill, step"),
        ("'' r0", "unknown verb ''"),
        ("%kvpool new 11", "%kvpool begins a line of a notebook's cell: here give the command alone"),
        ("%%kvpool", "%%kvpool begins a line of a notebook's cell"),
        ("new 11 --block-sise 16", "new has no option '--block-sise': did you mean --block-size?"),
        (
            "admit r0 -x",
            "admit has no option '-x': there are "
            "--tokens, --file, --chat, --salt, --lora, --chunk, --defer, --fail, --pool, --help",
        ),
        ("new 11 --name a --name b", "--name is given twice: once is enough"),
        ("release --all --all", "--all is given twice"),
        ("release --all=yes", "--all takes no value: leave '=yes' out"),
        ("admit r0 --tokens", "--tokens needs a value"),
        ("admit", "admit needs NAME: admit NAME [TEXT]"),
        ("new", "give the number of blocks, or --memory such as 2GiB"),
        ("evict", "evict needs ID: evict ID..."),
        ("at", "at needs K: at K"),
        ("admit r0 two words", "'words' is one word too many: put quotes around a text with spaces"),
        ("reset now", "'now' is one word too many: reset"),
        ("admit '' ABC", "a name is empty: give at least one character"),
        ("new eleven", "'eleven' is not a whole number"),
        ("new 1.5", "'1.5' is not a whole number"),
        ("admit r0 --tokens 1,x", "'1,x' is no list of tokens: give whole numbers such as 1,2,3"),
        ("new 11 --free-to fornt", "--free-to cannot be 'fornt'"),
        ("new 11 --free-order backward", "--free-order cannot be 'backward'"),
        ("new 11 --hash md5", "--hash cannot be 'md5'"),
        ("new 11 --device gpu", "--device cannot be 'gpu'"),
        ("show everything", "WHAT cannot be 'everything'"),
        ("log rows", "ROWS cannot be 'rows'"),
    ],
)
def test_a_line_that_cannot_be_read_says_what_is_wrong_and_what_fits(session: Session, line: str, says: str) -> None:
    assert refusal(session, line).startswith(says)
    assert not session.labs


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("append r9 P", "no request r9: "),
        ("admit r0 ABC", "r0 "),
        ("admit r1", "r1 needs a prompt"),
        ("admit r1 A --tokens 1", "give a text, or tokens, or a file: only one of them"),
        ("admit r1 --tokens -1", "tokens are 0 or more"),
        ("admit r1 --file missing.txt", "cannot read 'missing.txt'"),
        ("append r0", "nothing to append to r0"),
        ("release r0 --all", "give names or all, not both"),
        ("evict 0", ""),
        ("evict 11", ""),
        ("reset", ""),
        ("preempt r9", "no request r9"),
        ("at 9", "no step 9: there are steps 0 to 1"),
        ("at -- -1", "no step -1"),
        ("show block 11", "no block 11: there are blocks 0 to 10"),
        ("show block x", "'x' is no block id"),
        ("show request r9", "no request r9"),
        ("show block", "show block needs a name or id behind it"),
        ("show queue r0", "show queue takes nothing behind it"),
        ("use other", "no pool other: there is pool"),
        ("close other", "no pool other"),
        ("admit r1 ABC --pool other", "no pool other"),
        ("new 0", "the number of blocks is 0: give 1 or more"),
        ("new -- -3", "the number of blocks is -3"),
        ("new 11 --block-size 0", "block_size is 0"),
        ("new 11 --tokenizer missing.json", "unknown tokenizer 'missing.json'"),
        ("load missing.jsonl", "cannot read missing.jsonl"),
        ("verify missing.jsonl", "cannot read missing.jsonl"),
        ("replay missing.jsonl", "cannot read missing.jsonl"),
        ("save nowhere/run.jsonl", "cannot write nowhere/run.jsonl"),
        ("new 11 --log nowhere/run.jsonl", "cannot write nowhere/run.jsonl"),
    ],
)
def test_what_cannot_be_done_says_why_and_changes_nothing(session: Session, line: str, says: str) -> None:
    run(session, "new 11", "admit r0 ABCDEF")
    lab, digest = session.lab(), session.lab().digest
    assert refusal(session, line).startswith(says)
    assert session.lab() is lab
    assert list(session.labs) == ["pool"]
    assert lab.digest == digest


@pytest.mark.parametrize("verb", ["show", "admit r0 A", "usage", "check", "save f", "close", "undo", "replay", "log"])
def test_without_a_pool_every_verb_says_how_to_make_one(session: Session, verb: str) -> None:
    assert "make one with `new 11`" in refusal(session, verb)


def test_control_characters_in_a_name_stay_out_of_the_error_line(session: Session) -> None:
    run(session, "new 11")
    for line in [
        "release 'a\nb'",
        "use 'a\x1b[2Jb'",
        "show request 'a\nb'",
        "'a\nb'",
        "admit 'a\nb'",
        "admit r0 x '\n'",
        "load 'a\nb'",
    ]:
        refusal(session, line)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("new -5", "the number of blocks is -5: give 1 or more"),
        ("evict -1", "block -1 does not exist: give ids from 1 to 10"),
        ("at -1", "no step -1: there are steps 0 to 0"),
        ("admit r0 x --salt=$tenant", "--salt=$tenant is read as it stands: write --salt $tenant for the value"),
    ],
)
def test_a_negative_number_is_a_number_and_an_attached_variable_is_told(session: Session, line: str, says: str) -> None:
    run(session, "new 11")
    assert refusal(session, line) == says


def test_an_escaped_backslash_does_not_escape_the_semicolon_after_it(session: Session) -> None:
    run(session, "new 11", "admit r0 ABC\\\\;")
    assert session.lab().journal.steps[-1].command.args["text"] == "ABC\\"


def test_help_of_a_verb_explains_that_verb(session: Session) -> None:
    assert "%kvpool admit NAME" in str(run(session, "help admit"))
