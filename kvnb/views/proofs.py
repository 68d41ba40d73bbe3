"""A proof as text and HTML: what was compared, by how much it may differ, by how much it does.

Must not know: how it was computed; it reads the proof's numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from kvnb.views.contents import letter_of
from kvnb.views.markup import card, chip, div, foot, safe, table
from kvnb.views.theme import LOST
from kvnb.views.words import count, short, shortened


class BlockDifference(Protocol):
    """One block's part of a proof."""

    @property
    def block_id(self) -> int:
        """Which."""

    @property
    def key_difference(self) -> float:
        """Of K, the largest."""

    @property
    def value_difference(self) -> float:
        """Of V, the largest."""


class Proof(Protocol):
    """What a proof tells (see ``kvnb.tensors.prove``)."""

    @property
    def name(self) -> str:
        """The request."""

    @property
    def num_tokens(self) -> int:
        """How many of its tokens were computed again."""

    @property
    def tolerance(self) -> float:
        """What each difference may be."""

    @property
    def logits_difference(self) -> float:
        """Of the logits of the next token."""

    @property
    def blocks(self) -> Sequence[BlockDifference]:
        """K and V, by block."""

    @property
    def next_token(self) -> tuple[int, int]:
        """Read through the table, and dense."""

    @property
    def holds(self) -> bool:
        """Whether it is a proof."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why not."""


class Row(NamedTuple):
    """One thing that was compared."""

    says: str
    numbers: str
    holds: bool


def rows(proof: Proof, tokenizer: str) -> list[Row]:
    """Logits, K, V, and the next token."""
    ids = " ".join(shortened([block.block_id for block in proof.blocks]))
    logits = proof.logits_difference
    found = [Row("logits of the next token", _numbers(logits), logits <= proof.tolerance)]
    for what, worst in (("K", "key_difference"), ("V", "value_difference")):
        each = [getattr(block, worst) for block in proof.blocks]
        found.append(Row(f"{what} in blocks {ids}", _numbers(_worst(each)), all(value <= proof.tolerance for value in each)))
    paged, dense = (f"{token} {letter_of(token, tokenizer)!r}" for token in proof.next_token)
    found.append(Row("next token", f"{paged} from the cache, {dense} without", "next token" not in " ".join(proof.reasons[-1:])))
    return found


def _worst(values: Sequence[float]) -> float:
    return next((value for value in values if value != value), max(values, default=0.0))


def _numbers(difference: float) -> str:
    return (
        "NaN: something was read that nobody has written" if difference != difference else f"differ by at most {difference:.1e}"
    )


def _verdict(proof: Proof) -> str:
    if proof.holds:
        return f"proved: with the cache as without it, within {proof.tolerance:.0e}"
    return f"NOT proved, at most {proof.tolerance:.0e} is rounding"


def _head(proof: Proof) -> str:
    return f"{count(proof.num_tokens, 'token')} computed again densely, with no cache"


def proof_text(proof: Proof, tokenizer: str) -> str:
    """A line for each thing compared, the verdict, and what speaks against it."""
    lines = [f"{short(proof.name)}: {_head(proof)}"]
    lines += [f"  {'ok' if row.holds else 'NO'} {row.says}: {row.numbers}" for row in rows(proof, tokenizer)]
    lines.append(f"  {_verdict(proof)}")
    return "\n".join([*lines, *(f"    {reason}" for reason in proof.reasons[:16])])


def proof_html(proof: Proof, tokenizer: str) -> str:
    """The same as a table."""
    cells = [("ok" if row.holds else chip("NO", LOST), safe(row.says), safe(row.numbers)) for row in rows(proof, tokenizer)]
    reasons = [div("margin-top:4px", safe(reason)) for reason in proof.reasons[:16]]
    head = div("font-size:14px;margin-bottom:6px", f"<b>{safe(short(proof.name))}</b>: {safe(_head(proof))}")
    return card(head, table(("", "compared", "largest difference"), cells), *reasons, foot(_verdict(proof)))
