"""The verb that leaves a pool behind as a file.

Must not know: what stands in the file.
"""

from __future__ import annotations

from kvnb.commands.verb import Arg, Verb, name
from kvnb.errors import printable
from kvnb.session import Session
from kvnb.views.shown import Shown, note_shown
from kvnb.views.words import count


def _export(session: Session, file: str, force: bool = False, pool: str | None = None) -> Shown:
    from kvnb.export import export

    lab = session.lab(pool)
    path = export(lab, file, force=force)
    steps, size = count(len(lab.journal), "step"), count(path.stat().st_size, "byte")
    return note_shown(f"{steps} exported to {printable(str(path))} ({size}), digest {lab.digest[:12]}", path)


LEAVING = (
    Verb(
        "export", "manages", "leave the pool behind: .py a script, .ipynb a notebook, .html a page, .jsonl its journal",
        (
            Arg("file", "the file; its suffix says what it becomes", name, required=True, suggest="file"),
            Arg("force", "overwrite a file that kvnb has not written, or that was edited since", option=True),
        ),
        _export, ("export run.py", "export run.ipynb", "export run.html"),
    ),
)  # fmt: skip
