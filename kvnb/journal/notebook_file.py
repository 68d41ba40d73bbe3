"""The cells of a notebook and the records in them, from the notebook's file or from a report that was made of it.

A report has the notebook in ``<script type="application/json" id="kvnb-record">{"notebook": ...}</script>``, every ``<`` in it
written as ``\\u003c``, so that nothing in a cell can end the element.

Must not know: what the records add up to. Only the form of nbformat 4 is needed, not the package.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

from kvnb.errors import JournalError
from kvnb.journal import records
from kvnb.journal.jsonl import read_bytes
from kvnb.journal.records import Record

ELEMENT = "kvnb-record"
"""The id of the element of a report that has the notebook."""


class CellRun(NamedTuple):
    """A code cell as it stands in the notebook.

    place
        Its place among all cells, from 1.
    execution_count
        The number that the front end shows beside it; None: not run, or not noted.
    failed
        Whether its output ends in an error.
    """

    place: int
    cell_id: str | None
    source: str
    execution_count: int | None
    failed: bool
    records: tuple[Record, ...]

    def __str__(self) -> str:
        return f"cell {self.place}" + (f" [{self.execution_count}]" if self.execution_count is not None else "")


def read_notebook(notebook: Path | Mapping[str, Any]) -> list[CellRun]:
    """The code cells of a notebook: a file, or what is in one. Raises JournalError for what is no notebook of nbformat 4."""
    if isinstance(notebook, Path):
        return _cells(_loaded(read_bytes(notebook), str(notebook)), str(notebook))
    return _cells(notebook, "the notebook")


def read_report(path: Path) -> list[CellRun]:
    """The code cells of the notebook in a report. Raises JournalError for a file that has none, or several."""
    found = _Elements()
    found.feed(read_bytes(path).decode("utf-8", "replace"))
    found.close()
    if len(found.texts) != 1:
        many = "several notebooks" if found.texts else "no notebook"
        raise JournalError(f"{path} has {many} in it: give a report made by kvnb report")
    return _cells(_loaded(found.texts[0].encode(), str(path)).get("notebook"), str(path))


def essence(notebook: Mapping[str, Any]) -> dict[str, Any]:
    """What verification needs of a notebook, and nothing bulky: sources, ids, numbers, records, and which cell failed."""
    cells = [_cell_essence(cell) for cell in notebook["cells"]]
    return {"nbformat": notebook["nbformat"], "nbformat_minor": notebook["nbformat_minor"], "metadata": {}, "cells": cells}


def embedded(notebook: Mapping[str, Any]) -> str:
    """The element for a report's page, with the essence of ``notebook``; the same bytes for the same notebook."""
    text = json.dumps({"notebook": essence(notebook)}, sort_keys=True, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" id="{ELEMENT}">{text}</script>'


def _cell_essence(cell: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: cell[key] for key in ("id", "cell_type", "source", "execution_count") if key in cell} | {"metadata": {}}
    if cell["cell_type"] == "code":
        outputs = (_output_essence(output) for output in cell.get("outputs", ()))
        kept["outputs"] = [output for output in outputs if output]
    return kept


def _output_essence(output: Mapping[str, Any]) -> dict[str, Any] | None:
    if output["output_type"] == "error":
        return {"output_type": "error", "ename": output["ename"], "evalue": output["evalue"], "traceback": []}
    record = output.get("data", {}).get(records.MIME)
    return {"output_type": "display_data", "data": {records.MIME: record}, "metadata": {}} if record else None


class _Elements(HTMLParser):
    """The texts of the elements that have a notebook."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._is_inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look whether this is one."""
        self._is_inside = tag == "script" and dict(attrs).get("id") == ELEMENT
        if self._is_inside:
            self.texts.append("")

    def handle_endtag(self, tag: str) -> None:
        """It has ended."""
        self._is_inside = False

    def handle_data(self, data: str) -> None:
        """Its text comes in parts."""
        if self._is_inside:
            self.texts[-1] += data


def _loaded(data: bytes, what: str) -> dict[str, Any]:
    try:
        values = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise JournalError(f"{what} cannot be read as JSON, the file is damaged") from error
    if not isinstance(values, dict):
        raise JournalError(f"{what} is no notebook: give a file that JupyterLab has saved")
    return values


def _cells(notebook: Any, what: str) -> list[CellRun]:
    if not isinstance(notebook, Mapping) or not isinstance(notebook.get("cells"), list):
        raise JournalError(f"{what} is no notebook of nbformat 4: open it in JupyterLab and save it")
    if notebook.get("nbformat") != 4:
        raise JournalError(f"{what} has nbformat {notebook.get('nbformat')!r}, this kvnb reads 4: save it in JupyterLab")
    try:
        return [_cell(cell, place, what) for place, cell in enumerate(notebook["cells"], 1) if cell["cell_type"] == "code"]
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise JournalError(f"{what}: a cell in it is none of nbformat 4, the file is damaged") from error


def _cell(cell: Mapping[str, Any], place: int, what: str) -> CellRun:
    cell_id, source, number, outputs = cell.get("id"), cell["source"], cell.get("execution_count"), cell["outputs"]
    source = source if isinstance(source, str) else "".join(source)
    if not isinstance(number, int | None) or not isinstance(cell_id, str | None):
        raise TypeError("an id or number of another kind")
    bundles = [output["data"] for output in outputs if "data" in output]
    found = tuple(
        records.read(data[records.MIME], f"{what}: cell {place}") for data in bundles if data.get(records.MIME) is not None
    )
    return CellRun(place, cell_id, source, number, any(output["output_type"] == "error" for output in outputs), found)
