"""What lies at a path: a folder that transformers can load, or a GGUF file, which becomes one. Checked before it is loaded.

Must not know: torch and transformers (a model that is refused costs no import), the pool, hubs: nothing is ever fetched.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from kvnb.errors import SettingError, one_line
from kvnb.models.config import sizes_of
from kvnb.models.weights import Each, check_weights, read_json, read_text, silent, weight_files
from kvnb.tensors.shapes import KVShape

TURN_ENDS = ("<|im_end|>", "<|eot_id|>", "<|end_of_text|>", "<|endoftext|>")
"""Tokens with which chat models end what they say, whatever their files call the end of a text."""

SMALL_FILES = ("config.json", "tokenizer.json")


class Checkpoint(NamedTuple):
    """A model that can be loaded; none of its weights has been read.

    source, folder
        What the user named; what transformers can load: the same, or the folder that a GGUF file was converted to. Absolute,
        so that they stay the same where the working folder changes.
    name
        The folder's name, or the GGUF file's without ``.gguf``.
    weight_bytes
        Of all weights as float32.
    eos_token_ids
        Each ends what the model says, in ascending order.
    """

    source: Path
    folder: Path
    name: str
    architecture: str
    shape: KVShape
    vocab_size: int
    max_tokens: int
    weight_bytes: int
    tokenizer_file: Path
    eos_token_ids: tuple[int, ...]


def open_checkpoint(path: str | Path, progress: Each = silent) -> Checkpoint:
    """The checkpoint at ``path``: a folder with ``config.json``, safetensors and ``tokenizer.json``, or a GGUF file.

    progress
        Goes along while a GGUF file is converted, once, into a folder of the cache (``$KVNB_CACHE``, else the user's).

    Raises SettingError, one line, for whatever cannot be served; MissingPackage for a GGUF file without ``gguf``.
    """
    source = Path(os.path.expanduser(path))  # noqa: PTH111  (Path raises for ~nobody)
    if source.is_dir():
        return _checkpoint(source, source)
    if source.is_file():
        if source.suffix.lower() != ".gguf":
            raise SettingError(f"{source} is a file, and no .gguf: give the checkpoint's folder, or a GGUF file")
        from kvnb.models.gguf_convert import convert

        return convert(source, progress, _checkpoint)
    raise SettingError(_nothing(source))


def _nothing(source: Path) -> str:
    shown = one_line(str(source), 120)
    if not source.is_absolute() and len(source.parts) == 2 and source.parts[0][0] != "~" and not source.parent.exists():
        return f"no folder {shown}: models are not fetched from a hub: give the path of a local folder or GGUF file"
    return f"no such folder or GGUF file: {shown}"


def _checkpoint(folder: Path, source: Path) -> Checkpoint:
    """The checkpoint in ``folder``, every file of it looked at. Raises SettingError."""
    for name in SMALL_FILES:
        if not (folder / name).is_file():
            raise SettingError(f"{folder} has no {name}: give the folder of a whole checkpoint, as save_pretrained writes it")
    config = read_json(folder / "config.json")
    sizes = sizes_of(config, str(folder / "config.json"))
    shapes = sizes.tensor_shapes()
    check_weights(weight_files(folder), shapes)
    name = source.stem if source.is_file() else source.resolve().name
    return Checkpoint(
        source=source.absolute(), folder=folder.absolute(), name=name, architecture=sizes.architecture, shape=sizes.kv,
        vocab_size=sizes.vocab_size, max_tokens=sizes.max_tokens, weight_bytes=4 * sum(map(math.prod, shapes.values())),
        tokenizer_file=folder.absolute() / "tokenizer.json", eos_token_ids=_ends(folder, config),
    )  # fmt: skip


def _ends(folder: Path, config: Mapping[str, Any]) -> tuple[int, ...]:
    generation = folder / "generation_config.json"
    named = [config, read_json(generation)] if generation.is_file() else [config]
    ids = {token for where in named for token in _ints(where.get("eos_token_id"))}
    return tuple(sorted(ids.union(_turn_ends(folder / "tokenizer.json"))))


def _ints(value: Any) -> Iterator[int]:
    for token in value if isinstance(value, list) else [value]:
        if isinstance(token, int) and not isinstance(token, bool):
            yield token


def _turn_ends(tokenizer_file: Path) -> Iterable[int]:
    """The ids of ``TURN_ENDS`` among the added tokens: of a file of many MB only that list is parsed."""
    text = read_text(tokenizer_file)
    at = text.find('"added_tokens"')
    start = text.find("[", at)
    if at < 0 or start < 0:
        return []
    try:
        added, _ = json.JSONDecoder().raw_decode(text, start)
        return [int(token["id"]) for token in added if token["content"] in TURN_ENDS]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise SettingError(f"{tokenizer_file} is no tokenizer.json: fetch it again") from error
