"""One pool, left behind as a file: which kind, its suffix says.

Must not know: how each kind is written.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kvnb.errors import CommandError, one_line
from kvnb.export import files
from kvnb.journal import Journal
from kvnb.lab import Lab


def _script(journal: Journal, file: str) -> bytes:
    from kvnb.export.script import script

    return files.sealed_script(script(journal))


def _notebook(journal: Journal, file: str) -> bytes:
    from kvnb.export.notebook import notebook

    return files.sealed_notebook(notebook(journal))


def _page(journal: Journal, file: str) -> bytes:
    from kvnb.export.pool_page import pool_page

    return pool_page(journal, file).encode("utf-8", "replace")


_KINDS: dict[str, tuple[Callable[[Journal, str], bytes], files.IsOurs]] = {
    ".py": (_script, files.is_script),
    ".ipynb": (_notebook, files.is_notebook),
    ".html": (_page, files.is_page),
}
SUFFIXES = (".jsonl", *_KINDS)
"""What an export's name may end in."""


def export(lab: Lab, path: str | Path, *, force: bool = False) -> Path:
    """Write the pool to a file, all or nothing; the same journal gives the same bytes.

    ``.jsonl``: its journal. ``.py``: a script that makes it again. ``.ipynb``: a notebook that does, with parameters.
    ``.html``: a page to look at, with the journal in it. ``force`` overwrites what kvnb has not written, or what was edited.
    Raises CommandError for another suffix, JournalError when it cannot be written.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == ".jsonl":
        return lab.save(path, force=force)
    if suffix not in _KINDS:
        known = ", ".join(SUFFIXES)
        raise CommandError(f"cannot export to {one_line(str(path))}: its name has to end in one of {known}")
    make, is_ours = _KINDS[suffix]
    files.check(path, is_ours, force)
    files.write(path, make(lab.journal, path.name), is_ours, force)
    return path
