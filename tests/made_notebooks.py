"""Notebooks that are run cell by cell, as a front end and a kernel would do it, without either; the records are real ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from helpers import needs

from kvnb.commands import run_line
from kvnb.errors import KvnbError
from kvnb.lab import Lab
from kvnb.session import Session

RECORD = "application/vnd.kvnb.record+json"


class _Shell:
    """What a recorder of cells needs of IPython's."""

    kernel = None

    def __init__(self) -> None:
        self.listeners: dict[str, Callable[[Any], None]] = {}
        self.outputs: list[dict[str, Any]] = []
        self.events = SimpleNamespace(register=self.listeners.__setitem__, unregister=lambda event, listener: None)
        self.displayhook = SimpleNamespace(exec_result=None, prompt_count=0)
        self.display_pub = SimpleNamespace(publish=self._publish)

    def _publish(self, data: dict[str, Any]) -> None:
        plain = json.loads(json.dumps(data))
        self.outputs.append({"output_type": "display_data", "data": plain, "metadata": {}})


class MadeNotebook:
    """A notebook, and the kernel that runs it.

    cells
        In the form of nbformat.
    """

    def __init__(self, *sources: str, ids: bool = True) -> None:
        self.cells: list[dict[str, Any]] = []
        self._ids = ids
        self.restart()
        self.run(*[self.write(source) for source in sources])

    def restart(self) -> None:
        """A new kernel; what is in the cells stays."""
        cells = needs("kvnb.magics.cells")
        self.session, self._shell = Session(), _Shell()
        self.session.defaults["device"] = "none"
        cells.CellRecorder(self._shell, self.session).register()

    @property
    def lab(self) -> Lab:
        """The pool in use."""
        return self.session.lab()

    def write(self, source: str) -> int:
        """A new cell at the end; gives its index."""
        cell_id = {"id": f"cell-{len(self.cells)}"} if self._ids else {}
        cell = {"cell_type": "code", **cell_id, "source": source, "metadata": {}, "execution_count": None, "outputs": []}
        self.cells.append(cell)
        return len(self.cells) - 1

    def run(self, *indexes: int, history: bool = True) -> None:
        """Run the cells in this order."""
        for index in indexes:
            self._run(self.cells[index], history)

    def _run(self, cell: dict[str, Any], history: bool) -> None:
        self._shell.outputs = outputs = []
        self._shell.displayhook.prompt_count += history
        count = self._shell.displayhook.prompt_count if history else None
        info = SimpleNamespace(raw_cell=cell["source"], store_history=history, silent=False, cell_id=cell.get("id"))
        self._shell.listeners["pre_run_cell"](info)
        error = self._carry_out(cell["source"])
        self._shell.listeners["post_run_cell"](SimpleNamespace(info=info, execution_count=count))
        cell.update(execution_count=count, outputs=[*outputs, *error])

    def _carry_out(self, source: str) -> list[dict[str, Any]]:
        try:
            for line in source.split("\n"):
                if line.startswith("%kvpool "):
                    run_line(self.session, line.removeprefix("%kvpool "), eval)
        except KvnbError as error:
            return [{"output_type": "error", "ename": type(error).__name__, "evalue": str(error), "traceback": [str(error)]}]
        return []

    def records(self, index: int) -> list[dict[str, Any]]:
        """The records that a cell left, to be looked at or changed."""
        return [output["data"][RECORD] for output in self.cells[index]["outputs"] if "data" in output]

    def drop(self, index: int, which: int = 0) -> None:
        """Take a record out of a cell."""
        del self.cells[index]["outputs"][which]

    def to_dict(self) -> dict[str, Any]:
        """The notebook as nbformat has it, independent of this one."""
        values = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": self.cells}
        return dict(json.loads(json.dumps(values)))

    def save(self, path: Path) -> Path:
        """Write it to a file."""
        path.write_text(json.dumps(self.to_dict()))
        return path
