"""Steps as lines of Python on the public API, and as lines for ``%kvpool``.

Must not know: what kind of file they go into.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kvnb.errors import JournalError, printable
from kvnb.journal import Journal, Step
from kvnb.manager.command import Command
from kvnb.manager.tokenizers import TOKENIZERS

_PLACED = {
    "prefill": ("name", "n"), "accept": ("name", "k"), "preempt": ("name",), "reweight": ("seed",),
    "corrupt": ("name", "block", "other"), "undo": ("n",),
}  # fmt: skip
_NAMED = ("tokens", "salt", "lora", "chunk", "draft", "defer", "fail")
_MEMORY_ONLY = {"reweight": "the model's weights", "corrupt": "the worker's block table"}
_SAID = 60
"""Tokens whose text stands beside them are no more than this."""


def literal(value: Any) -> str:
    """A value as Python writes it, a text in double quotes where that needs no escape."""
    if isinstance(value, tuple):
        return f"({', '.join(map(literal, value))})"
    written = repr(value)
    if isinstance(value, str) and written[0] == "'" and '"' not in written:
        return f'"{written[1:-1]}"'
    return written


def call(command: Command) -> str:
    """``admit("r0", "ABC", chunk=4)``: the method of a Lab that gives this command.

    Raises JournalError for a command that no Lab gives.
    """
    args = command.args
    if command.verb in ("admit", "append"):
        placed = [args[key] for key in ("name", "text") if key in args]
    else:
        placed = [*args.get("names", ()), *args.get("ids", ())]
        placed += [args[key] for key in _PLACED.get(command.verb, ()) if key in args]
    named = [f"{key}={literal(_given(args[key]))}" for key in _NAMED if key in args]
    return f"{command.verb}({', '.join([*map(literal, placed), *named])})"


def _given(value: Any) -> Any:
    """An argument as a Lab takes it: drafts as a text or ints, an adapter as a pair."""
    if isinstance(value, Mapping):
        return value["text"] if "text" in value else value["tokens"]
    is_adapter = isinstance(value, list | tuple) and bool(value) and isinstance(value[0], str)
    return tuple(value) if is_adapter else value


def is_line(command: Command) -> bool:
    """Whether ``%kvpool`` can be given this command on one line of a cell, with nothing in it that IPython reads otherwise."""
    line = str(command)
    return line.isprintable() and not set(line) & set('"\\') and "''" not in line


def said(journal: Journal, step: Step) -> str:
    """Where a step comes from when nobody typed it, for a comment; else nothing."""
    origin = step.origin if isinstance(step.origin, Mapping) else {}
    parts = []
    if "model" in origin:
        how = "".join(f", {key} {origin[key]}" for key in ("temperature", "seed") if origin.get(key))
        text = _text(journal, step.command.args.get("tokens", []))
        parts.append(f"made by the model {printable(str(origin['model']))}{how}{text}")
    parts += ["clicked in a dashboard"] * bool(origin.get("clicked"))
    parts += ["the forward pass failed here"] * bool(step.command.args.get("fail"))
    return "; ".join(parts)


def _text(journal: Journal, tokens: list[int]) -> str:
    identity = journal.behaviour.tokenizer
    if identity not in TOKENIZERS or len(tokens) > _SAID:
        return ""
    text = bytes(tokens).decode("utf-8", "replace") if identity == "bytes" else "".join(map(chr, tokens))
    return f": {printable(repr(text))}"


def by_cell(journal: Journal) -> Iterator[list[Step]]:
    """The steps, those that one run of a cell made together; a step of no known cell is alone."""
    group: list[Step] = []
    for step in journal.steps:
        if group and (step.cell is None or step.cell != group[-1].cell):
            yield group
            group = []
        group.append(step)
    if group:
        yield group


def check_can_be_made_again(journal: Journal) -> None:
    """Raises JournalError for a history that needs a memory, which what is exported lacks where the tokenizer is a file."""
    changed = next((step for step in journal.steps if step.command.verb in _MEMORY_ONLY), None)
    if changed and lacks_file(journal):
        what = _MEMORY_ONLY[changed.command.verb]
        why = f"step {changed.number} changes {what}, and without the tokenizer's file a script has block ids only"
        raise JournalError(f"{why}: give a .jsonl or .html file")


def lacks_file(journal: Journal) -> bool:
    """Whether its tokenizer is a file, of which a journal has only the hash."""
    return journal.behaviour.tokenizer not in TOKENIZERS


def memory_settings(journal: Journal) -> dict[str, Any]:
    """The keywords of a Lab for the memory: any device that is there will do, the digest is the same without one."""
    memory = journal.memory
    if memory is None or lacks_file(journal):
        return {"device": "none"}
    layers, kv_heads, head_size = memory["shape"]
    shape = {"layers": layers, "kv_heads": kv_heads, "head_size": head_size}
    return {"device": "auto", "dtype": memory["dtype"], "model": memory["model"], **shape}
