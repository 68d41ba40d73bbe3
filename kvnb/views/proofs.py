"""A proof as text and HTML: what was compared, by how much it may differ, by how much it does.

Must not know: how it was computed; it reads the proof's numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from kvnb.journal import Journal
from kvnb.views.contents import letter_of
from kvnb.views.markup import card, chip, div, foot, safe, table
from kvnb.views.theme import LOST, painter
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
    """Logits, K, V, and the next token; where K or V differ, the blocks in which they do."""
    logits = proof.logits_difference
    found = [Row("logits of the next token", _number(logits), logits <= proof.tolerance)]
    for what, field in (("K", "key_difference"), ("V", "value_difference")):
        found.append(_blocks(what, {block.block_id: getattr(block, field) for block in proof.blocks}, proof.tolerance))
    paged, dense = (_token(token, tokenizer) for token in proof.next_token)
    same = not any(reason.startswith("the next token") for reason in proof.reasons)
    return [*found, Row("next token", paged if paged == dense else f"{paged} with the cache, {dense} without", same)]


def _blocks(what: str, differences: Mapping[int, float], tolerance: float) -> Row:
    wrong = {block_id: value for block_id, value in differences.items() if not value <= tolerance}
    if not wrong:
        return Row(f"{what} in blocks {_ids(differences)}", _number(max(differences.values(), default=0.0)), True)
    some = [f"block {block_id} by {_number(value)}" for block_id, value in list(wrong.items())[:8]]
    more = f", {len(wrong) - 8} more" if len(wrong) > 8 else ""
    return Row(f"{what} in blocks {_ids(differences)}", ", ".join(some) + more, False)


def _ids(differences: Mapping[int, float]) -> str:
    return " ".join(shortened(list(differences)))


def _number(difference: float) -> str:
    if difference != difference:
        return "NaN (never written)"
    return f"{difference:.1e}" if difference < 0.001 else f"{difference:.2g}"


def _token(token: int, tokenizer: str) -> str:
    letter = letter_of(token, tokenizer)
    return f"{token} {letter!r}" if letter else str(token)


def _verdict(proof: Proof) -> str:
    return "proved" if proof.holds else "NOT proved"


def _head(proof: Proof) -> str:
    return f"{count(proof.num_tokens, 'token')} computed again, with no cache"


def _allowed(proof: Proof) -> str:
    return f"differences up to {proof.tolerance:.0e} are rounding"


def proof_text(proof: Proof, tokenizer: str) -> str:
    """The verdict, a line for each thing compared with its largest difference, and what is allowed."""
    lines = [f"{short(proof.name)} is {_verdict(proof)}: {_head(proof)}"]
    lines += [f"  {'ok' if row.holds else 'NO'} {row.says}: {row.numbers}" for row in rows(proof, tokenizer)]
    return "\n".join([*lines, f"  {_allowed(proof)}"])


def proof_html(journal: Journal, proof: Proof, tokenizer: str) -> str:
    """The same as a table."""
    cells = [("ok" if row.holds else chip("NO", LOST), safe(row.says), safe(row.numbers)) for row in rows(proof, tokenizer)]
    name = chip(short(proof.name), painter(journal)(proof.name))
    verdict = "is <b>proved</b>" if proof.holds else f"is {chip('NOT proved', LOST)}"
    head = div("font-size:14px;margin-bottom:6px", f"{name} {verdict}: {safe(_head(proof))}")
    return card(head, table(("", "compared", "largest difference"), cells), foot(_allowed(proof)))
