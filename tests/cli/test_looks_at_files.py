from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers import ROOT, seed_lab
from shell_words import Typed, kvnb, seed_steps

from kvnb.cli.table import COMMANDS, NOTEBOOK_ONLY, OF_A_SESSION
from kvnb.commands.table import VERBS
from kvnb.commands.verb import Verb

LOOKS = [command for command in COMMANDS.values() if command.kind == "looks"]
EXAMPLES = [example for command in LOOKS for example in command.examples if not example.startswith("prove")]
EVERY_COMMAND = pytest.mark.parametrize("command", COMMANDS.values(), ids=list(COMMANDS))


def older(folder: Path) -> None:
    """The same prompts under the older rule, in ``older.jsonl``."""
    seed_lab(free_to="back").save(folder / "older.jsonl")


def test_every_verb_that_looks_is_a_command_on_a_file_but_for_those_that_need_a_notebook() -> None:
    looks = {verb.name for verb in VERBS.values() if verb.kind == "looks"}
    assert {look.name for look in LOOKS} == looks - {*NOTEBOOK_ONLY, *OF_A_SESSION}
    assert all(look.places[0].typed == "FILE" and "pool" not in {arg.name for arg in look.args} for look in LOOKS)


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_of_a_look_runs_as_text_and_as_objects_and_leaves_the_file_alone(
    typed: Typed, folder: Path, example: str
) -> None:
    older(folder)
    before = (folder / "run.jsonl").read_bytes()
    if "request r0" in example:
        example = example.replace("r0", "r2")
    code, out, err = typed(*example.split())
    assert (code, err) == (0, "")
    assert out.strip()
    code, out, err = typed(*example.split(), "--json")
    assert (code, err) == (0, "")
    rows = [json.loads(line) for line in out.splitlines()]
    if not example.startswith("log"):
        assert [set(row) for row in rows] == [{"file", "verb", "arguments", "pool", "steps", "digest", "value", "text"}]
    assert (folder / "run.jsonl").read_bytes() == before


def test_a_look_says_what_the_verb_says_in_a_notebook(folder: Path) -> None:
    done = kvnb(folder, "show", "run.jsonl", "queue", "--at", "4")
    assert (done.returncode, done.stdout, done.stderr) == (
        0, "free queue (front first, * = cached): 6 4 7 8 9 10 3* 5* 2* 1*\n", "",
    )  # fmt: skip


def test_two_journals_stand_side_by_side_under_the_names_of_their_files(typed: Typed, folder: Path) -> None:
    older(folder)
    _, out, _ = typed("diff", "run.jsonl", "older.jsonl")
    assert out.splitlines()[1].split() == ["run.jsonl", "older.jsonl"]
    assert typed("diff", "run.jsonl", "run.jsonl")[0] == 0


@pytest.mark.parametrize("words", [["3"], ["older.jsonl", "3"]])
def test_a_diff_of_a_step_and_a_journal_is_refused(typed: Typed, words: list[str]) -> None:
    says = "kvnb: diff needs a journal file and two of its steps, or two journal files\n"
    assert typed("diff", "run.jsonl", *words) == (2, "", says)


def test_the_log_is_a_table_without_empty_columns_and_its_rows_are_objects(typed: Typed) -> None:
    _, out, _ = typed("log", "run.jsonl")
    lines = out.splitlines()
    columns = "step command verb request hit new evicted free used cached usage digest"
    assert lines[0].split() == columns.split(" ")
    assert [line.split()[0] for line in lines[1:]] == ["1", "2", "3", "4", "5", "6"]
    rows = [json.loads(line) for line in typed("log", "run.jsonl", "events", "--json")[1].splitlines()]
    assert set(rows[0]) == {"step", "event", "request", "ids", "keys", "detail"}


def test_replay_tells_the_story_and_with_json_gives_the_steps(typed: Typed) -> None:
    assert typed("replay", "run.jsonl")[1].endswith("the same as recorded\n")
    rows = [json.loads(line) for line in typed("replay", "run.jsonl", "--json")[1].splitlines()]
    assert rows == seed_steps()


def test_an_unfinished_line_is_said_beside_the_result(typed: Typed, folder: Path) -> None:
    with (folder / "run.jsonl").open("a") as file:
        file.write('{"step":')
    code, out, err = typed("usage", "run.jsonl")
    assert (code, out[:10]) == (0, "usage 1.00")
    assert err == "kvnb: run.jsonl: an unfinished line at its end (8 bytes) was left out\n"


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["show"], 2, "show needs FILE: show FILE [WHAT] [WHICH] [--contents] [--at K] [--json]"),
        (["show", "run.jsonl", "quene"], 2, "WHAT cannot be 'quene': did you mean queue?"),
        (["show", "run.jsonl", "--at", "9"], 1, "no step 9: there are steps 0 to 6"),
        (["show", "run.jsonl", "--att", "9"], 2, "show has no option '--att': did you mean --at?"),
        (["show", "run.jsonl", "request", "r9"], 1, "no request r9: "),
        (["show", "walk.kvpool"], 1, "walk.kvpool is no kvnb journal: give a file made by save or --log"),
        (["usage", "nope.jsonl"], 1, "cannot read nope.jsonl: No such file or directory"),
        (["shw", "run.jsonl"], 2, "unknown verb 'shw': did you mean show?"),
        (["nothing"], 2, "unknown verb 'nothing': there are run, verify, replay, export, report, completion, show, usage, "),
        (["--json", "verify", "run.jsonl"], 2, "'--json' is no command: options stand after it, and kvnb -h lists"),
        (["admit", "r0", "ABC"], 2, "a shell keeps no pool for admit: write `admit r0 ABCDEFGHIJKLMNO` into a script, and"),
        (["dashboard", "run.jsonl"], 2, "dashboard needs a notebook: type %kvpool dashboard FILE there"),
        (["prove", "run.jsonl", "r2"], 2, "prove needs memory and a model"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(typed: Typed, words: list[str], code: int, says: str) -> None:
    ended, out, err = typed(*words)
    assert (ended, out) == (code, "")
    assert err.startswith(f"kvnb: {says}")
    assert err.count("\n") == 1


def test_what_a_pool_with_memory_proves_is_proved_from_its_file(typed: Typed, folder: Path) -> None:
    pytest.importorskip("torch")
    (folder / "memory.kvpool").write_text("new 11\nadmit r0 ABCDEFGHIJ\n")
    assert typed("run", "memory.kvpool", "--log", "memory.jsonl")[0] == 0
    assert typed("prove", "memory.jsonl", "r0")[0] == 0


def test_help_is_made_from_the_tables(typed: Typed) -> None:
    code, says, _ = typed("-h")
    assert code == 0
    for name in (*COMMANDS, *VERBS):
        assert sum(name in line.split() for line in says.splitlines()) >= 1
    assert typed("--help")[1] == typed("help")[1] == says
    assert typed() == (2, says, "")


@EVERY_COMMAND
def test_help_of_a_command_names_every_argument_and_gives_examples(typed: Typed, command: Verb) -> None:
    code, says, _ = typed(command.name, "-h")
    assert code == 0
    assert says == typed("help", command.name)[1] == typed(command.name, "x", "--no-such", "--help")[1]
    assert f"  kvnb {command.usage}" in says
    assert all(arg.typed in says and arg.help in says for arg in command.args)
    assert command.examples
    assert all(f"  kvnb {example}" in says for example in command.examples)


def test_help_of_a_verb_of_scripts_is_that_of_the_magic(typed: Typed) -> None:
    assert "%kvpool admit r0 ABCDEFGHIJKLMNO" in typed("admit", "-h")[1]
    assert typed("help", "admid") == (2, "", "kvnb: unknown verb 'admid': did you mean admit?\n")


def test_the_command_is_installed_under_its_name() -> None:
    assert '[project.scripts]\nkvnb = "kvnb.cli:main"' in (ROOT / "pyproject.toml").read_text()
