"""The memory behind a pool's blocks as a user asks for it: device, dtype, shape, model, bytes; and the worker that has it.

Must not know: the pool's state. torch is imported only when there is a worker to make.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kvnb.errors import MissingPackage, SettingError, nearest, one_line
from kvnb.manager.behaviour import Behaviour
from kvnb.tensors.shapes import (
    DEVICES,
    TINY,
    KVShape,
    blocks_in,
    bytes_per_block,
    check_dtype,
    check_shape,
    costs,
    named_shape,
    parse_memory,
)

if TYPE_CHECKING:
    import torch

    from kvnb.models.checkpoint import Checkpoint
    from kvnb.models.pretrained import Pretrained
    from kvnb.tensors.worker import Worker

Each = Callable[[Sequence[Any], str], AbstractContextManager[Iterable[Any]]]
"""Goes along an iterable while something long is done, under a word for it."""

TINY_MODEL = "tiny"
BYTES = 256
"""Tokens that ``tiny`` knows by itself: one a byte."""
MOST_TOKENS = 2**20
"""Of a tokenizer in a file: more than any has, and 512 MiB of weights."""


@dataclass(frozen=True, kw_only=True)
class Memory:
    """What stands behind the blocks. Raises SettingError, naming the setting, for what does not exist.

    device
        ``auto`` (cuda, else mps, else cpu; without torch none), ``cpu``, ``cuda``, ``mps`` or ``none``.
    dtype
        What K and V are kept in: float32, float16, bfloat16, fp8_e4m3 or fp8_e5m2.
    model
        ``tiny``: a random Llama-type decoder, the same on every machine. ``smollm2``: a small language model in a package
        of its own. Else the path of a checkpoint.
    shape
        Layers, KV heads, head size.
    vocab_size
        Tokens that the model knows.
    checkpoint
        What lies at that path; None for ``tiny``.
    """

    device: str = "auto"
    dtype: str = "float32"
    model: str = "tiny"
    shape: KVShape = TINY
    vocab_size: int = BYTES
    checkpoint: Checkpoint | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in ("device", "dtype", "model"):
            if not isinstance(getattr(self, name), str):
                raise SettingError(f"{name} is {getattr(self, name)!r}: give its name")
        if isinstance(self.vocab_size, bool) or not isinstance(self.vocab_size, int) or not 1 <= self.vocab_size <= MOST_TOKENS:
            raise SettingError(f"the vocabulary has {self.vocab_size!r} tokens: give 1 to {MOST_TOKENS}")
        if self.device not in DEVICES:
            raise SettingError(f"unknown device {one_line(str(self.device))}: {nearest(str(self.device), DEVICES)}")
        if self.model != TINY_MODEL and self.checkpoint is None:
            raise _unknown_model(self.model)
        check_shape(self.shape)
        check_dtype(self.dtype)

    def blocks_in(self, memory: str, block_size: int, more: int = 0) -> int:
        """How many blocks ``2GiB`` or ``90%`` of what is free on the device give. Raises SettingError.

        more
            Bytes that will be free too: those of the pool that is replaced.
        """
        asked = parse_memory(memory, lambda: self._free_for_tensors(more, block_size))
        return blocks_in(asked, self.shape, block_size, self.dtype)

    def make_worker(self, behaviour: Behaviour) -> Worker | None:
        """The worker with its memory; None for ``none``, and for ``auto`` where there is no torch.

        Raises SettingError (no such device), OutOfMemory or MissingPackage.
        """
        if self.device == "none":
            return None
        try:
            from kvnb.tensors.worker import Worker
        except ModuleNotFoundError as error:
            if self.device == "auto":
                return None
            raise MissingPackage.named("torch", f"--device {self.device}") from error
        return Worker(
            behaviour.num_blocks, behaviour.block_size, self.shape, device=self.device, dtype=self.dtype,
            sliding_window=behaviour.sliding_window, vocab_size=self.vocab_size, model=self._pretrained(),
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any] | None:
        """Plain JSON values for a journal's header; None where there is no memory."""
        if self.device == "none":
            return None
        kept = {name: getattr(self, name) for name in ("device", "dtype", "model", "shape", "vocab_size")}
        return {**kept, "shape": list(self.shape)}

    @classmethod
    def from_dict(
        cls,
        values: Mapping[str, Any] | None,
        device: str | None = None,
        model: str | None = None,
        progress: Each | None = None,
    ) -> Memory:
        """The reverse, on another ``device``, or with the ``model`` at another path, if one is given.

        progress
            Goes along where a GGUF file is converted.

        Raises SettingError for what this version or this machine does not have.
        """
        if values is None:
            if model is None:
                return cls(device=device or "none")
            checkpoint = checkpoint_of(model, progress)
            sizes: dict[str, Any] = {"shape": checkpoint.shape, "vocab_size": checkpoint.vocab_size} if checkpoint else {}
            return cls(device=device or "auto", model=model, checkpoint=checkpoint, **sizes)
        try:
            given = {**values, "shape": KVShape(*values["shape"]), "device": device or values["device"]}
            was = given["model"] if given["device"] != "none" or model is not None else TINY_MODEL
            given["model"] = was if model is None else model
            found = cls(**given, checkpoint=_found(given["model"], model is None, progress))
        except (KeyError, TypeError) as error:
            raise SettingError(f"the memory in the journal's header cannot be used ({one_line(str(error))})") from error
        read = found.checkpoint
        if (was == TINY_MODEL) != (read is None) or (read and (read.shape, read.vocab_size) != (found.shape, found.vocab_size)):
            raise SettingError(f"{one_line(found.model)} is another model than the journal's: give --model PATH or --device none")
        return found

    def _pretrained(self) -> Pretrained | None:
        if self.checkpoint is None:
            return None
        from kvnb.models.pretrained import pretrained
        from kvnb.tensors.devices import pick_device

        return pretrained(self.checkpoint, pick_device(self.device))

    def _free_for_tensors(self, more: int, block_size: int) -> int:
        """What is free on the device, less what the pool's own objects take beside the tensors."""
        if self.device == "none":
            raise SettingError("a percentage is of a device's free memory, --device none has none: give bytes such as 2GiB")
        try:
            from kvnb.tensors.devices import free_bytes, pick_device
        except ModuleNotFoundError as error:
            raise MissingPackage.named("torch", "a percentage of the device's memory") from error
        device, each = pick_device(self.device), bytes_per_block(self.shape, block_size, self.dtype)
        return max(0, free_bytes(device) + more - self._weights_to_come(device)) * each // costs(each, device.type)

    def _weights_to_come(self, device: torch.device) -> int:
        """Bytes that the model will take, if it is not there already."""
        if self.checkpoint is None:
            return 0
        from kvnb.models.pretrained import is_loaded

        return 0 if is_loaded(self.checkpoint, device) else self.checkpoint.weight_bytes


def checkpoint_of(model: str, progress: Each | None = None) -> Checkpoint | None:
    """What lies at the path ``model``, or in the package that a short name stands for; None for ``tiny``.

    Raises as ``open_checkpoint`` and ``packaged``.
    """
    if not isinstance(model, str) or model == TINY_MODEL:
        return None
    if not model:
        raise _unknown_model(model)
    from kvnb.models.packaged import PACKAGED, packaged

    if model in PACKAGED and not Path(model).exists():
        model = str(packaged(model))
    if os.sep not in model and not Path(model).exists() and not model.startswith("~"):
        raise _unknown_model(model)
    from kvnb.models.checkpoint import open_checkpoint

    return open_checkpoint(model, progress) if progress else open_checkpoint(model)


def _found(model: str, recorded: bool, progress: Each | None) -> Checkpoint | None:
    """As ``checkpoint_of``; where nobody gave that name, but a journal has it, the error says what can be given."""
    try:
        return checkpoint_of(model, progress)
    except SettingError as error:
        if not recorded:
            raise
        raise SettingError(f"the journal's model cannot be read: {error}; or give --model PATH or --device none") from error


def _unknown_model(model: str) -> SettingError:
    from kvnb.models.packaged import PACKAGED

    return SettingError(f"unknown model {one_line(model)}, and no such folder or file: {nearest(model, [TINY_MODEL, *PACKAGED])}")


def kv_shape(
    shape: str | None = None, layers: int | None = None, kv_heads: int | None = None, head_size: int | None = None
) -> KVShape:
    """A named shape, or the tiny model's, with what is given in its place. Raises SettingError for an unknown name."""
    known = TINY if shape is None else named_shape(shape)
    given = {"layers": layers, "kv_heads": kv_heads, "head_size": head_size}
    # A numpy int is one too; what is no whole number is told by whoever checks the shape.
    plain = {name: getattr(value, "__index__", lambda value=value: value)() for name, value in given.items() if value is not None}
    return known._replace(**plain)
