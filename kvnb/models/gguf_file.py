"""A GGUF file, read through the ``gguf`` package: its metadata as plain values, its tensors as float32, a few rows at a time.

Must not know: what a model is, where the result goes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kvnb.errors import MissingPackage, SettingError, one_line

AT_ONCE = 1 << 22
"""Elements that are made float32 at once: enough for numpy to be fast, few enough for the processor's cache."""


class Gguf(NamedTuple):
    """``metadata`` by key; ``tensors`` by GGUF name, each with its ``shape`` as torch has it: rows first."""

    path: Path
    metadata: dict[str, Any]
    tensors: dict[str, Any]

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor, outermost dimension first (the file has it the other way round)."""
        return tuple(int(n) for n in reversed(self.tensors[name].shape))

    def rows(self, name: str) -> Iterator[Any]:
        """A tensor as float32 arrays of some of its rows each."""
        import gguf
        import numpy as np

        tensor = self.tensors[name]
        each = max(1, AT_ONCE // self.shape(name)[-1])
        for first in range(0, len(tensor.data), each) if tensor.data.ndim > 1 else [0]:
            part = tensor.data[first : first + each] if tensor.data.ndim > 1 else tensor.data
            yield np.ascontiguousarray(gguf.dequantize(part, tensor.tensor_type), dtype="<f4")


def read_gguf(path: Path) -> Gguf:
    """The file at ``path``; its tensors stay on the disk until they are asked for.

    Raises SettingError for a file that is no GGUF, is truncated, is one part of several, or is quantised in a way that
    ``gguf`` cannot read; MissingPackage without it.
    """
    try:
        import gguf
    except ImportError as error:
        raise MissingPackage.named("gguf", "a GGUF file") from error
    _check_magic(path)
    try:
        reader = gguf.GGUFReader(path)
        metadata = {key: field.contents() for key, field in reader.fields.items()}
        whole = Gguf(path, metadata, {tensor.name: tensor for tensor in reader.tensors})
    except (ValueError, IndexError, KeyError, TypeError, OverflowError, MemoryError, UnicodeDecodeError) as error:
        raise SettingError(f"{path} is truncated, damaged or too new ({one_line(str(error))}): fetch it again") from error
    if metadata.get("split.count", 0) > 1:
        raise SettingError(f"{path} is one part of {metadata['split.count']}: merge them with llama-gguf-split --merge")
    _check_types(whole)
    return whole


def _check_magic(path: Path) -> None:
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise SettingError(f"cannot read {path}: {error.strerror}") from error
    if magic != b"GGUF":
        raise SettingError(f"{path} is no GGUF file: it begins with {one_line(repr(magic))}")


def _check_types(file: Gguf) -> None:
    """Each quantisation is tried on one block of zeros: the package does not read all that it can name."""
    import gguf
    import numpy as np

    for kind in sorted({tensor.tensor_type for tensor in file.tensors.values()}):
        _, size = gguf.GGML_QUANT_SIZES[kind]
        plain = {gguf.GGMLQuantizationType.F32: np.float32, gguf.GGMLQuantizationType.F16: np.float16}
        try:
            gguf.dequantize(np.zeros(1, plain[kind]) if kind in plain else np.zeros((1, size), np.uint8), kind)
        except NotImplementedError as error:
            raise SettingError(
                f"{file.path} has tensors in {kind.name}, which gguf cannot read: give another quantisation"
            ) from error
