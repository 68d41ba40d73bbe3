from __future__ import annotations

from pathlib import Path

import pytest
from command_lines import run
from helpers import ROOT

from kvnb.commands.help import KINDS, markdown_table
from kvnb.commands.table import VERBS
from kvnb.commands.verb import Verb
from kvnb.session import Session

EVERY_VERB = pytest.mark.parametrize("verb", VERBS.values(), ids=list(VERBS))


@EVERY_VERB
def test_help_names_every_argument_and_gives_examples(session: Session, verb: Verb) -> None:
    says = run(session, f"{verb.name} -h").text
    assert says.startswith(verb.help)
    assert f"%kvpool {verb.usage}" in says
    for arg in verb.args:
        assert arg.help
        assert f"  {arg.typed} " in says
    assert verb.examples
    for example in verb.examples:
        assert example.split()[0] == verb.name
        assert f"  %kvpool {example}" in says


@EVERY_VERB
def test_help_can_be_asked_anywhere_among_the_words_and_does_nothing(session: Session, verb: Verb) -> None:
    says = run(session, f"{verb.name} --help").text
    assert run(session, f"{verb.name} 5 --no-such-option -h").text == says
    assert not session.labs


def test_help_of_all_lists_each_verb_once_under_its_kind(session: Session) -> None:
    says = run(session, "-h").text
    assert run(session, "--help").text == run(session, "help").text == says
    for verb in VERBS.values():
        assert sum(line.split()[:1] == [verb.name] for line in says.splitlines()) == 1
        assert verb.kind in KINDS


def test_help_is_text_after_two_hyphens(session: Session) -> None:
    run(session, "new 11", "admit r0 -- -h")
    assert session.lab().journal.steps[-1].command.args["text"] == "-h"


def test_help_for_a_choice_lists_the_choices(session: Session) -> None:
    says = run(session, "new -h").text
    assert "(reverse, forward)" in says
    assert "(front-back, back)" in says


def test_the_page_of_verbs_lists_them_as_the_table_has_them() -> None:
    page = (ROOT / "docs" / "verbs.md").read_text(encoding="utf-8")
    block = page.split("<!-- verbs -->\n")[1].split("\n<!-- /verbs -->")[0]
    assert block == markdown_table(VERBS.values())


TOUR = "README.md", "A tour in ten lines"
WALKED = [("docs/memory.md", "Memory"), ("docs/pictures.md", "Pictures"), ("docs/what-if.md", "What if")]


def lines_of(page: str, heading: str) -> list[str]:
    """The command lines of the first block of text under a heading, without what is said behind them."""
    below = (ROOT / page).read_text(encoding="utf-8").split(f"# {heading}\n")[1]
    block = below.split("```text\n")[1].split("```")[0]
    return [line.removeprefix("%kvpool ").split("  ")[0] for line in block.splitlines() if line.startswith("%kvpool ")]


@pytest.mark.parametrize(("page", "heading"), [TOUR, *WALKED], ids=lambda name: name)
def test_the_commands_that_a_page_shows_can_be_typed_one_after_the_other(session: Session, page: str, heading: str) -> None:
    lines = lines_of(page, heading)
    assert len(lines) > 8
    if heading in ("Pictures", "What if"):
        run(session, *lines_of(*TOUR))
    run(session, *[line.replace("2GiB", "2MiB") for line in lines])  # 2 GiB are for a reader who has them
    assert session.lab().verify().holds


def test_the_commands_about_the_dashboard_can_be_typed_in_the_folder_of_the_notebooks(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT / "notebooks")
    run(session, *lines_of(*TOUR), *lines_of("docs/dashboard.md", "The dashboard"))
    assert session.current == "watch"


def test_the_commands_that_leave_a_notebook_can_be_typed(
    session: Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    run(session, *lines_of(*TOUR), *lines_of("docs/reports.md", "Leaving the notebook"))
    assert {path.suffix for path in tmp_path.iterdir()} == {".py", ".ipynb", ".html", ".jsonl"}
