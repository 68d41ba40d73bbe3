"""The closed list of events, under the names they have on file, and their JSON form ``[kind, field, ...]``.

Must not know: what a fold makes of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kvnb.core import events as pool
from kvnb.core.events import PoolEvent
from kvnb.manager import events as manager
from kvnb.manager.events import ManagerEvent


class Restored(NamedTuple):
    """The state is again that after step ``k``; 0 is the new, empty pool."""

    k: int


Event = PoolEvent | ManagerEvent | Restored

KINDS: dict[str, type[Event]] = {
    "took": pool.Took,
    "hit": pool.Hit,
    "dropped": pool.Dropped,
    "front": pool.Front,
    "back": pool.Back,
    "hashed": pool.Hashed,
    "unhashed": pool.Unhashed,
    "cleared": pool.Cleared,
    "request": manager.RequestIs,
    "tokens": manager.Tokens,
    "looked": manager.Looked,
    "deferred": manager.Deferred,
    "computed": manager.Computed,
    "extended": manager.Extended,
    "nulled": manager.Nulled,
    "ended": manager.Ended,
    "restored": Restored,
}
_NAMES = {kind: name for name, kind in KINDS.items()}


def kind_of(event: Event) -> str:
    """The event's name on file, such as ``took``."""
    return _NAMES[type(event)]


def to_json(event: Event) -> list[Any]:
    """``Took(ids=(1, 2))`` becomes ``["took", (1, 2)]``; JSON writes the tuple as a list."""
    return [_NAMES[type(event)], *event]


def from_json(values: list[Any]) -> Event:
    """The reverse of ``to_json``. Raises KeyError or TypeError for what is no event."""
    kind, *fields = values
    make: Callable[..., Event] = KINDS[kind]
    return make(*[tuple(field) if isinstance(field, list) else field for field in fields])
