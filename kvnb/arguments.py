"""What users hand to a Lab, checked and made canonical.

Must not know: the pool.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

from kvnb.errors import CommandError, one_line


def request_name(name: object) -> str:
    """A name that is a text and not empty. Raises CommandError."""
    if not isinstance(name, str) or not name:
        raise CommandError(f"{name!r} is no request name: give a text that is not empty")
    return name


def whole(what: str, value: Any) -> int:
    """A plain int of any whole number. Raises CommandError, naming ``what``."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise CommandError(f"{what} is {value!r}: give a whole number")
    return int(value.__index__())


def sampling(temperature: Any, seed: Any) -> dict[str, Any]:
    """How the next token is chosen; the seed stays out where nothing is drawn. Raises CommandError."""
    number = float(temperature) if isinstance(temperature, Real) and not isinstance(temperature, bool) else -1.0
    if not 0 <= number < float("inf"):
        raise CommandError(f"the temperature is {temperature!r}: give 0 (the most probable token) or more")
    return {"temperature": number, "seed": whole("seed", seed)} if number else {}


def cache_keys(salt: str | None, lora: str | tuple[str, str] | None) -> dict[str, Any]:
    """What keeps a request's blocks apart, as command arguments; a bare adapter name has the path "". Raises CommandError."""
    keys: dict[str, Any] = {}
    if salt is not None:
        if not (_is_text(salt) and salt):
            raise CommandError(f"the salt is {salt!r}: give a text that is not empty")
        keys["salt"] = salt
    if lora is not None:
        keys["lora"] = _adapter(lora)
    return keys


def _adapter(lora: str | tuple[str, str]) -> list[str]:
    parts = lora.partition("=")[::2] if isinstance(lora, str) else lora
    if not isinstance(parts, tuple | list) or len(parts) != 2 or not all(map(_is_text, parts)) or not parts[0] or "=" in parts[0]:
        raise CommandError(f"{one_line(str(lora))} is no adapter: give NAME or NAME=PATH, the name without =")
    return list(parts)


def _is_text(value: object) -> bool:
    """Whether it is a text that can be written: half a surrogate pair has no bytes in UTF-8, which CBOR hashes."""
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False
