"""Prompts for a real language model: long shared beginnings, a fact in them, questions that have one right answer."""

from __future__ import annotations

from typing import Any

WAREHOUSE = (
    "The warehouse stands by the river. It has three doors, a red roof and a long wall of bricks. "
    "Every morning at eight the keeper opens the doors and counts the boxes. "
)
CODE_QUESTION = "What is the secret code of the warehouse?"


def asked(question: str, system: str = "You answer in one short sentence.") -> list[dict[str, str]]:
    """A conversation of one question."""
    return [{"role": "system", "content": system}, {"role": "user", "content": question}]


def keeper(code: str) -> str:
    """A system prompt of about 100 tokens in whose middle a fact stands: the code, within one block of 16 tokens."""
    fact = f"The secret code of the warehouse is {code}."
    return f"You answer in one short sentence. {WAREHOUSE}{fact} {WAREHOUSE}"


def long_text(num_tokens: int, seed: int = 0) -> list[int]:
    """So many tokens of no meaning, equal for equal seeds, none of them special."""
    return [1000 + (seed * 7919 + 31 * place * place + 17 * place) % 40_000 for place in range(num_tokens)]


def tokens_of(lab: Any, name: str) -> list[int]:
    """All tokens of a request."""
    return list(lab._recorder.engine.scheduler.find(name).token_ids)
