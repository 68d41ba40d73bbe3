"""Make the .ipynb files from the .md files beside them, run in a fresh kernel: ``python notebooks/build.py [FILE.md ...]``.

Equal sources give equal bytes: cell ids come from the cells' text, and nothing that depends on the clock, on the
machine or on widgets is kept.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

HERE = Path(__file__).resolve().parent
# The outputs that are kept come from a CPU, one thread of it: sums are then added in the same order each time.
ENVIRONMENT = {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
LANGUAGE = {"name": "python", "file_extension": ".py", "mimetype": "text/x-python", "pygments_lexer": "ipython3"}


def read_source(path: Path) -> NotebookNode:
    """The notebook that the Markdown file describes, without outputs, its cell ids made from their text."""
    import jupytext  # here, because an image of Binder is without it and runs the .ipynb

    notebook = jupytext.read(path, fmt="md")
    seen: Counter[str] = Counter()
    for cell in notebook.cells:
        text = f"{cell.cell_type}\n{cell.source}"
        cell.id = sha256(f"{text}\n{seen[text]}".encode()).hexdigest()[:12]
        seen[text] += 1
        cell.metadata = {key: value for key, value in cell.metadata.items() if key == "tags"}
    notebook.metadata = {"kernelspec": KERNEL, "language_info": LANGUAGE}
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return nbformat.from_dict(notebook)


def client_for(notebook: NotebookNode, timeout: int = 120) -> NotebookClient:
    """What runs ``notebook`` in a kernel that starts in the project's root, where ``kvnb`` can be imported."""
    os.environ.pop("PYTHONHASHSEED", None)  # the hash of a first block depends on it, as in vLLM
    return NotebookClient(
        notebook,
        timeout=timeout,
        kernel_name=KERNEL["name"],
        record_timing=False,
        coalesce_streams=True,  # else it depends on the clock how the lines of a cell are cut
        store_widget_state=False,
        resources={"metadata": {"path": str(HERE.parent)}},
    )


class Cost(NamedTuple):
    """Seconds until the first picture stands there, seconds in all, and the most memory that the kernel had, in MB.

    ``megabytes`` is 0 where the system does not tell it: only Linux has it under ``/proc``.
    """

    first_picture: float
    seconds: float
    megabytes: float


def run(notebook: NotebookNode) -> Cost:
    """Run all cells in a fresh kernel, from its start on; raises where one fails that is not tagged ``raises-exception``."""
    client = client_for(notebook)
    began, first, most = time.perf_counter(), 0.0, 0.0

    def look(cell: NotebookNode, **_: Any) -> None:
        nonlocal first, most
        most = max(most, _most_memory(client.km.provisioner.pid))
        if not first and any(output.get("data", {}).get("text/html") for output in cell.outputs):
            first = time.perf_counter() - began

    client.on_cell_executed = look
    client.execute(env={**os.environ, **ENVIRONMENT})
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": LANGUAGE})
    return Cost(first, time.perf_counter() - began, most)


def _most_memory(pid: int) -> float:
    status = Path(f"/proc/{pid}/status")
    told = status.read_text().partition("VmHWM:")[2].split() if status.is_file() else []
    return int(told[0]) / 1000 if told else 0.0


def execute(notebook: NotebookNode) -> NotebookNode:
    """The notebook itself, after ``run``."""
    run(notebook)
    return notebook


def build(path: Path) -> Path:
    """Write the executed notebook beside its source."""
    target = path.with_suffix(".ipynb")
    nbformat.write(execute(read_source(path)), target)
    return target


if __name__ == "__main__":
    for source in [Path(name) for name in sys.argv[1:]] or sorted(HERE.glob("*.md")):
        print(build(source).name)
