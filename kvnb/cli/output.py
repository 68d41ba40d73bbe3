"""What the shell's commands print: text, or with ``--json`` one object a line.

The objects, of which fields may become more::

    run     {"line": n, "command": "admit r0 ABC", "pool": name, "steps": [...], "value": ..., "text": "..."} a command,
            and where it stops {"error": {"kind": "UnknownName", "says": "..."}}
    verify  {"file": ..., "kind": "journal", "holds": true, "journals": [...], "findings": [...]} a file, see ``Verification``,
            or {"file": ..., "holds": false, "error": {...}}
    replay  a step, as it stands in a journal file
    log     a row
    looks   {"file": ..., "verb": "show", "arguments": {...}, "pool": name, "steps": how many, "digest": ..., "value": ...,
            "text": "..."}
    export, report   {"file": the new one, "text": "..."}; a report also has "remarks": what its maker should know

``steps`` of a command are the steps it made, as they stand in a journal file; ``value`` is what was looked at, as far as it is
numbers and names, else null; ``text`` is what is printed without ``--json``.

Must not know: commands.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

from kvnb.errors import KvnbError
from kvnb.journal import Journal, State
from kvnb.views.shown import Shown

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Output:
    """Standard output, in one of the two forms. Every result is out before the next one is made."""

    def __init__(self, is_json: bool = False) -> None:
        self.is_json = is_json

    def show(self, text: str, values: Mapping[str, Any]) -> None:
        """Print a result: its text, or its values."""
        self.print_json(values) if self.is_json else self.print(text)

    def print(self, text: str) -> None:
        """Print a text; should a view have let a control character through, a terminal does not get it."""
        print(_CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text), flush=True)

    def print_json(self, values: Mapping[str, Any]) -> None:
        """Print an object in one line."""
        print(json.dumps(plain(values), separators=(",", ":")), flush=True)


def value_of(result: Any) -> Any:
    """What a look looked at, as plain values; None where it is nothing plain, as a figure."""
    # A timeline makes its figure, with plotly, when it is asked for its value.
    value = vars(result).get("value") if isinstance(result, Shown) else None
    return None if isinstance(value, Journal | Shown) or not _is_plain(value) else plain(value)


def error_of(error: KvnbError) -> dict[str, str]:
    """An error as plain values."""
    return {"kind": type(error).__name__, "says": str(error)}


def _is_plain(value: Any) -> bool:
    return is_dataclass(value) or isinstance(value, State | Mapping | tuple | list | str | int | float)


def plain(value: Any) -> Any:
    """``value`` as JSON has it: names and numbers, lists and objects."""
    if isinstance(value, State):
        return _state(value)
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(key): plain(held) for key, held in value.items()}
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, tuple | list):
        return [plain(held) for held in value]
    return value if value is None or isinstance(value, str | int | float) else str(value)


def _state(state: State) -> dict[str, Any]:
    requests = {
        name: {"state": request.state, "tokens": request.num_tokens, "block_table": list(request.table)}
        for name, request in state.requests.items()
    }
    cached = [block_id for block_id, key in enumerate(state.keys) if key is not None]
    return {"usage": state.usage, "free_queue": list(state.queue), "cached": cached, "requests": requests}
