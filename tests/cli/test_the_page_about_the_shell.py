from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest
from helpers import ROOT, needs, seed_lab
from shell_words import Typed

from kvnb.cli.table import COMMANDS
from kvnb.export import SUFFIXES


def lines() -> list[list[str]]:
    """The commands that the page about the shell shows, as words."""
    page = (ROOT / "docs" / "shell.md").read_text(encoding="utf-8")
    block = page.split("```sh\n")[1].split("```")[0]
    return [shlex.split(line, comments=True)[1:] for line in block.splitlines()]


@pytest.fixture
def lesson(folder: Path) -> Path:
    """A notebook that was run, and a journal under the older rule."""
    seed_lab(free_to="back").save(folder / "older.jsonl")
    shutil.copy(ROOT / "notebooks" / "01-pool.ipynb", folder / "lesson.ipynb")
    return folder / "lesson.ipynb"


def test_the_commands_that_the_page_shows_can_be_typed_one_after_the_other(typed: Typed, lesson: Path) -> None:
    needs("plotly")
    assert len(lines()) > 8
    for words in lines():
        code, out, err = typed(*words)
        assert (code, err) == (0, ""), words
        assert out.strip(), words
    assert lesson.with_suffix(".html").exists()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_journal_leaves_as_every_kind_of_file(typed: Typed, folder: Path, suffix: str) -> None:
    code, out, err = typed("export", "run.jsonl", f"left{suffix}")
    assert (code, err) == (0, "")
    assert out.startswith(f"6 steps exported to left{suffix}")
    (folder / f"left{suffix}").write_text("mine")
    assert typed("export", "run.jsonl", f"left{suffix}")[0] == 1
    assert typed("export", "run.jsonl", f"left{suffix}", "--force")[0] == 0


def test_a_report_lies_beside_its_notebook_and_says_so(typed: Typed, lesson: Path) -> None:
    needs("plotly")
    code, out, err = typed("report", "lesson.ipynb")
    assert (code, err) == (0, "")
    assert out.startswith("lesson.ipynb: report lesson.html (")
    assert typed("verify", "lesson.html")[0] == 0


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["report", "nope.ipynb"], 1, "cannot read nope.ipynb: No such file or directory"),
        (["report", "."], 1, "cannot read .: Is a directory"),
        (["report", "/"], 1, "cannot read /: Is a directory"),
        (["report", "run.jsonl"], 1, "run.jsonl is a journal and no notebook: kvnb export run.jsonl FILE.html makes its page"),
        (["report", "lesson.ipynb", "-p", "n", "5"], 2, "-p gives values to a notebook that is run: add --execute"),
        (["report", "lesson.ipynb", "--execute", "-p", "n"], 2, "-p needs 2 values: a value for the cell that is tagged"),
        (["report", "lesson.ipynb", "-o"], 2, "-o needs a value: the report; without it, beside the notebook"),
        (["report", "lesson.ipynb", "-o", "a.html", "--output", "b.html"], 2, "--output is given twice: once is enough"),
        (["export", "run.jsonl"], 2, "export needs FILE: export JOURNAL FILE [--force] [--json]"),
        (["export", "run.jsonl", "run.txt"], 2, "cannot export to 'run.txt': its name has to end in"),
    ],
)
def test_what_cannot_leave_is_refused_in_one_line(typed: Typed, lesson: Path, words: list[str], code: int, says: str) -> None:
    ended, out, err = typed(*words)
    assert (ended, out) == (code, "")
    assert err.startswith(f"kvnb: {says}")
    assert err.count("\n") == 1


def test_parameters_reach_the_notebook_as_numbers_and_texts(monkeypatch: pytest.MonkeyPatch, typed: Typed, lesson: Path) -> None:
    given = {}

    def report(notebook: Path, out: Path, **options: object) -> None:
        given.update(options)
        out.write_text("")

    monkeypatch.setattr("kvnb.export.report.report", report)
    words = "-p num_blocks 21 -p rate 0.5 -p caching False -p free_to back -p gone None -p text -5x"
    assert typed("report", "lesson.ipynb", "--execute", *words.split(" "))[0] == 0
    assert given["parameters"] == {
        "num_blocks": 21, "rate": 0.5, "caching": False, "free_to": "back", "gone": None, "text": "-5x",
    }  # fmt: skip
    assert given["execute"] is True


def test_the_page_speaks_of_every_command_that_is_the_shells_own() -> None:
    shown = {words[0] for words in lines()} | {"completion", "replay"}
    assert {command.name for command in COMMANDS.values() if command.kind == "manages"} <= shown
