"""What a journal says of itself when it is a fork: of which pool, up to which step, and what was refused there.

Must not know: how a fork is made. It stands in the journal's header, outside the digest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple


class Left(NamedTuple):
    """A command of the original that the fork did not do: its number there, its words without tokens, and why, in one line."""

    number: int
    command: str
    why: str


class Forked(NamedTuple):
    """Where a fork comes from.

    pool, step, digest
        The original, the step up to which it was replayed, and its digest after that.
    settings
        The settings that decide what a pool does and that are other than the original's.
    done
        The original's steps that were done again, as first and last numbers; the fork's own are 1, 2, 3 and so on.
    refused, skipped
        What was not done: refused by the fork, or left out because of that.
    differs
        The first of the original's steps that came out otherwise, hashes aside; 0: none did.
    """

    pool: str
    step: int
    digest: str
    settings: Mapping[str, Any]
    done: tuple[tuple[int, int], ...]
    refused: tuple[Left, ...]
    skipped: tuple[Left, ...]
    differs: int

    @property
    def num_done(self) -> int:
        """How many commands were done again: the fork began with so many steps."""
        return sum(last - first + 1 for first, last in self.done)

    @property
    def numbers(self) -> Iterator[int]:
        """The original's numbers of the fork's steps 1, 2, 3 and so on."""
        return chain.from_iterable(range(first, last + 1) for first, last in self.done)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {**self._asdict(), "settings": dict(self.settings)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Forked:
        """The reverse. Raises KeyError, TypeError or ValueError for what is none."""
        settings = values["settings"]
        if not isinstance(settings, Mapping) or not all(isinstance(value, _PLAIN) for value in settings.values()):
            raise TypeError("a fork's settings are plain values")
        return cls(
            _text(values["pool"]), _whole(values["step"]), _text(values["digest"]), dict(settings),
            _spans(values["done"], _whole(values["step"])),
            tuple(map(_left, values["refused"])), tuple(map(_left, values["skipped"])), _whole(values["differs"]),
        )  # fmt: skip


_PLAIN = (str, int, type(None))


def spans(numbers: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Rising numbers as first and last of each run without a gap."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1] = found[-1][0], number
        else:
            found.append((number, number))
    return tuple(found)


def _spans(values: Sequence[Any], last: int) -> tuple[tuple[int, int], ...]:
    found = tuple((_whole(first), _whole(last)) for first, last in values)
    ends = [0, *chain.from_iterable(found)]
    gaps = all(before < first for before, first in zip(ends[::2], ends[1::2], strict=False))
    if not gaps or any(first > end for first, end in found) or ends[-1] > last:
        raise ValueError("the steps that a fork did do not rise")
    return found


def _left(values: Sequence[Any]) -> Left:
    number, command, why = values
    return Left(_whole(number), _text(command), _text(why))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise TypeError(f"{value!r} is no number of a step")
    return value
