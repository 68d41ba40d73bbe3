"""The requests of a pool as rows: the youngest, of a long block table the two ends.

Must not know: pixels.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from kvnb.journal import State
from kvnb.journal.state import RequestState
from kvnb.views.canvas.frames import Colours
from kvnb.views.text import tokens_text
from kvnb.views.words import count, short

MOST, HEAD, TAIL, NAMED = 12, 28, 4, 8
"""Rows; ids of a table's front and of its back; requests named in the legend of the map."""


def rows(state: State, colours: Colours) -> dict[str, Any]:
    """``rows``, youngest last, and ``earlier``: how many are left out before them."""
    names = list(islice(reversed(state.requests), MOST))[::-1]
    return {
        "rows": [_row(name, state.requests[name], colours) for name in names],
        "earlier": len(state.requests) - len(names),
    }


def _row(name: str, request: RequestState, colours: Colours) -> dict[str, Any]:
    table = request.table
    hidden = max(0, len(table) - HEAD - TAIL)
    return {
        "name": short(name, 24), "colour": colours.number(name), "tokens": _tokens(request), "note": _note(request),
        "head": table[:HEAD] if hidden else table[:], "hidden": hidden, "tail": table[-TAIL:] if hidden else [],
    }  # fmt: skip


def _tokens(request: RequestState) -> str:
    """As in the tables, with a comma in large numbers."""
    return tokens_text(request).replace(f"{request.num_tokens} tokens", count(request.num_tokens, "token"), 1)


def _note(request: RequestState) -> str:
    if request.state == "preempted":
        return "preempted: holds no block, keeps its tokens"
    return f"{request.hits:,} from cache" if request.hits else ""


def owners(state: State, colours: Colours) -> dict[str, Any]:
    """The first requests, each with its colour's number, and how many more there are: the legend of the map."""
    names = [[short(name, 24), colours.number(name)] for name in islice(state.requests, NAMED)]
    return {"names": names, "more": max(0, len(state.requests) - NAMED)}
