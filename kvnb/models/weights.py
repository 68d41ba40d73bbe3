"""Weights in safetensors files: which, of what shape, and whether all of it is there; and such a file written piece by piece.

Must not know: GGUF, configurations beyond the shapes they ask for, torch. Standard library only: a header is JSON.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from kvnb.errors import SettingError, counted, one_line

Each = Callable[[Sequence[Any], str], AbstractContextManager[Iterable[Any]]]
"""Gives things to go through on, and may count them on the way; the text says what is being done."""

Shape = tuple[int, ...]

MODEL, INDEX = "model.safetensors", "model.safetensors.index.json"

_DTYPES = {"F32": 4, "F16": 2, "BF16": 2}
_LONGEST_HEADER = 100_000_000


def silent(things: Sequence[Any], what: str) -> AbstractContextManager[Iterable[Any]]:
    """An ``Each`` that shows nothing."""
    return nullcontext(things)


def read_text(path: Path) -> str:
    """The text of a file; what is no UTF-8 becomes U+FFFD. Raises SettingError."""
    try:
        return path.read_text("utf-8", "replace")
    except OSError as error:
        raise SettingError(f"cannot read {path}: {error.strerror}") from error


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file. Raises SettingError."""
    try:
        value = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise SettingError(f"{path} is no JSON ({one_line(str(error))}): fetch it again") from error
    if not isinstance(value, dict):
        raise SettingError(f"{path} is no JSON object: fetch it again")
    return value


def weight_files(folder: Path) -> tuple[Path, ...]:
    """The safetensors files of a checkpoint. Raises SettingError when there are none, or a shard of the index is missing."""
    if (folder / MODEL).is_file():
        return (folder / MODEL,)
    if not (folder / INDEX).is_file():
        raise SettingError(_no_weights(folder))
    shards = read_json(folder / INDEX).get("weight_map")
    if not isinstance(shards, dict) or not shards or not all(isinstance(name, str) for name in shards.values()):
        raise SettingError(f"{folder / INDEX} has no weight_map: fetch it again")
    names = sorted(set(shards.values()))
    # A name with folders in it would be read from outside the checkpoint.
    missing = [name for name in names if Path(name).name != name or not (folder / name).is_file()]
    if missing:
        raise SettingError(
            f"{folder} lacks {counted(len(missing), 'shard')} of {len(names)} ({one_line(missing[0])}): fetch the rest"
        )
    return tuple(folder / name for name in names)


def _no_weights(folder: Path) -> str:
    if any(folder.glob("*.bin")) or any(folder.glob("*.pt*")):
        return f"{folder} has its weights as pickled .bin only, which can run code: give {MODEL} (save_pretrained writes it)"
    other = sorted(folder.glob("*.safetensors"))
    if other:
        return f"{folder} has {other[0].name}, but no {MODEL} and no {INDEX}: save it with save_pretrained"
    return f"{folder} has no weights: it lacks {MODEL}"


def check_weights(files: Sequence[Path], shapes: Mapping[str, Shape]) -> None:
    """Raises SettingError unless ``files`` are whole and hold each tensor of ``shapes``; other tensors do not matter."""
    held: dict[str, Shape] = {}
    for path in files:
        held |= read_header(path)
    where = files[0].parent
    for name, shape in shapes.items():
        if name not in held:
            raise SettingError(f"the weights in {where} lack {name}: fetch the checkpoint again")
        if held[name] != shape:
            has, asks = "x".join(map(str, held[name])), "x".join(map(str, shape))
            raise SettingError(f"{name} in {where} is {has}, config.json asks for {asks}: they belong to different models")
    sinks = [name for name in held if name.endswith(".sinks")]
    if sinks:
        raise SettingError(
            f"the weights in {where} have attention sinks ({sinks[0]}), which are not served here: give another model"
        )


def read_header(path: Path) -> dict[str, Shape]:
    """The shape of each tensor in a safetensors file, of which only the header is read.

    Raises SettingError for a file that is damaged, shorter than its header says, or in another precision than float.
    """
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(length)) if 0 < length <= _LONGEST_HEADER else None
        size = path.stat().st_size
    except OSError as error:
        raise SettingError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict):
        raise SettingError(f"{path} is truncated or no safetensors file: fetch it again")
    header.pop("__metadata__", None)
    try:
        tensors = {name: _tensor(path, name, entry) for name, entry in header.items()}
    except (KeyError, TypeError, ValueError) as error:
        raise SettingError(f"{path} has a damaged header: fetch it again") from error
    ends = 8 + length + max((end for _, end in tensors.values()), default=0)
    if size < ends:
        raise SettingError(f"{path} is truncated: {size:,} bytes of {ends:,}: fetch it again")
    return {name: shape for name, (shape, _) in tensors.items()}


def _tensor(path: Path, name: str, entry: Mapping[str, Any]) -> tuple[Shape, int]:
    """The shape of a tensor, and where its bytes end."""
    shape, (begin, end) = tuple(map(int, entry["shape"])), map(int, entry["data_offsets"])
    if entry["dtype"] not in _DTYPES:
        raise SettingError(f"{path}: {name} is {one_line(str(entry['dtype']))}: only float32, float16 and bfloat16 are read")
    if begin < 0 or min(shape, default=0) < 0 or end - begin != math.prod(shape) * _DTYPES[entry["dtype"]]:
        raise ValueError(name)
    return shape, end


def write_weights(path: Path, shapes: Mapping[str, Shape], pieces: Iterable[bytes | memoryview]) -> None:
    """Write float32 tensors of these ``shapes``; ``pieces`` are their bytes, in the same order. Raises OSError."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    begin = 0
    for name, shape in shapes.items():
        end = begin + 4 * math.prod(shape)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": (begin, end)}
        begin = end
    text = json.dumps(header, separators=(",", ":")).encode()
    # Spaces at the end let the tensors begin at a multiple of 8.
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for piece in pieces:
            file.write(piece)
