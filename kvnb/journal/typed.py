"""What the source of a cell says that it does: how many steps and pools, at least, once it has run to its end.

Must not know: records. Only lines that are sure to run are counted: commands at the beginning of a line, and those of a script.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

CHANGES = (
    "accept", "admit", "append", "corrupt", "decode", "evict", "generate", "preempt", "prefill", "release", "reset", "reweight",
    "step", "undo",
)  # fmt: skip
"""The verbs that make a step, or more."""
STARTS = ("new", "load", "fork")
"""The verbs that make a pool."""

_LINE = re.compile(r"(?:[\w, ]+=\s*)?%kvpool\s+(.*)")
_HELP = re.compile(r"(?:^|\s)(?:-h|--help)\s*;?\s*$|\?\s*$")
_SCRIPT = re.compile(r"\s*(?:--into[ =]\S+\s*)?;?\s*(?:--into[ =]\S+\s*)?")
_TRANSPARENT = ("%%capture", "%%time", "%%prun")
"""Cell magics that run their body as it is, once."""


class Typed(NamedTuple):
    """At least so many steps, and pools made."""

    steps: int = 0
    pools: int = 0

    def __bool__(self) -> bool:
        return self != Typed()


def typed(source: str) -> Typed:
    """What the cell with this source does at least, unless it fails."""
    verbs = [words[0] for line in _commands(source) if not _HELP.search(line) and (words := line.split())]
    return Typed(sum(verb in CHANGES for verb in verbs), sum(verb in STARTS for verb in verbs))


def _commands(source: str) -> list[str]:
    lines = source.split("\n")
    if lines[0].startswith("%%kvpool"):
        first = lines[0].removeprefix("%%kvpool")
        # With a verb in the first line, the body is its prompt.
        return [line.strip() for line in lines[1:]] if _SCRIPT.fullmatch(first) else [_SCRIPT.sub("", first, count=1)]
    if lines[0].startswith("%%") and not lines[0].startswith(_TRANSPARENT):
        return []
    # A text over several lines may have any line in it.
    if '"""' in source or "'''" in source:
        return []
    # Nor is a line that goes on with the one before it a command.
    begins = (line for before, line in pairwise(["", *lines]) if not before.endswith("\\"))
    return [match[1] for line in begins if (match := _LINE.match(line))]
