from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from helpers import ROOT, needs
from histories import labs, story_lab
from hypothesis import given, settings

from kvnb import Lab
from kvnb.export import export
from kvnb.export.notebook import notebook
from kvnb.export.running import executed
from kvnb.journal.journal import Cell
from kvnb.journal.verification import verify_file


def sources(made: dict[str, Any]) -> list[str]:
    return [cell["source"] for cell in made["cells"]]


def said(cell: dict[str, Any]) -> str:
    return "".join("".join(output.get("text", "")) or output.get("ename", "") for output in cell["outputs"])


@pytest.fixture
def kernels_find_kvnb(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    needs("nbclient")
    needs("ipykernel")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))


@given(labs())
@settings(max_examples=50, deadline=None)
def test_any_history_is_a_notebook_of_printable_lines_with_ids_of_its_own(lab: Lab) -> None:
    made = notebook(lab.journal)
    assert made == notebook(lab.journal)
    assert len({cell["id"] for cell in made["cells"]}) == len(made["cells"])
    assert all(line.isprintable() for source in sources(made) for line in source.split("\n"))
    assert made["cells"][1]["metadata"]["tags"] == ["parameters"]
    lines = [line for source in sources(made)[4:-1] for line in source.split("\n") if not line.startswith("# ")]
    assert len(lines) == len(lab.journal), "a line a step"


def test_steps_that_one_cell_made_are_in_one_cell() -> None:
    lab = Lab(11, block_size=4, device="none")
    for place, name in enumerate(("a", "b", "c", "d")):
        lab.cell = Cell(5, "0" * 16, None) if place < 2 else None
        lab.admit(name, "ABCD")
    assert sources(notebook(lab.journal))[4:-1] == [
        "%kvpool admit a ABCD\n%kvpool admit b ABCD", "%kvpool admit c ABCD", "%kvpool admit d ABCD",
    ]  # fmt: skip


def test_the_format_is_that_of_notebooks() -> None:
    nbformat = needs("nbformat")
    nbformat.validate(nbformat.from_dict(notebook(story_lab().journal)))


@pytest.mark.slow
def test_run_as_it_is_it_comes_out_as_recorded_and_with_other_parameters_it_says_so(
    tmp_path: Path, kernels_find_kvnb: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    lab = story_lab(name='a "b" `c`\n$d', sliding_window=9)
    made = json.loads(export(lab, tmp_path / "run.ipynb").read_bytes())
    done = executed(made, {}, tmp_path)
    assert said(done["cells"][-1]) == "The digest is the recorded one.\n"
    (tmp_path / "ran.ipynb").write_text(json.dumps(done))
    verification = verify_file(tmp_path / "ran.ipynb")
    assert verification.holds, verification.findings
    assert verification.journals[0].journal.digest == lab.digest
    other = executed(made, {"num_blocks": 40, "sliding_window": None}, tmp_path)
    assert said(other["cells"][-1]).startswith("Other parameters, another experiment: digest ")


@pytest.mark.slow
def test_whatever_a_user_typed_is_typed_again_as_it_was(tmp_path: Path, kernels_find_kvnb: None) -> None:
    lab = Lab(400, block_size=4, device="none", name="<b>'\"\\\n{x} $y")
    odd = [
        "$x",
        "{x}",
        "{1}",
        "-x",
        "--",
        "--all",
        "#",
        "a;",
        "l1\nl2",
        "'''",
        '"""',
        "\\",
        "x?",
        "?",
        "!ls",
        "%kvpool",
        "a  b",
        "\u2028",
        "<i>",
        "é🙂",
    ]
    for place, text in enumerate(odd):
        lab.cell = Cell(place // 4, "0" * 16, None)
        lab.admit(text, text, salt=text)
        lab.append(text, f"{text} {text}", draft=text)
        lab.accept(text, 1)
    lab.release(*odd[:9])
    done = executed(json.loads(export(lab, tmp_path / "odd.ipynb").read_bytes()), {}, tmp_path)
    assert said(done["cells"][-1]) == "The digest is the recorded one.\n"
    assert sorted(found.name for found in tmp_path.iterdir()) == ["ipython", "odd.ipynb"]
