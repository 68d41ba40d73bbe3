from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from helpers import seed_lab
from shell_words import WALK, Typed, kvnb, seed_steps

from kvnb.journal import jsonl
from kvnb.session import Session

SAYS = """r3: 8 tokens, 0 block(s) from cache, 2 new
  evict: block 5 loses its hash
  block table [10 5]
  free queue (front first, * = cached): \n"""


def test_a_script_prints_what_a_terminal_shows_and_its_log_is_the_journal(folder: Path) -> None:
    done = kvnb(folder, "run", "walk.kvpool", "--log", "walk.jsonl")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(SAYS)
    assert jsonl.read(folder / "walk.jsonl").journal.digest == seed_lab().digest


def test_a_script_comes_from_standard_input_too(folder: Path) -> None:
    done = kvnb(folder, "run", "-", input=WALK)
    assert (done.returncode, done.stdout.endswith(SAYS)) == (0, True)
    done = kvnb(folder, "run", "-", input="new 11 --device none\nadmid r0 A\n")
    assert (done.returncode, done.stderr) == (2, "kvnb: standard input: line 2: unknown verb 'admid': did you mean admit?\n")


@pytest.mark.parametrize(
    ("last", "code", "says"),
    [
        ("admid r9 A", 2, "unknown verb 'admid': did you mean admit?"),
        ("release r9", 1, "no request r9: "),
        ("admit r9 $text", 2, "'$text' has no value here (LookupError: 'a script in a shell has no variables')"),
        ("admit r9 {1+1}", 2, "'{1+1}' has no value here"),
        ("new 11 --log no/such/folder.jsonl", 1, "cannot write no/such/folder.jsonl"),
    ],
)
def test_the_first_error_names_script_and_line_in_one_line_and_ends_with_its_own_code(
    typed: Typed, folder: Path, last: str, code: int, says: str
) -> None:
    (folder / "wrong.kvpool").write_text(f"{WALK}\n{last}\nadmit r10 A\n")
    ended, out, err = typed("run", "wrong.kvpool", "--log", "wrong.jsonl")
    assert ended == code
    assert err.startswith(f"kvnb: wrong.kvpool: line 10: {says}")
    assert err.count("\n") == 1
    assert out.endswith(SAYS)
    assert len(jsonl.read(folder / "wrong.jsonl").journal) == 6


def test_a_semicolon_silences_a_line_but_not_its_object(typed: Typed, folder: Path) -> None:
    (folder / "quiet.kvpool").write_text("new 11 --device none;\nadmit r0 ABC;\nusage\n")
    assert typed("run", "quiet.kvpool")[1].startswith("usage 0.10")
    assert len(typed("run", "quiet.kvpool", "--json")[1].splitlines()) == 3


def test_json_is_an_object_a_command_and_the_error_is_the_last(typed: Typed, folder: Path) -> None:
    (folder / "wrong.kvpool").write_text(f"{WALK}usage\nrelease r9\n")
    code, out, err = typed("run", "wrong.kvpool", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == 1
    assert err.startswith("kvnb: wrong.kvpool: line 10: no request r9")
    assert [set(row) for row in rows[:-1]] == [{"line", "command", "pool", "steps", "value", "text"}] * 8
    assert [row["line"] for row in rows[:-1]] == [2, 3, 4, 5, 6, 7, 8, 9]
    assert rows[6]["command"] == "admit r3 zzzzzzzz"
    steps = [step for row in rows[:-1] for step in row["steps"]]
    assert steps == seed_steps()
    assert (rows[7]["value"], rows[7]["pool"]) == (1.0, "pool")
    assert rows[-1]["error"]["kind"] == "UnknownName"
    assert rows[-1]["error"]["says"].startswith("line 10: no request r9")


def test_every_result_can_be_an_object(typed: Typed, folder: Path) -> None:
    looks = [
        "show", "show queue", "show tables", "show map", "show block 5", "show request r2", "show diagram", "check", "metrics",
        "at 3", "diff 1 3", "timeline", "list", "verify", "replay", "save x.jsonl", "load x.jsonl --copy --name again", "-h",
    ]  # fmt: skip
    (folder / "looks.kvpool").write_text(WALK + "\n".join(looks))
    code, out, _ = typed("run", "looks.kvpool", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert (code, len(rows)) == (0, 7 + len(looks))
    values = {row["command"]: row["value"] for row in rows}
    assert values["show"]["requests"]["r3"] == {"state": "running", "tokens": 8, "block_table": [10, 5]}
    assert values["show queue"] == []
    assert values["at 3"]["free_queue"] == [4, 7, 8, 9, 10, 3]
    assert all(equation["holds"] for equation in values["check"])
    assert all(row["text"] for row in rows)


def test_the_log_is_that_of_the_first_pool_alone(typed: Typed, folder: Path) -> None:
    (folder / "two.kvpool").write_text("new 11 --device none\nadmit a A\nnew 12 --device none --name other\nadmit b B\n")
    assert typed("run", "two.kvpool", "--log", "two.jsonl")[0] == 0
    assert jsonl.read(folder / "two.jsonl").journal.behaviour.num_blocks == 11


def test_a_log_that_no_pool_has_used_is_an_error(typed: Typed, folder: Path) -> None:
    (folder / "none.kvpool").write_text("load run.jsonl --copy\n")
    code, _, err = typed("run", "none.kvpool", "--log", "none.jsonl")
    assert code == 2
    assert err == ("kvnb: none.kvpool: --log none.jsonl has not been used: no pool was made by `new` without a log of its own\n")


def test_a_log_does_not_overwrite_what_is_no_journal_unless_forced(typed: Typed, folder: Path) -> None:
    (folder / "notes.txt").write_text("mine")
    code, _, err = typed("run", "walk.kvpool", "--log", "notes.txt")
    assert (code, (folder / "notes.txt").read_text()) == (1, "mine")
    assert "line 2: notes.txt" in err
    assert typed("run", "walk.kvpool", "--log", "notes.txt", "--force")[0] == 0
    assert typed("run", "walk.kvpool", "--log", "notes.txt")[0] == 0


def test_what_is_no_script_is_refused_in_one_line(typed: Typed, folder: Path) -> None:
    (folder / "binary").write_bytes(b"\xff\xfe\x00")
    assert typed("run", "nope") == (2, "", "kvnb: cannot read nope: No such file or directory\n")
    assert typed("run", ".") == (2, "", "kvnb: cannot read .: Is a directory\n")
    assert typed("run", "binary") == (2, "", "kvnb: binary is not UTF-8 text: give a script, one command a line\n")


def test_a_script_gives_the_digest_that_the_same_lines_give_in_a_notebook(
    typed: Typed, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What a notebook's `new` takes by itself, a script takes too.
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbfnew 11 --device none\r\nadmit r0 ABC\r\n")))
    assert typed("run", "-", "--log", "same.jsonl")[0] == 0
    session = Session()
    lab, _ = session.new(11, device="none")
    lab.admit("r0", "ABC")
    assert jsonl.read(folder / "same.jsonl").journal.digest == lab.digest
