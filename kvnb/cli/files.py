"""The shell's commands on files: verify, replay, look, export, report.

Must not know: how a file is read, and how what is in it is drawn.
"""

from __future__ import annotations

import json
import sys
from ast import literal_eval
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kvnb.cli.output import Output, error_of, plain, value_of
from kvnb.commands.table import VERBS
from kvnb.commands.verb import Verb
from kvnb.errors import CommandError, JournalError, printable
from kvnb.journal import Journal, jsonl
from kvnb.journal.frames import table
from kvnb.journal.jsonl import step_dict
from kvnb.journal.verification import Verification, verify_file
from kvnb.lab import Lab
from kvnb.session import Session
from kvnb.views.progress import progress
from kvnb.views.shown import Shown
from kvnb.views.verdicts import verification_text
from kvnb.views.words import count, short

HOLDS, DIFFERS, UNREADABLE = 0, 1, 2


def verify(out: Output, files: Sequence[str]) -> int:
    """Verify every file, the others too when one does not hold; the code is the worst of theirs."""
    return max(_verify(out, file) for file in files)


def _verify(out: Output, file: str) -> int:
    try:
        verification = verify_file(Path(file), progress)
    except JournalError as error:
        if out.is_json:
            out.print_json({"file": file, "holds": False, "error": error_of(error)})
        _warn(str(error))
        return UNREADABLE if isinstance(error.__cause__, OSError) else DIFFERS
    out.show(_verdict_text(verification, file), verification.to_dict())
    return HOLDS if verification.holds else DIFFERS


def _verdict_text(verification: Verification, file: str) -> str:
    """One line where all holds and nothing is odd, else the whole story."""
    says = verification_text(verification, printable(file))
    odd = verification.findings or any(checked.findings for checked in verification.journals)
    return says if odd or not verification.holds else says.split("\n", 1)[0]


def replay(out: Output, file: str) -> int:
    """Run a journal again and tell its story; with ``--json``, its steps."""
    told = VERBS["replay"].run(Session(), file=file)
    assert isinstance(told.value, Journal)
    if not out.is_json:
        out.print(told.text)
        return 0
    for step in told.value.steps:
        out.print_json(step_dict(step))
    return 0


def look(verb: Verb, out: Output, file: str, model: str | None = None, **given: Any) -> int:
    """A look at the pool of a journal file, which stays as it is. What is checked and does not hold gives 1.

    model
        For a proof: where the journal's model is now.
    """
    session = Session()
    # Only a proof computes anything; every other look does without the memory.
    lab = _load(session, file, device=None if verb.name == "prove" else "none", model=model)
    shown = verb.run(session, **given)
    _show_look(out, verb.name, file, given, lab, shown)
    checked = shown.value if verb.name == "check" else [shown.value] if verb.name == "prove" else []
    return HOLDS if all(found.holds for found in checked) else DIFFERS


def diff(out: Output, file: str, a: int | str, b: int | None = None) -> int:
    """Two steps of a journal, or two journals."""
    if isinstance(a, int) == (b is None):
        raise CommandError("diff needs a journal file and two of its steps, or two journal files")
    if isinstance(a, int):
        return look(VERBS["diff"], out, file, a=a, b=b)
    session = Session()
    # Most pools are called pool: here each is called by its file.
    lab = _load(session, file, name=file)
    _load(session, a, name=a)
    _show_look(out, "diff", file, {"a": a}, lab, VERBS["diff"].run(session, a=file, b=a))
    return HOLDS


def _load(session: Session, file: str, device: str | None = "none", name: str | None = None, model: str | None = None) -> Lab:
    lab, _ = session.load(file, copy=True, device=device, name=name, model=model)
    if lab.torn_bytes:
        _warn(f"{file}: an unfinished line at its end ({count(lab.torn_bytes, 'byte')}) was left out")
    return lab


def _show_look(out: Output, verb: str, file: str, arguments: dict[str, Any], lab: Lab, shown: Shown) -> None:
    values = {
        "file": file, "verb": verb, "arguments": arguments, "pool": lab.name, "steps": len(lab.journal), "digest": lab.digest,
        "value": value_of(shown), "text": shown.text,
    }  # fmt: skip
    out.show(shown.text, values)


def export(out: Output, journal: str, file: str, force: bool = False) -> int:
    """The pool of a journal file as another kind of file."""
    session = Session()
    _load(session, journal)
    shown = VERBS["export"].run(session, file=file, force=force)
    out.show(shown.text, {"file": file, "text": shown.text})
    return 0


def report(
    out: Output,
    notebook: str,
    output: str | None = None,
    execute: bool = False,
    parameter: Sequence[tuple[str, str]] = (),
    pdf: bool = False,
    force: bool = False,
) -> int:
    """One page of a notebook."""
    from kvnb.export.report import report

    if parameter and not execute:
        raise CommandError("-p gives values to a notebook that is run: add --execute")
    named = Path(notebook) if Path(notebook).name else Path("report")  # `.` and `/` have no name, and are refused when read
    path = Path(output) if output else named.with_suffix(".pdf" if pdf else ".html")
    values = {name: _value(text) for name, text in parameter}
    remarks: list[str] = []
    report(Path(notebook), path, execute=execute, parameters=values or None, force=force, pdf=pdf, say=remarks.append)
    says = f"{printable(notebook)}: report {printable(str(path))} ({count(path.stat().st_size, 'byte')})"
    lines = "\n".join([says, *(f"  {remark}" for remark in remarks)])
    out.show(lines, {"file": str(path), "text": says, "remarks": remarks})
    return 0


def _value(text: str) -> Any:
    """A parameter's value as Python writes it, as a number or True; what is none is a text."""
    try:
        return literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text


def log(out: Output, file: str, rows: str = "steps") -> int:
    """The journal as a table of text, which needs no pandas; columns without anything in them are left out."""
    names, found = table(jsonl.read(Path(file), lambda lines: progress(lines, "read")).journal, rows)
    if out.is_json:
        for row in found:
            out.print_json(row)
        return 0
    used = [name for name in names if any(_cell(row[name]) for row in found)]
    cells = [used, *([_cell(row[name]) for name in used] for row in found)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        out.print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    return 0


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, str | int):
        return short(str(value), 40)
    return short(json.dumps(plain(value)), 60) if value else ""


def _warn(says: str) -> None:
    print(f"kvnb: {printable(says)}", file=sys.stderr, flush=True)
