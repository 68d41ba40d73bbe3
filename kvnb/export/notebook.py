"""A pool as a clean notebook: unexecuted, with a `parameters` cell for papermill, and a last cell that checks the digest.

Must not know: nbformat. Equal journals give equal bytes: cell ids come from the cells' text.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from kvnb.errors import counted, printable
from kvnb.export.python import by_cell, call, check_can_be_made_again, is_line, lacks_file, literal, memory_settings, said
from kvnb.journal import Journal, Step
from kvnb.version import __version__

METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python", "file_extension": ".py", "mimetype": "text/x-python", "pygments_lexer": "ipython3"},
}
_PARAMETERS = {
    "num_blocks": "blocks in the pool, block 0 included",
    "block_size": "tokens in a block; vLLM's default is 16",
    "prefix_caching": "False: nothing is hashed, every lookup misses",
    "free_to": "front-back (vLLM today) or back (its older rule)",
    "free_order": "reverse (vLLM: a request's last block is freed first) or forward",
    "full_hit": "True: a lookup may hit the whole prompt",
    "sliding_window": "tokens a layer looks back, 2 or more; None: full attention",
    "hash": "sha256, sha256_cbor, xxhash or xxhash_cbor",
    "tokenizer": "chars, bytes or the path of a tokenizer.json",
}
_CONFIGURED = ("prefix_caching", "full_hit", "sliding_window")
"""Settings that cannot be typed as ``--option $value``: flags, and what may be None."""
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")


def notebook(journal: Journal) -> dict[str, Any]:
    """The notebook as nbformat 4.5, but for the seal in its metadata. Raises JournalError as ``script``."""
    check_can_be_made_again(journal)
    cells = [
        _markdown(_head(journal)),
        _code("\n".join(_parameters(journal)), ["parameters"]),
        _code("# Loads the command %kvpool; running it again starts afresh.\n%reload_ext kvnb"),
        _code("\n".join(_new(journal))),
        *(_code("\n".join(_lines(journal, steps))) for steps in by_cell(journal)),
        _code("\n".join(_end(journal))),
    ]
    return {"cells": _numbered(cells), "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}


def _markdown(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def _code(source: str, tags: list[str] | None = None) -> dict[str, Any]:
    metadata = {"tags": tags} if tags else {}
    return {"cell_type": "code", "execution_count": None, "metadata": metadata, "outputs": [], "source": source}


def _numbered(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The cells with ids: of their text, and for equal ones of how often it was there."""
    seen: Counter[str] = Counter()
    for cell in cells:
        text = f"{cell['cell_type']}\n{cell['source']}"
        cell["id"] = sha256(f"{text}\n{seen[text]}".encode()).hexdigest()[:12]
        seen[text] += 1
    return cells


def plain(text: str) -> str:
    """Text as Markdown that says just that."""
    return _PUNCTUATION.sub(r"\\\1", printable(text))


def _head(journal: Journal) -> str:
    size = f"{journal.behaviour.num_blocks:,} blocks of {counted(journal.behaviour.block_size, 'token')}"
    lines = [
        f"# The pool {plain(journal.name)}", "",
        f"{size}, {counted(len(journal), 'step')}, digest `{journal.digest[:12]}`. Exported by kvnb {__version__}.", "",
        "Run all cells: the last one checks that the same pool has come out. With other values in the cell below it is an "
        "experiment of your own. The cell is tagged `parameters`, so papermill can set them too.",
    ]  # fmt: skip
    if journal.forked is not None:
        lines += ["", f"It began as a fork of {plain(journal.forked.pool)} at step {journal.forked.step}."]
    return "\n".join(lines)


def _parameters(journal: Journal) -> Iterator[str]:
    values = journal.behaviour.to_dict()
    for name, says in _PARAMETERS.items():
        says = "the hash of a file; or the path of one" if name == "tokenizer" and lacks_file(journal) else says
        yield f"{_variable(name)} = {literal(values[name])}  # {says}"


def _variable(setting: str) -> str:
    return "hash_name" if setting == "hash" else setting


def _new(journal: Journal) -> Iterator[str]:
    typed = [name for name in _PARAMETERS if name not in (*_CONFIGURED, "num_blocks")]
    options = [word for name in typed for word in (f"--{name.replace('_', '-')}", f"${_variable(name)}")]
    for name, value in memory_settings(journal).items():
        options += [f"--{name.replace('_', '-')}", shlex.quote(str(value))]
    yield from (f"%config KVPool.{name} = {name}" for name in _CONFIGURED)
    yield "# The parent hash of first blocks, as it was; left out, it comes from PYTHONHASHSEED as in vLLM, and digests with it."
    yield f"none_hash = {literal(journal.behaviour.none_hash)}"
    yield f"pool_name = {literal(journal.name)}"
    yield f"made = %kvpool new $num_blocks --name $pool_name {' '.join(options)} --none-hash $none_hash"
    yield "lab = made.value"


def _lines(journal: Journal, steps: list[Step]) -> Iterator[str]:
    for step in steps:
        comment = said(journal, step)
        if comment:
            yield f"# {comment}"
        if is_line(step.command):
            yield f"%kvpool {step.command}"
        else:
            yield f"display(lab.{call(step.command)})"


def _end(journal: Journal) -> Iterator[str]:
    values = journal.behaviour.to_dict()
    yield "recorded = {"
    yield from (f'    "{_variable(name)}": {literal(values[name])},' for name in _PARAMETERS)
    yield "}"
    yield "if all(globals()[name] == value for name, value in recorded.items()):"
    yield f'    assert lab.digest == "{journal.digest}", f"the digest is {{lab.digest}}"'
    yield '    print("The digest is the recorded one.")'
    yield "else:"
    yield '    print(f"Other parameters, another experiment: digest {lab.digest[:12]}")'
