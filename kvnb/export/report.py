"""One HTML file of a notebook: opens offline, asks no host for anything, and can be verified by whoever gets it.

Must not know: how cells are drawn, and how a kernel runs them.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from kvnb.errors import CommandError, JournalError, one_line, printable
from kvnb.export import files, head
from kvnb.export.cells import Cells, text_of, title_of
from kvnb.export.clean import Images
from kvnb.export.page import Figures, page
from kvnb.journal import jsonl
from kvnb.journal.notebook_file import CellRun, embedded, read_notebook
from kvnb.journal.verification import Verification, verify_cells
from kvnb.version import __version__
from kvnb.views.progress import progress
from kvnb.views.words import count, listed

_KINDS = {
    ".png": ("image/png", b"\x89PNG"), ".jpg": ("image/jpeg", b"\xff\xd8"), ".jpeg": ("image/jpeg", b"\xff\xd8"),
    ".gif": ("image/gif", b"GIF8"), ".webp": ("image/webp", b"RIFF"), ".svg": ("image/svg+xml", b"<"),
}  # fmt: skip
LARGEST_IMAGE = 8 << 20
"""Bytes that an image beside the notebook may have."""


def report(
    notebook: str | Path,
    out: str | Path,
    *,
    execute: bool = False,
    parameters: Mapping[str, Any] | None = None,
    force: bool = False,
    pdf: bool = False,
    say: Callable[[str], object] = lambda line: None,
) -> Path:
    """Write one HTML file, or with ``pdf`` a PDF, of an executed notebook; the same notebook gives the same HTML.

    execute, parameters
        Run the notebook first, in a fresh kernel, with other values for names of the cell that is tagged ``parameters``. Its
        file stays as it is. Cells that fail are named on top of the report.
    force
        Overwrite what kvnb has not written.
    say
        Called with each line that whoever makes the report should know: that cells failed, that it does not verify.
    Raises CommandError, JournalError (no notebook, or a file that is another's) or MissingPackage; nothing is written then.
    """
    notebook, out = Path(notebook), Path(out)
    endings = (".pdf",) if pdf else (".html", ".htm")
    if out.suffix.lower() not in endings:
        raise CommandError(f"a report's name has to end in {endings[0]}, {one_line(str(out))} does not")
    if parameters and not execute:
        raise CommandError("parameters are for a notebook that is run: add execute")
    is_ours = files.is_pdf if pdf else files.is_page
    files.check(out, is_ours, force)
    values = _loaded(notebook)
    if execute:
        from kvnb.export.running import executed

        values = executed(values, parameters or {}, notebook.resolve().parent)
    written = report_page(values, notebook, out.with_suffix(".html").name).encode("utf-8", "replace")
    if pdf:
        from kvnb.export.pdf import printed

        written = printed(written)
    files.write(out, written, is_ours, force)
    for line in _remarks(values, notebook):
        say(line)
    return out


def report_page(notebook: Mapping[str, Any], path: Path, file: str) -> str:
    """The page of a notebook that was read from ``path``, to be called ``file``."""
    cells = read_notebook(notebook)
    name = title_of(notebook) or path.stem
    figures = Figures()
    body = Cells(notebook, figures, _images_in(path.resolve().parent)).html()
    top = "\n".join(filter(None, [*_head(notebook, cells, name, path, file), head.contents(body)]))
    return page(name, top, body, figures, embedded(notebook))


def _loaded(path: Path) -> dict[str, Any]:
    data = jsonl.read_bytes(path)
    if data.startswith(jsonl.MARK):
        file = printable(str(path))
        raise JournalError(f"{file} is a journal and no notebook: kvnb export {file} FILE.html makes its page")
    read_notebook(path)  # which says, in one line, what is wrong with it
    values: dict[str, Any] = json.loads(data)
    if not _is_whole(values):
        raise JournalError(f"{path} is not as nbformat 4 has it, the file is damaged: open it in JupyterLab and save it")
    return values


def _is_whole(notebook: Mapping[str, Any]) -> bool:
    """Whether all that a page is made of is there, and of its kind; to verify a notebook takes less."""
    has_head = isinstance(notebook.get("metadata", {}), Mapping) and isinstance(notebook.get("nbformat_minor"), int)
    return has_head and all(map(_is_cell, notebook["cells"]))


def _is_cell(cell: Mapping[str, Any]) -> bool:
    kinds: dict[str, tuple[type, ...]] = {"cell_type": (str,), "source": (str, list), "metadata": (Mapping,)}
    if not all(isinstance(cell.get(key, {}), kind) for key, kind in kinds.items()):
        return False
    outputs = cell["outputs"] if cell["cell_type"] == "code" else ()
    return all({"ename", "evalue"} <= output.keys() for output in outputs if output["output_type"] == "error")


def _head(notebook: Mapping[str, Any], cells: list[CellRun], name: str, path: Path, file: str) -> list[str]:
    top = [head.title("kvnb report", name, _made(notebook, cells, path)), _failed(notebook, cells)]
    verification = _verified(path, cells)
    if verification is None:
        return [*top, head.says(False, "No cell has a record of a pool: there is nothing to verify.")]
    table = head.checked_pools(verification.journals)
    return [*top, head.verdict(verification), head.how_to_verify(file), table, head.notes(verification)]


def _verified(path: Path, cells: list[CellRun]) -> Verification | None:
    if not any(cell.records for cell in cells):
        return None
    return verify_cells(path, "report", cells, progress)


def _made(notebook: Mapping[str, Any], cells: list[CellRun], path: Path) -> list[str]:
    """What it was made of and with, as the notebook has it."""
    headers = [record.header for cell in cells for record in cell.records if record.header is not None]
    language = notebook.get("metadata", {}).get("language_info", {})
    version = language.get("version") if isinstance(language, Mapping) else None
    written_by = dict.fromkeys(str(header.get("written_by", "")) for header in headers)
    return [
        path.name, count(len(cells), "code cell"), *(written_by or [f"kvnb {__version__}"]),
        f"Python {version}" if version else "", f"rules of {head.RULES}",
    ]  # fmt: skip


def _remarks(notebook: Mapping[str, Any], path: Path) -> list[str]:
    cells = read_notebook(notebook)
    failed = _failures(notebook, cells)
    says = [f"{count(len(failed), 'cell')} failed: {listed([str(cell) for cell in failed], str)}"] if failed else []
    verification = _verified(path, cells)
    return says + ["it does not verify: kvnb verify says why"] * (verification is not None and not verification.holds)


def _failures(notebook: Mapping[str, Any], cells: list[CellRun]) -> list[CellRun]:
    """The cells that failed, apart from those that say that they may."""
    meant = {place for place, cell in enumerate(notebook["cells"], 1) if "raises-exception" in _tags(cell)}
    return [cell for cell in cells if cell.failed and cell.place not in meant]


def _failed(notebook: Mapping[str, Any], cells: list[CellRun]) -> str:
    failed = _failures(notebook, cells)
    points = [head.to_cell(cell.place, f"{cell}: {_error(notebook, cell)}") for cell in failed]
    return head.says(False, f"{count(len(points), 'cell')} failed.", points) if points else ""


def _tags(cell: Mapping[str, Any]) -> list[Any]:
    tags = cell.get("metadata", {}).get("tags", [])
    return tags if isinstance(tags, list) else []


def _error(notebook: Mapping[str, Any], cell: CellRun) -> str:
    outputs = notebook["cells"][cell.place - 1]["outputs"]
    output = next(output for output in outputs if output["output_type"] == "error")
    return f"{output.get('ename')}: {text_of(output.get('evalue', ''))}"[:200]


def _images_in(folder: Path) -> Images:
    """Gives images of this folder, and of those in it; what lies elsewhere is nobody's business."""

    def image(source: str) -> str | None:
        try:
            path = (folder / unquote(source.partition("#")[0])).resolve()
            kind, begins = _KINDS.get(path.suffix.lower(), ("", b""))
            if not kind or folder not in path.parents or not path.is_file() or path.stat().st_size > LARGEST_IMAGE:
                return None
            data = path.read_bytes()
        except (OSError, ValueError):
            return None
        return f"data:{kind};base64,{b64encode(data).decode()}" if data.lstrip().startswith(begins) else None

    return image
