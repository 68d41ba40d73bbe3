"""``kvnb run``: a script of ``%%kvpool`` lines.

Must not know: verbs.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from kvnb.cli.output import Output, error_of, value_of
from kvnb.commands import Outcome, run_script
from kvnb.errors import CommandError, KvnbError
from kvnb.journal.jsonl import step_dict
from kvnb.lab import Lab
from kvnb.results import Generated, StepResult
from kvnb.session import Session

STDIN = "-"


def run_file(out: Output, script: str, log: str | None = None, force: bool = False) -> int:
    """Run a script up to its first error, which names the script and the line; what ran before stays in the log."""
    lines = _read(script)
    session = Session()
    if log is not None:
        _write_first_pool_to(session, log, force)
    try:
        for outcome in run_script(session, lines, _no_value):
            if out.is_json or not outcome.silent:
                _show(out, session, outcome, lines)
        if "log" in session.defaults:
            raise CommandError(f"--log {log} has not been used: no pool was made by `new` without a log of its own")
    except KvnbError as error:
        if out.is_json:
            out.print_json({"error": error_of(error)})
        raise type(error)(f"{'standard input' if script == STDIN else script}: {error}") from error
    finally:
        session.close_all()
    return 0


def _read(script: str) -> str:
    if script == STDIN and sys.stdin is None:
        raise CommandError("standard input is closed: give a script's file, or its lines through a pipe")
    try:
        data = sys.stdin.buffer.read() if script == STDIN else Path(script).read_bytes()
        return data.decode("utf-8-sig")
    except OSError as error:
        raise CommandError(f"cannot read {script}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{script} is not UTF-8 text: give a script, one command a line") from error


def _write_first_pool_to(session: Session, log: str, force: bool) -> None:
    session.defaults |= {"log": log, "force": force}
    place = os.path.realpath(log)

    def taken(lab: Lab) -> None:
        if lab.log_path is not None and os.path.realpath(lab.log_path) == place:
            for option in ("log", "force"):
                session.defaults.pop(option, None)

    session.on_start.append(taken)


def _no_value(source: str) -> Any:
    raise LookupError("a script in a shell has no variables")


def _show(out: Output, session: Session, outcome: Outcome, lines: str) -> None:
    result = outcome.result
    pool = result.lab.name if isinstance(result, StepResult | Generated) else session.current
    steps = result.steps if isinstance(result, Generated) else [result.step] if isinstance(result, StepResult) else []
    says = repr(result)
    values = {
        "line": outcome.line, "command": lines.split("\n")[outcome.line - 1].strip(), "pool": pool,
        "steps": [step_dict(step) for step in steps], "value": value_of(result), "text": says,
    }  # fmt: skip
    out.show(says, values)
