"""What ``kvnb report`` tells whoever makes one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers import needs
from made_notebooks import MadeNotebook

from kvnb.cli import main


def written(path: Path, notebook: dict[str, Any]) -> str:
    path.write_text(json.dumps(notebook))
    return str(path)


def test_a_report_of_a_notebook_with_a_failed_cell_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    needs("nbconvert")
    error = {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": []}
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "source": "f()", "execution_count": 1, "outputs": [error]}
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}
    assert main(["report", written(tmp_path / "failed.ipynb", notebook), "-o", str(tmp_path / "page.html")]) == 0
    assert "1 cell failed: cell 1 [1]" in capsys.readouterr().out


def test_a_report_that_does_not_verify_says_so_and_one_that_does_says_nothing_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    needs("nbconvert")
    notebook = MadeNotebook("%kvpool new 11 --device none", "%kvpool admit r0 ABCDE").to_dict()
    page = str(tmp_path / "page.html")
    assert main(["report", written(tmp_path / "made.ipynb", notebook), "-o", page]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1
    notebook["cells"][1]["source"] = "%kvpool admit r0 ABCDEFGH"
    assert main(["report", written(tmp_path / "made.ipynb", notebook), "-o", page]) == 0
    assert "it does not verify: kvnb verify says why" in capsys.readouterr().out
