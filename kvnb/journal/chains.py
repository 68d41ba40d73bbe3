"""Where a hash comes from: the tokens it covers and the hash before it. Events tell of hashes, commands tell of tokens.

Must not know: which blocks carry a hash, or whether it is still in the map.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from kvnb.core.events import Hashed
from kvnb.core.hashing import short_key
from kvnb.journal.journal import Journal
from kvnb.journal.transcript import Transcript
from kvnb.manager.request import Request, get_request_block_hasher


class Link(NamedTuple):
    """One full block of tokens in its chain.

    parent
        The hash of the block before it; None: it is the first.
    place
        How many blocks come before it.
    tokens
        What it says.
    apart
        Its request's salt and adapter, in words; they keep equal tokens apart.
    """

    parent: str | None
    place: int
    tokens: tuple[int, ...]
    apart: str = ""


def links(journal: Journal, keys: Collection[str], k: int | None = None) -> dict[str, Link]:
    """The links of ``keys`` and of all that come before them, from the steps up to ``k`` (default: the last).

    A key that no step of these has hashed is left out. Cost: one pass over the commands, and the hashing of the
    requests that made these keys.
    """
    line = journal.lineage(k)
    makers = _makers(journal, line, keys)
    transcript, chains = Transcript(journal.behaviour, hashes=False), _Chains(journal)
    for number in line[: line.index(max(makers)) + 1] if makers else ():
        command = journal.steps[number - 1].command
        transcript.apply(command)
        if number in makers:
            chains.follow(transcript.requests[command.args["name"]])
    return chains.links


def _makers(journal: Journal, line: Sequence[int], keys: Collection[str]) -> set[int]:
    """For each key one step that hashed it, the latest."""
    wanted, makers = set(keys), set()
    for number in reversed(line):
        for event in journal.steps[number - 1].of(Hashed):
            if not wanted.isdisjoint(event.keys):
                wanted.difference_update(event.keys)
                makers.add(number)
        if not wanted:
            break
    return makers


class _Chains:
    """The links of the requests it was shown; each block of tokens is hashed once."""

    def __init__(self, journal: Journal) -> None:
        self.links: dict[str, Link] = {}
        self._size = journal.behaviour.block_size
        self._hasher = get_request_block_hasher(journal.behaviour)
        self._done: dict[str, tuple[Request, list[bytes]]] = {}

    def follow(self, request: Request) -> None:
        """Note all full blocks of a request."""
        known, hashes = self._done.get(request.name, (request, []))
        # A name that comes back belongs to another request.
        hashes = hashes if known is request else []
        self._done[request.name] = request, hashes
        first = len(hashes)
        self._hasher(hashes, request.token_ids, request.salt, request.lora)
        apart = _apart(request)
        parent = short_key(hashes[first - 1]) if first else None
        for place in range(first, len(hashes)):
            key = short_key(hashes[place])
            tokens = tuple(request.token_ids[place * self._size : (place + 1) * self._size])
            self.links.setdefault(key, Link(parent, place, tokens, apart))
            parent = key


def _apart(request: Request) -> str:
    adapter = [f"adapter {request.lora[0]}"] if request.lora else []
    return ", ".join(adapter + ([f"salt {request.salt}"] if request.salt else []))
