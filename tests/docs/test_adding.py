"""The recipes of the page about adding things: they run as they stand, and the files that they name are the ones."""

from __future__ import annotations

import re

import pytest
from doc_pages import DOCS, text_of
from helpers import ROOT, seed_lab

from kvnb.commands import run_line
from kvnb.commands.table import VERBS, _row
from kvnb.session import Session

PAGE = text_of(DOCS / "adding.md")


def test_the_view_and_the_verb_of_the_page_work_as_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    names: dict[str, object] = {}
    for block in re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE):
        exec(compile(block, "adding.md", "exec"), names)
    verb = names["VICTIM"]
    monkeypatch.setitem(VERBS, "victim", _row(verb))  # type: ignore[arg-type]
    session = Session()
    session.labs["pool"], session.current = seed_lab(5), "pool"
    shown = run_line(session, "victim", str).result
    assert shown.text == "block 5 would be evicted first, after 1 block without a hash"
    assert shown.value == 5
    assert ">5<" in shown.html
    session.labs["pool"].admit("r3", "zzzzzzzz")
    assert run_line(session, "victim --pool pool", str).result.text == "nothing can be evicted: no cached block is free"
    assert "the cached block that would be evicted first" in run_line(session, "victim -h", str).result.text


def test_the_setting_that_the_page_follows_is_in_the_files_that_it_names_and_in_no_other() -> None:
    table = PAGE.split("\n## A setting\n")[1]
    named = set(re.findall(r"^\| `(kvnb/\S+)`", table, re.MULTILINE))
    files = [path for path in (ROOT / "kvnb").rglob("*.py") if "quiz" not in path.parts]  # which only asks about it
    has = {path for path in files if re.search(r"\bfree_order\b", path.read_text(encoding="utf-8"))}
    assert named == {path.relative_to(ROOT).as_posix() for path in has}
