"""A notebook as a source, as a saved file, and as it comes out of a kernel; what a reader of plain text sees in it."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

from helpers import ROOT, needs, script

nbformat = needs("nbformat")
needs("jupytext")
needs("nbclient")

NOTEBOOKS = ROOT / "notebooks"
RECORD = "application/vnd.kvnb.record+json"
_FLOAT = re.compile(r"\d+\.\d+(?:e[-+]\d+)?")


build: Any = script(NOTEBOOKS / "build.py")


class NotebookFile:
    """``notebooks/NAME.md`` and the ``.ipynb`` that is made from it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.text = NOTEBOOKS / f"{name}.md"
        self.path = self.text.with_suffix(".ipynb")

    def source(self) -> Any:
        """The notebook without outputs."""
        return build.read_source(self.text)

    def saved(self) -> Any:
        """The notebook in the repository, with its outputs."""
        return nbformat.read(self.path, as_version=4)

    def run(self) -> Run:
        """The notebook out of a fresh kernel, and what that took."""
        notebook = self.source()
        return Run(notebook, build.run(notebook))

    def executed_with(self, **values: int) -> Any:
        """Out of a fresh kernel, with a cell of other values behind the tagged one, as papermill puts it there."""
        notebook = self.source()
        place = next(i for i, cell in enumerate(notebook.cells) if "parameters" in cell.metadata.get("tags", ()))
        source = "\n".join(f"{name} = {value}" for name, value in values.items())
        cell = nbformat.v4.new_code_cell(source, metadata={"tags": ["injected-parameters"]}, id="injected")
        notebook.cells.insert(place + 1, cell)
        return build.execute(notebook)

    def answered(self, answers: Mapping[str, Sequence[str]], first: int | None = None) -> dict[str, list[str]]:
        """What is said below the cell of each of these lines, with one answer after the other in the line's place.

        All of them are tried in one kernel, each where its cell stands.

        first
            How many code cells, from the first one on, are enough for them; the others are not run.
        """
        notebook = self.source()
        tried = {line: list(_with(notebook, line, given)) for line, given in answers.items()}
        if first is not None:
            notebook.cells = [*code_cells(notebook)[:first], *(cell for cells in tried.values() for cell in cells)]
        build.execute(notebook)
        return {line: [shown_below(cell)[-1].removeprefix("stdout: ").strip() for cell in cells] for line, cells in tried.items()}

    def run_all(self, times: int) -> list[Any]:
        """The notebook after each run, all runs in one kernel."""
        notebook = self.source()
        client = build.client_for(notebook)
        with client.setup_kernel(env={**os.environ, **build.ENVIRONMENT}):
            runs = []
            for _ in range(times):
                for index, cell in enumerate(notebook.cells):
                    client.execute_cell(cell, index)
                runs.append(deepcopy(notebook))
        return runs


class Run(NamedTuple):
    """A notebook that was run, and its ``Cost``."""

    notebook: Any
    cost: Any


Fresh = Callable[[str], Run]


def _with(notebook: Any, line: str, answers: Sequence[str]) -> Iterator[Any]:
    """Puts a cell an answer in the place of the one cell with this line."""
    [place] = [place for place, cell in enumerate(notebook.cells) if cell.cell_type == "code" and line in cell.source]
    asked = notebook.cells.pop(place)
    for number, answer in enumerate(answers):
        source = asked.source.replace(line, answer, 1)
        cell = nbformat.v4.new_code_cell(source, id=f"{asked.id}-{number}", metadata=asked.metadata)
        notebook.cells.insert(place + number, cell)
        yield cell


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def errors(notebook: Any) -> list[Any]:
    """The code cells that ended in an error."""
    return [cell for cell in code_cells(notebook) if any(output.output_type == "error" for output in cell.outputs)]


def shown(notebook: Any) -> list[list[str]]:
    """What a reader of plain text sees below each code cell."""
    return [shown_below(cell) for cell in code_cells(notebook)]


def shown_below(cell: Any) -> list[str]:
    return [text for output in cell.outputs if (text := _plain(output))]


def _plain(output: Any) -> str:
    if output.output_type == "stream":
        return f"{output.name}: {output.text}"
    if output.output_type == "error":
        return f"{output.ename}: {output.evalue}"
    return str(output.data.get("text/plain", ""))


def without_count(outputs: Any) -> Any:
    """The outputs without the number of the run."""
    kept = deepcopy(outputs)
    for output in kept:
        output.pop("execution_count", None)
        output.get("data", {}).get(RECORD, {}).pop("execution_count", None)
    return kept


def same_but_for_rounding(one: str, other: str, rounding: float = 1e-5) -> bool:
    """Equal texts, where a number with a point may be off by one in its last digit, and one below ``rounding`` be any such.

    Another processor adds in another order: differences of a millionth come out otherwise, norms hardly.
    """
    if _FLOAT.sub("#", one) != _FLOAT.sub("#", other):
        return False
    pairs = zip(_FLOAT.findall(one), _FLOAT.findall(other), strict=True)
    return all(abs(float(a) - float(b)) <= max(rounding, 1.01 * _last_digit(a), 1.01 * _last_digit(b)) for a, b in pairs)


def _last_digit(number: str) -> float:
    digits, _, exponent = number.partition("e")
    return math.pow(10, int(exponent or 0) - len(digits.partition(".")[2]))
