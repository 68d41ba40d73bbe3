"""The files that are left behind: each says in itself that it is ours, and is written whole or not at all.

A script's first line and a notebook's metadata also have the hash of the rest: a file that somebody has edited since is
theirs. What nobody edits, a page or a PDF, only has the mark.

Must not know: what is in them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from kvnb.errors import JournalError
from kvnb.journal import jsonl
from kvnb.journal.log_file import check_not_in_use

SCRIPT_MARK = "# kvnb-export: 1 "
PAGE_MARK = "<!doctype html>\n<!-- kvnb-export: 1 -->\n"
PDF_MARK = b"\n%kvnb-export: 1\n"
_PDF_HEAD = b"%PDF-"

IsOurs = Callable[[bytes], bool]


def write(path: Path, content: bytes, is_ours: IsOurs, force: bool) -> None:
    """Put ``content`` there, all or nothing. Raises JournalError where it would overwrite what is not ours."""
    check(path, is_ours, force)
    try:
        jsonl.replace(path, [content])
    except OSError as error:
        raise JournalError(f"cannot write {path}: {error.strerror}") from error


def check(path: Path, is_ours: IsOurs, force: bool) -> None:
    """Raises JournalError unless ``path`` is new, empty, ours and as it was written, or ``force``; or while a pool writes it."""
    if path.exists() and not path.is_file():
        raise JournalError(f"cannot write {path}: it is no ordinary file, give another name")
    if not path.parent.is_dir():
        raise JournalError(f"cannot write {path}: there is no folder {path.parent}")
    if path.exists() and not force:
        data = jsonl.read_bytes(path)
        if data and not data.startswith(jsonl.MARK) and not is_ours(data):
            why = "exists and was not exported by kvnb, or was edited since"
            raise JournalError(f"{path} {why}: give another name, or --force to overwrite it")
    check_not_in_use(path)


def seal(text: str) -> str:
    """16 hex digits: the hash of ``text``."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def sealed_script(text: str) -> bytes:
    """A script with the mark as its first line."""
    return f"{SCRIPT_MARK}{seal(text)}\n{text}".encode()


def is_script(data: bytes) -> bool:
    """Whether it is a script of ours that nobody has edited."""
    head, _, rest = data.partition(b"\n")
    return head == (SCRIPT_MARK + seal(rest.decode("utf-8", "replace"))).encode()


def sealed_notebook(notebook: Mapping[str, Any]) -> bytes:
    """A notebook's JSON, with the mark in its metadata."""
    mark = {**notebook["metadata"], "kvnb": {"export": 1, "sources": _sources(notebook["cells"])}}
    return json.dumps({**notebook, "metadata": mark}, sort_keys=True, indent=1, ensure_ascii=True).encode() + b"\n"


def is_notebook(data: bytes) -> bool:
    """Whether it is a notebook of ours whose sources nobody has edited; that it was run since does not matter."""
    try:
        notebook = json.loads(data)
        return bool(notebook["metadata"]["kvnb"] == {"export": 1, "sources": _sources(notebook["cells"])})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False


def _sources(cells: Iterable[Mapping[str, Any]]) -> str:
    # A program that saves a notebook may write a source as a list of lines.
    return seal(json.dumps([[cell["cell_type"], "".join(cell["source"])] for cell in cells]))


def is_page(data: bytes) -> bool:
    """Whether it is an HTML page of ours."""
    return data.startswith(PAGE_MARK.encode())


def is_pdf(data: bytes) -> bool:
    """Whether it is a PDF of ours."""
    return data.startswith(_PDF_HEAD) and data.endswith(PDF_MARK)
