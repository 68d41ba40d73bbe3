"""What a pool is made with: what was asked for, made whole; for a fork the rest as the original has it.

Must not know: how a pool is made, how a history is run again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kvnb.core.hashing import none_hash
from kvnb.errors import RequestError, SettingError, named, nearest, one_line
from kvnb.manager import Behaviour
from kvnb.manager.command import Command
from kvnb.manager.hash_functions import HASH_FUNCTIONS, NOT_CRYPTOGRAPHIC, get_hash_function
from kvnb.memory import Memory, checkpoint_of, kv_shape
from kvnb.prompts import Tokenizer, get_tokenizer, recorded_tokenizer
from kvnb.tensors.shapes import named_shape
from kvnb.views.progress import progress

if TYPE_CHECKING:
    from kvnb.models.checkpoint import Checkpoint

BEHAVIOUR = (
    "num_blocks", "block_size", "prefix_caching", "free_to", "free_order", "full_hit", "sliding_window", "hash", "tokenizer",
)  # fmt: skip
SHAPE = ("layers", "kv_heads", "head_size")
SETTINGS = (*BEHAVIOUR, "device", "dtype", "model", "shape", *SHAPE, "memory")


class Settings(NamedTuple):
    """The settings of a pool; ``model_differs``: a fork's model may know fewer tokens than the original's."""

    behaviour: Behaviour
    memory: Memory
    tokenizer: Tokenizer
    model_differs: bool = False

    def changed(self, asked: Mapping[str, Any], free: int) -> Settings:
        """These with the settings ``asked`` in their place, by their keywords. Raises SettingError, naming the setting.

        free
            Bytes that will be free too: those of the pool that is replaced.
        """
        for name in asked:
            if name not in SETTINGS:
                raise SettingError(f"a fork has no setting {one_line(name)}: {nearest(name, SETTINGS)}")
        given = {name: asked[name] for name in BEHAVIOUR if name in asked}
        tokenizer, memory = refurnish(self.tokenizer, self.memory, asked)
        given["tokenizer"] = tokenizer.identity
        if "hash" in given and given["hash"] != self.behaviour.hash:
            given["none_hash"] = root(given["hash"])
        if "memory" in asked:
            block_size = given.get("block_size", self.behaviour.block_size)
            given["num_blocks"] = size(given.get("num_blocks"), asked["memory"], memory, block_size, free)
        return Settings(replace(self.behaviour, **given), memory, tokenizer, memory != self.memory)

    def check(self, command: Command, tokens: Sequence[int], before: int) -> None:
        """Raises a KvnbError for what a fork's model cannot do; ``before``: tokens of the request that stand before these."""
        # The worker, which is made later, would refuse it as well: by then the step is in the fork's journal.
        if not self.model_differs or self.memory.device == "none":
            return
        checkpoint, last = self.memory.checkpoint, self.memory.vocab_size - 1
        for token in (min(tokens, default=0), max(tokens, default=0)):
            if not 0 <= token <= last:
                raise RequestError(f"token {token} is not in the model's vocabulary (0 to {last}): --device none takes any token")
        if checkpoint and before + len(tokens) > checkpoint.max_tokens:
            raise RequestError(f"{before + len(tokens):,} tokens in a request, the model was made for {checkpoint.max_tokens:,}")
        if checkpoint and command.verb == "reweight":
            raise SettingError(f"the weights are those of {named(checkpoint.name)}, not of a seed")


def furnish(
    tokenizer: str | None,
    device: str,
    dtype: str,
    model: str | Path,
    shape: str | None,
    **parts: int | None,
) -> tuple[Tokenizer, Memory]:
    """The tokenizer and the memory of a new pool. Raises SettingError, naming the setting, and as ``checkpoint_of``."""
    model = os.fspath(model) if isinstance(model, Path) else model
    checkpoint = checkpoint_of(model, progress)
    if checkpoint:
        given = {"tokenizer": tokenizer, "shape": shape, **parts}
        _check_own(checkpoint, [name for name, value in given.items() if value is not None])
        return get_tokenizer(str(checkpoint.tokenizer_file)), _of(checkpoint, model, device, dtype)
    # What device was asked for decides, not what was found: equal commands give equal digests on every machine.
    found = get_tokenizer(tokenizer or ("chars" if device == "none" else "bytes"))
    kept = kv_shape(shape, **parts)
    return found, Memory(device=device, dtype=dtype, model=model, shape=kept, vocab_size=found.vocab_size_on(device))


def refurnish(tokenizer: Tokenizer, memory: Memory, asked: Mapping[str, Any]) -> tuple[Tokenizer, Memory]:
    """The same for a fork: what is not ``asked`` stays as it is. Raises as ``furnish``."""
    if isinstance(asked.get("model"), Path):
        asked = {**asked, "model": os.fspath(asked["model"])}
    checkpoint = checkpoint_of(asked["model"], progress) if "model" in asked else memory.checkpoint
    if checkpoint:
        _check_own(checkpoint, [name for name in ("tokenizer", "shape", *SHAPE) if name in asked])
        model, device, dtype = (asked.get(name, getattr(memory, name)) for name in ("model", "device", "dtype"))
        own = get_tokenizer(str(checkpoint.tokenizer_file)) if "model" in asked else tokenizer
        return own, _of(checkpoint, model, device, dtype)
    shape = named_shape(asked["shape"]) if "shape" in asked else memory.shape
    parts = {name: asked[name] for name in SHAPE if name in asked}
    others = {name: asked[name] for name in ("device", "dtype", "model") if name in asked}
    found = get_tokenizer(asked["tokenizer"]) if "tokenizer" in asked else tokenizer
    if "tokenizer" in asked or ("device" in asked and memory.device == "none"):
        others["vocab_size"] = found.vocab_size_on(others.get("device", memory.device))
    return found, replace(memory, shape=shape._replace(**parts), checkpoint=None, **others)


def recorded(identity: str, memory: Memory) -> Tokenizer:
    """The tokenizer of a loaded journal: its model's own where that is here. Raises SettingError for another model's."""
    if memory.checkpoint is None:
        return recorded_tokenizer(identity)
    found = get_tokenizer(str(memory.checkpoint.tokenizer_file))
    if found.identity != identity:
        raise SettingError(
            f"{named(memory.checkpoint.name)} has another tokenizer than the journal: give --model PATH or --device none"
        )
    return found


def _of(checkpoint: Checkpoint, model: str, device: str, dtype: str) -> Memory:
    sizes = {"shape": checkpoint.shape, "vocab_size": checkpoint.vocab_size}
    return Memory(device=device, dtype=dtype, model=model, checkpoint=checkpoint, **sizes)  # type: ignore[arg-type]


def _check_own(checkpoint: Checkpoint, asked: Sequence[str]) -> None:
    if asked:
        what = ", ".join(f"--{name.replace('_', '-')}" for name in asked)
        raise SettingError(f"the model {named(checkpoint.name)} has its own tokenizer and shape: leave {what} out")


def pool_name(name: object) -> str:
    """A pool's name. Raises SettingError for what is none."""
    if not isinstance(name, str) or not name:
        raise SettingError(f"the pool's name is {name!r}: give a text that is not empty")
    return name


def size(num_blocks: int | None, memory: str | int | None, settings: Memory, block_size: int, free: int) -> int:
    """How many blocks: as many as said, or as bytes give; ``free`` as in ``Settings.changed``. Raises SettingError."""
    if (num_blocks is None) == (memory is None):
        raise SettingError("give the number of blocks, or --memory such as 2GiB: one of them")
    if memory is None:
        return num_blocks  # type: ignore[return-value]  # Behaviour judges it
    if isinstance(memory, bool) or not isinstance(memory, str | int):
        raise SettingError(f"memory is {memory!r}: give bytes such as 2GiB, or 90%")
    Behaviour(num_blocks=1, block_size=block_size)
    return settings.blocks_in(str(memory), block_size, free)


def root(hash_name: str) -> str:
    """The parent hash of first blocks, in hex; "" for an unknown function, which ``Behaviour`` refuses by its name."""
    if hash_name not in HASH_FUNCTIONS:
        return ""
    drawn = os.urandom(32).hex() if hash_name in NOT_CRYPTOGRAPHIC else None
    return none_hash(get_hash_function(hash_name), os.environ.get("PYTHONHASHSEED", drawn)).hex()
