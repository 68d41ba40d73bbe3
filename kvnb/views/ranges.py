"""Block ids as words, those that count up by one as ``4-19``.

Must not know: what the ids are listed for.
"""

from __future__ import annotations

from collections.abc import Iterable


def ranges(ids: Iterable[int], to: str = "-", most: int = 24) -> str:
    """``1 2 5-9 12``, in the order given; of very many the first, and how many ids more."""
    runs: list[list[int]] = []
    for block_id in ids:
        if runs and block_id == runs[-1][-1] + 1:
            runs[-1].append(block_id)
        else:
            runs.append([block_id])
    words = [f"{run[0]}{to}{run[-1]}" if len(run) > 2 else " ".join(map(str, run)) for run in runs[:most]]
    hidden = sum(map(len, runs[most:]))
    return " ".join(words + [f"and {hidden:,} more"] * bool(hidden))
