"""The settings that decide what a pool does: equal behaviour and equal commands give an equal history.

Must not know: anything that only decorates (pool name, device, log file, versions).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any

from kvnb.core.hashing import HashFunction, none_hash
from kvnb.core.policy import FREE_RULES
from kvnb.errors import SettingError, nearest, one_line
from kvnb.manager.hash_functions import HASH_FUNCTIONS, get_hash_function

FREE_ORDERS = ("reverse", "forward")
MAX_BLOCKS = 10_000_000
"""More block objects than this would fill a laptop's memory before the first command."""


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """What enters the first digest. Raises SettingError, naming the setting, when one is out of range.

    num_blocks
        N, block 0 included.
    block_size
        Tokens a block.
    prefix_caching
        False: nothing is hashed, every lookup misses.
    free_to
        ``front-back`` (vLLM today) or ``back`` (its older rule).
    free_order
        ``reverse`` (vLLM: a request's last block is freed first) or ``forward``.
    full_hit
        True: a lookup may hit every token, as in the seed's sample program; vLLM leaves the last one out.
    sliding_window
        Tokens a layer looks back, 2 or more; None: full attention.
    hash
        Name of the hash function.
    none_hash
        Parent hash of first blocks, in hex.
    tokenizer
        Its identity: a name, or for a file the hash of its content.
    """

    num_blocks: int
    block_size: int = 16
    prefix_caching: bool = True
    free_to: str = "front-back"
    free_order: str = "reverse"
    full_hit: bool = False
    sliding_window: int | None = None
    hash: str = "sha256"
    none_hash: str = ""
    tokenizer: str = "chars"

    def __post_init__(self) -> None:
        _whole_number("the number of blocks", self.num_blocks, most=MAX_BLOCKS)
        _whole_number("block_size", self.block_size)
        if self.sliding_window is not None:
            _whole_number("sliding_window", self.sliding_window, least=2)
        _one_of("hash", self.hash, HASH_FUNCTIONS)
        _one_of("free_to", self.free_to, FREE_RULES)
        _one_of("free_order", self.free_order, FREE_ORDERS)
        for name in ("prefix_caching", "full_hit"):
            if not isinstance(getattr(self, name), bool):
                raise SettingError(f"{name} is {getattr(self, name)!r}: give True or False")
        if not self.none_hash:
            object.__setattr__(self, "none_hash", none_hash(self.hash_function).hex())
        _hex("none_hash", self.none_hash)
        if not isinstance(self.tokenizer, str):
            raise SettingError(f"tokenizer is {self.tokenizer!r}: give its name")

    @property
    def hash_function(self) -> HashFunction:
        """The function that ``hash`` names."""
        return get_hash_function(self.hash)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, for the journal's header and its first digest."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Behaviour:
        """The reverse of ``to_dict``. Raises SettingError for a setting that this version does not have."""
        known = {field.name for field in fields(cls)}
        for name in values:
            if name not in known:
                raise SettingError(f"unknown setting {one_line(name)}: made by a newer kvnb? (pip install -U kvnb)")
        if "num_blocks" not in values:
            raise SettingError("the number of blocks is missing from the settings")
        return cls(**values)


def _whole_number(what: str, value: object, least: int = 1, most: int | None = None) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise SettingError(f"{what} is {value!r}: give a whole number, {least} or more")
    if value < least:
        raise SettingError(f"{what} is {value}: give {least} or more")
    if most is not None and value > most:
        raise SettingError(f"{what} is {value}: at most {most} can be simulated here")


def _hex(what: str, value: object) -> None:
    try:
        bytes.fromhex(value)  # type: ignore[arg-type]  # what is no text raises TypeError
    except (TypeError, ValueError):
        raise SettingError(f"{what} is {value!r}: give hex digits") from None


def _one_of(what: str, value: object, known: Iterable[str]) -> None:
    names = list(known)
    if value not in names:
        raise SettingError(f"unknown {what} {one_line(str(value))}: {nearest(str(value), names)}")
