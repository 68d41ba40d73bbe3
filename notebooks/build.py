"""Make the .ipynb files from the .md files beside them, run in a fresh kernel: ``python notebooks/build.py [FILE.md ...]``.

Equal sources give equal bytes: cell ids come from the cells' text, and nothing that depends on the clock, on the
machine or on widgets is kept.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from hashlib import sha256
from pathlib import Path

import jupytext
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


def execute(notebook: NotebookNode) -> NotebookNode:
    """Run all cells in a fresh kernel; raises where one fails that is not tagged ``raises-exception``."""
    client_for(notebook).execute(env={**os.environ, **ENVIRONMENT})
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": LANGUAGE})
    return notebook


def build(path: Path) -> Path:
    """Write the executed notebook beside its source."""
    target = path.with_suffix(".ipynb")
    nbformat.write(execute(read_source(path)), target)
    return target


if __name__ == "__main__":
    for source in [Path(name) for name in sys.argv[1:]] or sorted(HERE.glob("*.md")):
        print(build(source).name)
