"""A command in its canonical form: a verb and plain values, everything resolved, so that it can be run again.

Must not know: options, files, tokenizers in files (their text is already tokens here).
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple

from kvnb.errors import printable


class Command(NamedTuple):
    """One change to a pool.

    verb
        ``admit``, ``prefill``, ``append``, ``accept``, ``release``, ``preempt``, ``evict``, ``reset``, ``step``, ``reweight``,
        ``corrupt`` or ``undo``.
    args
        By verb: ``name``, ``text`` or ``tokens``, ``salt``, ``lora`` (name and path), ``chunk``, ``n``, ``k``, ``draft``
        (``text`` or ``tokens``), ``defer``, ``fail``, ``names``, ``ids``, ``seed``, ``block``, ``other``.
    """

    verb: str
    args: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form, as it enters the digest."""
        return {"verb": self.verb, **self.args}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Command:
        """The reverse of ``to_dict``. Raises KeyError when there is no verb."""
        return cls(values["verb"], {key: value for key, value in values.items() if key != "verb"})

    def __str__(self) -> str:
        """The line that gives this command when typed after ``%kvpool``; of what is none, its values."""
        try:
            return self._line()
        # A journal that was changed by hand may have anything here, and errors name it.
        except (TypeError, ValueError, LookupError, AttributeError):
            return repr(self.to_dict())

    def short(self, limit: int = 80) -> str:
        """The same for an error's line: of a long one the beginning, control characters escaped."""
        line = printable(str(self))
        return line if len(line) <= limit else line[: limit - 3] + "..."

    def _line(self) -> str:
        words = [*self.args.get("names", ()), *self.args.get("ids", ())]
        words += [self.args[key] for key in ("name", "text", "n", "k", "seed", "block") if key in self.args]
        placed = [shlex.quote(str(word)) for word in words]
        if any(word.startswith("-") for word in map(str, words)):
            placed.insert(0, "--")
        options = [word for key in _OPTIONS if key in self.args for word in (f"--{_TYPED.get(key, key)}", _typed(self.args[key]))]
        options += [f"--{key}" for key in _FLAGS if self.args.get(key)]
        return " ".join([self.verb, *options, *placed])


_OPTIONS = ("tokens", "salt", "lora", "chunk", "draft", "other")
_TYPED = {"other": "with"}
_FLAGS = ("defer", "fail")


def _typed(value: Any) -> str:
    """An option's value as it is typed: ints with commas, an adapter as ``NAME=PATH``, drafts as a text or an expression."""
    if isinstance(value, Mapping):
        return _quoted(value["text"]) if "text" in value else f"{{[{_typed(value['tokens'])}]}}"
    if isinstance(value, str | int):
        return _quoted(str(value))
    if value and isinstance(value[0], str):
        return _quoted("=".join(part for part in value if part))
    return ",".join(map(str, value))


def _quoted(value: str) -> str:
    """A value that cannot be taken for an option: ``'-h'``."""
    word = shlex.quote(value)
    return f"'{word}'" if word.startswith("-") else word
