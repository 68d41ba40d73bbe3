"""What is in memory, slot by slot: who wrote it and when, whether anybody can still reach it, how large K is.

Must not know: tensors; the norms come as numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kvnb.journal.contents import Kind, Slot
from kvnb.views.words import short

Norms = Sequence[Sequence[float]]
"""L2 norm of K by slot and head, over all layers; NaN where nothing is written."""

KINDS: tuple[Kind, ...] = ("live", "cached", "stale", "unwritten")
WORDS = {
    "live": "live",
    "cached": "cached: free, has a hash",
    "stale": "stale: nobody can reach it",
    "unwritten": "unwritten: NaN",
}
MANY = 64


class Contents(NamedTuple):
    """One block: its slots, and the norms of its K where there is memory."""

    slots: Sequence[Slot]
    norms: Norms | None


def block_lines(contents: Contents, tokenizer: str) -> list[str]:
    """A line a slot: ``slot 0: live, token 65 'A', place 0 of r0, step 1; K 4.03 3.98``."""
    lines = [f"  slot {at}: {_slot(slot, tokenizer)}{_norms(contents, at)}" for at, slot in enumerate(contents.slots)]
    if len(lines) > MANY:
        lines[MANY // 2 : -MANY // 2] = [f"  ... ({len(lines) - MANY:,} more slots) ..."]
    return lines


def _slot(slot: Slot, tokenizer: str) -> str:
    if slot.written is None:
        return slot.kind
    written = slot.written
    letter = letter_of(written.token, tokenizer)
    said = f" {letter!r}" if letter else ""
    return f"{slot.kind}, token {written.token}{said}, place {written.place} of {short(written.name)}, step {written.step}"


def letter_of(token: int, tokenizer: str) -> str:
    """The token as a letter, where it is one; else nothing."""
    known = {"chars": 0x110000, "bytes": 128}.get(tokenizer, 0)
    return chr(token) if token < known and chr(token).isprintable() else ""


def _norms(contents: Contents, at: int) -> str:
    if contents.norms is None or contents.slots[at].written is None:
        return ""
    return f"; K {' '.join(f'{norm:.2f}' for norm in contents.norms[at][:8])}"


def counted_kinds(blocks: Iterable[Contents]) -> Counter[Kind]:
    """How many slots there are of each kind."""
    return Counter(slot.kind for block in blocks for slot in block.slots)


def map_text(blocks: Mapping[int, Contents]) -> str:
    """All blocks, a line each; of many the first and the last."""
    kinds = counted_kinds(blocks.values())
    lines = [f"  block {block_id}: {_block(block)}" for block_id, block in blocks.items()]
    if len(lines) > MANY:
        lines[MANY // 2 : -MANY // 2] = [f"  ... ({len(lines) - MANY:,} more blocks) ..."]
    return "\n".join([f"slots: {', '.join(f'{kinds[kind]:,} {kind}' for kind in KINDS)}", *lines])


def _block(block: Contents) -> str:
    kinds = counted_kinds([block])
    writers = dict.fromkeys(f"{short(s.written.name)} in step {s.written.step}" for s in block.slots if s.written)
    by = f", written by {', '.join(list(writers)[:4])}" if writers else ""
    return ", ".join(f"{kinds[kind]} {kind}" for kind in KINDS if kinds[kind]) + by + mean_text(block)


def mean_text(block: Contents) -> str:
    """``; K 4.02``: the mean norm over what is written."""
    there = [norm for row in block.norms or () for norm in row if norm == norm]
    return f"; K {sum(there) / len(there):.2f}" if there else ""
