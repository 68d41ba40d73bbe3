"""The two tokenizers that need no file: a letter or a byte is a token.

Must not know: tokenizers that live in files; text they cut arrives here as ints.
"""

from __future__ import annotations

from collections.abc import Callable


def chars(text: str) -> list[int]:
    """One token a character, ``ord(c)``: a lesson's prompt can be counted by eye."""
    return [ord(character) for character in text]


def utf8_bytes(text: str) -> list[int]:
    """One token a byte of UTF-8, 0 to 255; a lone surrogate keeps its three bytes."""
    return list(text.encode("utf-8", "surrogatepass"))


TOKENIZERS: dict[str, Callable[[str], list[int]]] = {"chars": chars, "bytes": utf8_bytes}
"""The values of ``--tokenizer`` that are not a path."""
