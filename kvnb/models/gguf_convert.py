"""A GGUF file as a folder that transformers can load, made once and kept in the cache.

Must not know: torch, transformers, the pool.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from kvnb.errors import OutOfMemory, SettingError
from kvnb.models import cache
from kvnb.models.gguf_config import config_of, sources_of
from kvnb.models.gguf_file import Gguf, read_gguf
from kvnb.models.gguf_tokenizer import Vocabulary
from kvnb.models.weights import MODEL, Each, write_weights

VERSION = 1
"""Of what is written; a folder of another version is made again."""

T = TypeVar("T")


def convert(source: Path, progress: Each, look: Callable[[Path, Path], T]) -> T:
    """What ``look`` says of the folder that ``source`` was, or is now, converted to.

    look
        Is given the folder and ``source``; raises SettingError for a folder that is damaged, which is then made again.

    Raises SettingError for what cannot be converted or written, OutOfMemory, MissingPackage.
    """
    try:
        stamp = cache.stamp_of(source, VERSION)
    except OSError as error:
        raise SettingError(f"cannot read {source}: {error.strerror}") from error
    folder = cache.kept(stamp)
    if folder is not None:
        try:
            return look(folder, source)
        except SettingError:
            with suppress(OSError):
                (folder / cache.STAMP).unlink()
    try:
        return look(_convert(source, stamp, progress), source)
    except MemoryError as error:
        raise OutOfMemory(f"too little memory to convert {source}: close other programs, or give a smaller model") from error


def _convert(source: Path, stamp: dict[str, Any], progress: Each) -> Path:
    file = read_gguf(source)
    config = config_of(file)
    sizes, sources = sources_of(file, config)
    vocabulary = Vocabulary(file, sizes.vocab_size)
    texts = _texts(config, vocabulary)
    shapes = sizes.tensor_shapes()
    needed = 4 * sum(map(math.prod, shapes.values())) + sum(map(len, texts.values()))

    def fill(folder: Path) -> None:
        for name, text in texts.items():
            (folder / name).write_text(text, "utf-8", newline="\n")
        with progress(list(sources.items()), f"converting {source.name}") as steps:
            write_weights(folder / MODEL, shapes, _pieces(file, config, steps))

    return cache.make(stamp, needed, fill)


def _texts(config: Mapping[str, Any], vocabulary: Vocabulary) -> dict[str, str]:
    """The files beside the weights."""
    bos, ends = vocabulary.token_id("bos"), {vocabulary.token_id(role) for role in ("eos", "eot")} - {None}
    ids: dict[str, Any] = {"bos_token_id": bos, "eos_token_id": sorted(ends, key=lambda token: token or 0)}
    texts = {
        "config.json": _json({**config, **ids}), "generation_config.json": _json(ids),
        "tokenizer_config.json": _json(vocabulary.config()), "tokenizer.json": vocabulary.tokenizer_json(),
    }  # fmt: skip
    return texts if vocabulary.chat_template is None else texts | {"chat_template.jinja": vocabulary.chat_template}


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _pieces(file: Gguf, config: Mapping[str, Any], steps: Any) -> Iterator[memoryview]:
    """The bytes of each weight, in order."""
    import numpy as np

    heads = {"q_proj": config["num_attention_heads"], "k_proj": config["num_key_value_heads"]}
    for name, source in steps:
        turned = heads.get(name.split(".")[-2]) if config["model_type"] == "llama" else None
        if turned is None:
            yield from (part.data for part in file.rows(source))
        else:
            yield np.ascontiguousarray(halves(np.concatenate(list(file.rows(source))), turned)).data


def halves(weight: Any, heads: int) -> Any:
    """The rows of Q or K as transformers has them: llama.cpp keeps the two of a rotary pair beside each other in each head,
    transformers half a head apart."""
    pairs = weight.reshape(heads, -1, 2, *weight.shape[1:])
    return pairs.swapaxes(1, 2).reshape(weight.shape)
