"""A notebook run from the top in a fresh kernel, with values for its parameters.

Must not know: what becomes of it. The notebook's file stays as it is.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from kvnb.errors import CommandError, JournalError, MissingPackage, counted, nearest, one_line
from kvnb.export.python import literal

TAG, INJECTED = "parameters", "injected-parameters"
TIMEOUT = 600
"""Seconds that one cell may take."""


def executed(notebook: Mapping[str, Any], parameters: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The notebook as it is after every cell ran, in ``folder``; cells that fail do not stop the others.

    Raises CommandError for a name that the cell tagged ``parameters`` does not give, JournalError when there is no kernel
    or it dies, MissingPackage.
    """
    ready = _cleared(notebook)
    if parameters:
        _inject(ready, parameters)
    return _run(ready, folder)


def _cleared(notebook: Mapping[str, Any]) -> dict[str, Any]:
    """A copy without outputs, and without what an earlier run was given."""
    copy: dict[str, Any] = json.loads(json.dumps(notebook))
    copy["cells"] = [cell for cell in copy["cells"] if INJECTED not in _tags(cell)]
    copy["metadata"] = {key: value for key, value in copy.get("metadata", {}).items() if key in ("kernelspec", "language_info")}
    for cell in copy["cells"]:
        cell["source"] = "".join(cell["source"])  # it may be a list of lines
        if cell["cell_type"] == "code":
            cell |= {"outputs": [], "execution_count": None}
            cell.setdefault("metadata", {}).pop("execution", None)
    return copy


def _tags(cell: Mapping[str, Any]) -> list[Any]:
    tags = cell.get("metadata", {}).get("tags", [])
    return tags if isinstance(tags, list) else []


def _inject(notebook: dict[str, Any], parameters: Mapping[str, Any]) -> None:
    """Put a cell with these values after the one tagged ``parameters``. Raises CommandError."""
    places = [place for place, cell in enumerate(notebook["cells"]) if TAG in _tags(cell) and cell["cell_type"] == "code"]
    if not places:
        raise CommandError(f"the notebook has no cell tagged {TAG}: tag the one that gives {', '.join(parameters)}")
    known = list(_assigned(notebook["cells"][places[0]]["source"]))
    for name in parameters:
        if name not in known:
            raise CommandError(f"the notebook has no parameter {one_line(name)}: {nearest(name, known)}")
    source = "\n".join(["# Parameters", *(f"{name} = {literal(value)}" for name, value in parameters.items())])
    cell: dict[str, Any] = {
        "cell_type": "code", "execution_count": None, "metadata": {"tags": [INJECTED]}, "outputs": [], "source": source,
        "id": sha256(source.encode("utf-8", "replace")).hexdigest()[:12],
    }  # fmt: skip
    notebook["cells"].insert(places[0] + 1, cell)


def _assigned(source: str) -> Iterator[str]:
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise CommandError(f"the cell tagged {TAG} is not plain Python, so its names cannot be told") from error
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        # `low, high = 1, 2` gives two.
        flat = (part for target in targets for part in (target.elts if isinstance(target, ast.Tuple) else [target]))
        yield from (part.id for part in flat if isinstance(part, ast.Name))


def _run(notebook: dict[str, Any], folder: Path) -> dict[str, Any]:
    try:
        from jupyter_client.kernelspec import NoSuchKernel
        from nbclient import NotebookClient
        from nbclient.exceptions import CellTimeoutError, DeadKernelError
        from nbformat import from_dict
    except ImportError as error:
        raise MissingPackage.named("nbclient", "running a notebook") from error
    made: Any = from_dict
    node = made(notebook)
    spec = notebook["metadata"].get("kernelspec")
    kernel = spec.get("name") if isinstance(spec, Mapping) else None
    client = NotebookClient(
        node, timeout=TIMEOUT, kernel_name=str(kernel or "python3"), allow_errors=True, record_timing=False,
        coalesce_streams=True, store_widget_state=False, resources={"metadata": {"path": str(folder)}},
    )  # fmt: skip
    try:
        client.execute(env=dict(os.environ), stderr=subprocess.DEVNULL)
    except NoSuchKernel as error:
        raise JournalError(
            f"there is no kernel {one_line(str(kernel))} here: jupyter kernelspec list shows those there are"
        ) from error
    except CellTimeoutError as error:
        raise JournalError(f"a cell took more than {counted(TIMEOUT, 'second')}: the notebook was not run to its end") from error
    except DeadKernelError as error:
        raise JournalError("the notebook's kernel died: run it in JupyterLab to see where") from error
    done: dict[str, Any] = json.loads(json.dumps(node))
    return done
