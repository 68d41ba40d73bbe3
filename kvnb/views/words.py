"""Small pieces of text that every view shares: names made safe to print, lists made short.

Must not know: HTML.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kvnb.errors import printable
from kvnb.journal import State

QUEUE_HEAD = QUEUE_TAIL = 32
"""How many ids of a long queue or table are written out at each end."""


def short(name: str, limit: int = 60) -> str:
    """``plain``, and of a very long name the beginning."""
    return printable(name) if len(name) <= limit else printable(name[: limit - 1]) + "…"


def listed(names: Sequence[str], write: Callable[[str], str] = short, most: int = 8) -> str:
    """``r0, r1 and r2``; of very many names the first. ``write`` makes the word for one."""
    words = [write(name) for name in names[:most]] + [f"{len(names) - most:,} more"] * (len(names) > most)
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def count(n: int, what: str, several: str = "") -> str:
    """``1 block``, ``2 blocks``, ``1,000 blocks``; ``several`` is the plural where it is not regular."""
    return f"{n:,} {what}" if n == 1 else f"{n:,} {several or what + 's'}"


def shortened(ids: Sequence[int]) -> list[str]:
    """The ids as words; of a long list the two ends, and between them how many are left out."""
    if len(ids) <= QUEUE_HEAD + QUEUE_TAIL:
        return [str(block_id) for block_id in ids]
    left_out = f"... ({len(ids) - QUEUE_HEAD - QUEUE_TAIL:,} more) ..."
    return [*map(str, ids[:QUEUE_HEAD]), left_out, *map(str, ids[-QUEUE_TAIL:])]


def queue_ends(state: State) -> tuple[list[int], int, list[int]]:
    """The free queue as its front, how many in the middle are left out, and its back; all of a short one is front."""
    length = len(state.queue)
    if length <= QUEUE_HEAD + QUEUE_TAIL:
        return list(state.queue), 0, []
    return state.queue.head(QUEUE_HEAD), length - QUEUE_HEAD - QUEUE_TAIL, state.queue.tail(QUEUE_TAIL)
