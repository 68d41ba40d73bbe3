"""A report has its notebook in it: reading it, and what it says of tampering."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers import ROOT
from made_notebooks import RECORD, MadeNotebook

from kvnb.errors import JournalError
from kvnb.journal.notebook_file import embedded, essence
from kvnb.journal.verification import Verification, verify_file

PAGE = '<!doctype html><html><head><script>let a = "<b id=kvnb-record>";</script></head><body><p>x</p>{}</body></html>'


def report(path: Path, notebook: MadeNotebook, page: str = PAGE) -> Path:
    path.write_text(page.format(embedded(notebook.to_dict())) if page == PAGE else page)
    return path


def says(verification: Verification) -> list[str]:
    return [finding.says for finding in verification.findings]


def made() -> MadeNotebook:
    return MadeNotebook("%kvpool new 11", "%kvpool admit r0 ABCDEFG", "%kvpool release r0\n%kvpool release r0")


def test_a_report_holds_as_its_notebook_does(tmp_path: Path) -> None:
    found = verify_file(report(tmp_path / "report.html", made()))
    assert (found.kind, found.holds, says(found)) == ("report", True, [])
    assert [checked.journal.digest for checked in found.journals] == [made().lab.digest]


def test_what_is_embedded_has_records_and_no_bulk_and_is_the_same_each_time() -> None:
    notebook = made()
    bulk = {"output_type": "display_data", "data": {"text/html": "x" * 10_000}, "metadata": {}}
    notebook.cells[1]["outputs"].insert(0, bulk)
    cells = essence(notebook.to_dict())["cells"]
    assert [[sorted(output.get("data", {})) for output in cell["outputs"]] for cell in cells] == [[[RECORD]]] * 2 + [
        [[RECORD], []]
    ]
    assert [cell["id"] for cell in cells] == ["cell-0", "cell-1", "cell-2"]
    assert len(embedded(notebook.to_dict())) < 5000
    assert embedded(notebook.to_dict()) == embedded(made().to_dict())


@pytest.mark.parametrize("text", ["</script><b>", "<!--<script>", "&lt;/script&gt;", "]]>", "\u2028 \ud83d é"])
def test_nothing_in_a_cell_can_end_the_element(tmp_path: Path, text: str) -> None:
    notebook = MadeNotebook("%kvpool new 11", f"%kvpool admit 'a {text}' ABC\n# {text}")
    found = verify_file(report(tmp_path / "report.html", notebook))
    assert (found.holds, says(found)) == (True, [])
    assert embedded(notebook.to_dict()).count("<") == 2


def test_an_edited_cell_or_a_record_taken_out_of_a_report_is_named(tmp_path: Path) -> None:
    path = report(tmp_path / "report.html", made())
    path.write_text(path.read_text().replace("admit r0 ABCDEFG", "admit r0 ABCDEFX", 1))
    assert "cell 2 [2] is stale: what stands in it is not what ran" in says(verify_file(path))
    notebook = made()
    notebook.drop(1)
    assert "pool#1: step 1 is in no cell" in "".join(says(verify_file(report(path, notebook))))


@pytest.mark.parametrize(
    ("page", "why"),
    [
        ("", "has no notebook in it"),
        ("<p>hello</p>", "has no notebook in it"),
        ('<p id="kvnb-record">{}</p>', "has no notebook in it"),
        ('<script id="kvnb-record">{}</script>' * 2, "has several notebooks in it"),
        ('<script id="kvnb-record">{"a</script>', "cannot be read as JSON"),
        ('<script id="kvnb-record">[]</script>', "is no notebook"),
        ('<script id="kvnb-record">{"notebook": 3}</script>', "is no notebook of nbformat 4"),
    ],
)
def test_a_page_that_is_no_report_is_refused_in_one_line(tmp_path: Path, page: str, why: str) -> None:
    path = tmp_path / "page.html"
    path.write_text(page)
    with pytest.raises(JournalError, match=why) as caught:
        verify_file(path)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("name", ["01-pool", "02-memory", "03-watch"])
def test_a_report_of_a_notebook_of_the_repository_holds(tmp_path: Path, name: str) -> None:
    notebook = json.loads((ROOT / "notebooks" / f"{name}.ipynb").read_text())
    path = tmp_path / "report.html"
    path.write_text(PAGE.format(embedded(notebook)))
    found = verify_file(path)
    assert (found.holds, says(found)) == (True, [])
