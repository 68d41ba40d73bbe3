"""A command in its canonical form: a verb and plain values, everything resolved, so that it can be run again.

Must not know: options, files, tokenizers in files (their text is already tokens here).
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple


class Command(NamedTuple):
    """One change to a pool.

    verb
        ``admit``, ``append``, ``release``, ``preempt``, ``evict``, ``reset`` or ``undo``.
    args
        By verb: ``name``, ``text`` or ``tokens``, ``names``, ``ids``.
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
        """The line that gives this command when typed after ``%kvpool``."""
        words = [str(name) for name in self.args.get("names", ())]
        words += [str(block_id) for block_id in self.args.get("ids", ())]
        words += [str(self.args[key]) for key in ("name", "text") if key in self.args]
        options = []
        if "tokens" in self.args:
            options = ["--tokens", ",".join(map(str, self.args["tokens"]))]
        if any(word.startswith("-") for word in words):
            words.insert(0, "--")
        return " ".join([self.verb, *options, *map(shlex.quote, words)])
