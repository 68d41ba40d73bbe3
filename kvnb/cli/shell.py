"""Where the shell's ``kvnb`` begins and ends: words in, an exit code out, whatever happens in one line.

Exit codes: 0; 1 for an error, or what does not hold; 2 for wrong usage, or a file that cannot be read; 130 for an interrupt;
141 when whoever read the output has gone.

Must not know: which commands there are. What is heavy is imported once it is clear what is asked for.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from kvnb.errors import KvnbError
from kvnb.version import __version__

INTERRUPTED, NO_READER = 130, 141


def main(words: Sequence[str] | None = None) -> int:
    """Run ``kvnb WORDS...`` (by default those of the command line) and give the exit code."""
    try:
        _print_what_cannot_be_encoded_as_escapes()
        code = _run(list(sys.argv[1:] if words is None else words))
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except BrokenPipeError:
        _close_output()
        return NO_READER
    except KeyboardInterrupt as interrupt:
        return _failed(str(interrupt) or "interrupted", INTERRUPTED)
    except KvnbError as error:
        return _failed(str(error), error.exit_code)
    except OSError as error:
        # What a command reads or writes raises a KvnbError; this is the output itself, on a full disk.
        _close_output()
        return _failed(f"cannot write the output: {error.strerror}", 1)


def _run(words: list[str]) -> int:
    if words[:1] == ["--version"]:
        print(f"kvnb {__version__}")
        return 0
    from kvnb.cli.table import run

    return run(words)


def _failed(says: str, code: int) -> int:
    with suppress(OSError):
        if sys.stdout is not None:
            sys.stdout.flush()
    print(f"kvnb: {says}", file=sys.stderr)
    return code


def _print_what_cannot_be_encoded_as_escapes() -> None:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _close_output() -> None:
    """Let the interpreter, which flushes at its end, find nothing to complain of."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
