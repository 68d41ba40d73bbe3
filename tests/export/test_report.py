from __future__ import annotations

import json
import os
import shutil
from base64 import b64encode
from html import escape
from pathlib import Path
from typing import Any

import pytest
from helpers import ROOT, needs
from hostile import hostile_lab, hostile_notebook

from kvnb import Lab
from kvnb.errors import CommandError, JournalError, KvnbError, MissingPackage
from kvnb.export import export, pdf
from kvnb.export.report import report
from kvnb.journal import records
from kvnb.journal.verification import verify_file

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
DAMAGED = (
    '{"cell_type": ["markdown"], "source": ""}',
    '{"cell_type": "markdown"}',
    '{"cell_type": "markdown", "source": 1}',
    '{"cell_type": "code", "source": "", "metadata": [], "outputs": []}',
    '{"cell_type": "code", "source": "", "outputs": [{"output_type": "error", "ename": "E"}]}',
)
PIXEL = b"\x89PNG\r\n\x1a\n" + b"0" * 20


@pytest.fixture(autouse=True)
def _readers() -> None:
    needs("nbconvert")


def code(source: str, *outputs: dict[str, Any], tags: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "cell_type": "code", "id": f"c{len(source)}", "metadata": {"tags": list(tags)}, "source": source, "execution_count": 1,
        "outputs": list(outputs),
    }  # fmt: skip


def words(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": f"m{len(source)}", "metadata": {}, "source": source}


def shown(**data: str) -> dict[str, Any]:
    return {
        "output_type": "display_data",
        "metadata": {},
        "data": {name.replace("_", "/"): value for name, value in data.items()},
    }


def failure(name: str, says: str) -> dict[str, Any]:
    return {"output_type": "error", "ename": name, "evalue": says, "traceback": [f"\x1b[31m{name}\x1b[0m: {says}"]}


def page_of(folder: Path, *cells: dict[str, Any], **metadata: Any) -> str:
    path = folder / "lesson.ipynb"
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": list(cells)}))
    return report(path, folder / "lesson.html").read_text()


def main_of(page: str) -> str:
    return page.partition("<main>")[2].partition("</main>")[0]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_same_notebook_gives_the_same_bytes_which_verify_as_the_notebook_does(path: Path, tmp_path: Path) -> None:
    page = report(path, tmp_path / "one.html")
    first = page.read_bytes()
    assert report(path, page).read_bytes() == first
    mine, theirs = verify_file(path), verify_file(page)
    assert theirs.holds
    assert [checked.journal.digest for checked in theirs.journals] == [checked.journal.digest for checked in mine.journals]
    assert [found.name for found in tmp_path.iterdir()] == ["one.html"]


def test_plotly_is_in_a_report_once_and_only_where_a_figure_is(tmp_path: Path) -> None:
    needs("plotly")
    sizes = {path.stem: report(path, tmp_path / f"{path.stem}.html").read_text() for path in NOTEBOOKS}
    assert sizes["03-watch"].count("plotly.js v") == 1
    assert sizes["03-watch"].count('class="kv-plot"') > 3
    assert "plotly.js v" not in sizes["01-pool"]
    assert len(sizes["01-pool"]) < 500_000


def test_the_title_is_the_first_heading_and_stands_there_once(tmp_path: Path) -> None:
    page = page_of(tmp_path, words("# A lesson & more\n\nText."), words("## One\n\n## Two\n\n### Three"))
    assert "<title>A lesson &amp; more</title>" in page
    assert page.count("<h1>A lesson &amp; more</h1>") == 1
    assert "<h1" not in main_of(page)
    assert '<li class="kv-level-2"><a href="#h-Two">Two</a></li>' in page
    assert '<h2 id="h-Two">Two' in main_of(page)


def test_cells_that_failed_are_named_on_top_but_for_those_that_were_meant_to(tmp_path: Path) -> None:
    meant = code("1/0", failure("ZeroDivisionError", "meant"), tags=("raises-exception",))
    page = page_of(tmp_path, code("x", failure("NameError", "x < y")), meant)
    head = page.partition("<main>")[0]
    assert "1 cell failed." in head
    assert '<a href="#kv-cell-1">cell 1 [1]: NameError: x &lt; y</a>' in head
    assert "meant" not in head
    assert '<pre class="kv-error"><span class="ansi-red-fg">NameError</span>: x &lt; y</pre>' in main_of(page)


def test_a_notebook_that_does_not_verify_says_so_with_the_cell(tmp_path: Path) -> None:
    changed = json.loads((ROOT / "notebooks" / "01-pool.ipynb").read_text())
    place, cell = next((p, c) for p, c in enumerate(changed["cells"], 1) if "%kvpool admit r1" in "".join(c["source"]))
    cell["source"] = "%kvpool admit r1 other"
    (tmp_path / "changed.ipynb").write_text(json.dumps(changed))
    page = report(tmp_path / "changed.ipynb", tmp_path / "changed.html")
    head = page.read_text().partition("<main>")[0]
    assert "This does not verify." in head
    assert f'<a href="#kv-cell-{place}">cell {place} ' in head
    assert "is stale" in head
    assert not verify_file(page).holds


def test_a_notebook_without_a_pool_has_a_report_that_says_so(tmp_path: Path) -> None:
    page = page_of(tmp_path, code("print(1)", {"output_type": "stream", "name": "stdout", "text": ["1\n"]}))
    assert "No cell has a record of a pool" in page
    with pytest.raises(JournalError, match="no record of a pool"):
        verify_file(tmp_path / "lesson.html")


def test_each_output_stands_in_its_still_form(tmp_path: Path) -> None:
    body = main_of(page_of(tmp_path, code(
        "x", shown(text_plain="a < b"), shown(text_html="<b>bold</b>", text_plain="no"), shown(text_markdown="*it*"),
        shown(image_png=b64encode(PIXEL).decode()), {"output_type": "stream", "name": "stderr", "text": "careful"},
        {"output_type": "display_data", "metadata": {}, "data": {"application/vnd.jupyter.widget-view+json": {}}},
        {"output_type": "display_data", "metadata": {}, "data": {"image/svg+xml": "<svg/>"}},
    )))  # fmt: skip
    for part in (
        "<pre>a &lt; b</pre>", "<b>bold</b>", "<em>it</em>", 'src="data:image/png;base64,',
        '<pre class="kv-stream kv-stderr">careful</pre>',
        "An output that only a running notebook shows", 'src="data:image/svg+xml;base64,PHN2Zy8+"',
    ):  # fmt: skip
        assert part in body, part
    assert ">no<" not in body


def test_tags_hide_what_they_say(tmp_path: Path) -> None:
    out = shown(text_plain="out")
    body = main_of(page_of(tmp_path, code("aa", out, tags=("hide-input",)), code("bbb", out, tags=("remove-input",))))
    assert body.count("<pre>out</pre>") == 2
    assert '<details class="kv-hidden"><summary>code</summary>' in body
    assert "bbb" not in body


def test_images_beside_the_notebook_come_along_and_no_others(tmp_path: Path) -> None:
    folder = tmp_path / "lessons"
    folder.mkdir()
    (tmp_path / "secret.png").write_bytes(PIXEL)
    (folder / "in.png").write_bytes(PIXEL)
    (folder / "not.png").write_text("a secret that is no image")
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    links = "\n".join(
        f"![{name}]({name})" for name in ("in.png", "../secret.png", "not.png", "link.png", "/etc/passwd", "none.png")
    )
    body = main_of(page_of(folder, words(links)))
    assert body.count("<img ") == 1
    assert "[image: ../secret.png]" in body


def test_hostile_cells_give_the_same_page_twice_and_their_record_holds(tmp_path: Path) -> None:
    (tmp_path / "h.ipynb").write_text(json.dumps(hostile_notebook()))
    first = report(tmp_path / "h.ipynb", tmp_path / "h.html").read_bytes()
    assert report(tmp_path / "h.ipynb", tmp_path / "h.html").read_bytes() == first
    verification = verify_file(tmp_path / "h.html")
    assert verification.holds
    assert verification.journals[0].journal.digest == hostile_lab().digest


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("no json", "JSON"), ("[]", "no notebook"), ('{"cells": []}', "nbformat"), ('{"nbformat": 3, "cells": []}', "nbformat"),
        ('{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{}]}', "cell"),
        ('{"nbformat": 4, "nbformat_minor": 5, "metadata": null, "cells": []}', "damaged"),
        ('{"nbformat": 4, "metadata": {}, "cells": []}', "damaged"),
        *((f'{{"nbformat": 4, "nbformat_minor": 5, "metadata": {{}}, "cells": [{cell}]}}', "damaged") for cell in DAMAGED),
    ],
)  # fmt: skip
def test_what_is_no_notebook_is_one_line_and_writes_nothing(tmp_path: Path, content: str, says: str) -> None:
    (tmp_path / "odd.ipynb").write_text(content)
    with pytest.raises(JournalError, match=says) as caught:
        report(tmp_path / "odd.ipynb", tmp_path / "odd.html")
    assert str(caught.value).isprintable()
    assert not (tmp_path / "odd.html").exists()


def test_files_of_others_are_not_overwritten(tmp_path: Path) -> None:
    shutil.copy(NOTEBOOKS[0], tmp_path / "n.ipynb")
    (tmp_path / "n.html").write_text("<!doctype html>mine")
    with pytest.raises(JournalError, match="--force"):
        report(tmp_path / "n.ipynb", tmp_path / "n.html")
    with pytest.raises(CommandError, match=r"has to end in \.html"):
        report(tmp_path / "n.ipynb", tmp_path / "n.ipynb", force=True)
    report(tmp_path / "n.ipynb", tmp_path / "n.html", force=True)


def test_a_pool_page_has_every_step_of_its_pool_and_verifies(tmp_path: Path) -> None:
    lab = Lab(11, block_size=4, device="none", name="<b>")
    empty = export(lab, tmp_path / "empty.html")
    assert verify_file(empty).journals[0].journal.digest == lab.digest
    lab.admit("r0", "ABCDEFGHIJKLMNO")
    lab.undo()
    page = export(lab, tmp_path / "pool.html")
    assert page.read_text().count('<td class="kv-number">') == 2
    assert "<h1>The pool &lt;b&gt;</h1>" in page.read_text()
    verification = verify_file(page)
    assert verification.holds
    assert not verification.findings
    assert records.MIME in page.read_text()


@pytest.mark.parametrize(
    ("file", "typed"), [("a b's.html", "'a b'\"'\"'s.html'"), ("-a.html", "./-a.html"), ("a.html", "a.html")]
)
def test_a_page_says_how_it_is_verified_as_a_shell_takes_it(tmp_path: Path, file: str, typed: str) -> None:
    page = export(Lab(11, device="none"), tmp_path / file)
    assert f"<code>kvnb verify {escape(typed)}</code>" in page.read_text()
    assert "What else stands on this page, text and pictures, is not compared." in page.read_text()


@pytest.mark.slow
def test_executed_with_parameters_it_is_another_experiment_and_the_notebook_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs("nbclient")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    parameters = code("n = 11  # blocks\nname: str = 'a'\nlow, high = 1, 2", tags=("parameters",))
    cells = [
        parameters,
        code("%reload_ext kvnb"),
        code("%kvpool new $n --device none"),
        code("%kvpool admit r0 ABCD"),
        code("1/0"),
    ]
    path = tmp_path / "lesson.ipynb"
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}))
    before = path.read_bytes()
    pages = [report(path, tmp_path / "out.html", execute=True, parameters={"n": 21, "high": 3}).read_bytes() for _ in range(2)]
    assert pages[0] == pages[1]
    assert path.read_bytes() == before
    assert verify_file(tmp_path / "out.html").journals[0].journal.behaviour.num_blocks == 21
    assert "1 cell failed." in pages[0].decode()
    assert 'n</span> <span class="o">=</span> <span class="mi">21' in pages[0].decode()
    with pytest.raises(CommandError, match="no parameter 'm'"):
        report(path, tmp_path / "out.html", execute=True, parameters={"m": 1})
    with pytest.raises(CommandError, match="add execute"):
        report(path, tmp_path / "out.html", parameters={"n": 1})


def test_a_pdf_without_a_browser_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "BROWSERS", ("no-such-browser",))
    with pytest.raises(MissingPackage, match="a PDF needs Chromium or Chrome") as caught:
        report(NOTEBOOKS[0], tmp_path / "n.pdf", pdf=True)
    assert isinstance(caught.value, KvnbError)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.browser
def test_a_pdf_is_printed_where_there_is_a_browser(tmp_path: Path) -> None:
    if not any(map(shutil.which, pdf.BROWSERS)):
        assert os.environ.get("CI") != "true", "CI needs Chromium"
        pytest.skip("needs Chromium: apt-get install chromium")
    for _ in range(2):
        printed = report(NOTEBOOKS[1], tmp_path / "n.pdf", pdf=True)
        assert printed.read_bytes().startswith(b"%PDF-")
    assert [found.name for found in tmp_path.iterdir()] == ["n.pdf"]
