"""What an engine asks of the one who owns the memory: block ids and ranges of tokens go down, nothing comes up.

Must not know: tensors, devices, models.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from kvnb.core.events import PoolEvent
from kvnb.manager.events import ManagerEvent


class Scheduled(NamedTuple):
    """Tokens of one request that wait for a forward pass (vLLM: one entry of ``SchedulerOutput``).

    first
        The place of the first of them in the request: all tokens before it have their K and V already.
    token_ids
        The tokens from there on, drafts last.
    num_drafts
        How many of them are drafts.
    """

    name: str
    first: int
    token_ids: tuple[int, ...]
    num_drafts: int = 0


class Worker(Protocol):
    """The owner of the memory. It keeps no policy: which block and which slot is told to it.

    It follows the same events as every view; of them it reads ``Took`` (ids to fill before their first write),
    ``Extended`` (ids to append to a block table), ``Ended`` and ``RequestIs`` preempted (a table that is gone).
    """

    def check_tokens(self, token_ids: Sequence[int], num_before: int = 0) -> None:
        """Raises RequestError for a token that the model does not know, and for more than it can read behind each other."""

    def follow(self, events: Iterable[PoolEvent | ManagerEvent]) -> None:
        """Bring block tables up to date, and fill blocks that have a new owner."""

    def forward(self, scheduled: Sequence[Scheduled]) -> None:
        """One forward pass over these tokens: all their K and V are written, request by request in this order."""

    def forget(self, scheduled: Sequence[Scheduled]) -> None:
        """A pass that failed: its slots are filled as if nothing had been written."""

    def reweight(self, seed: int) -> None:
        """Change the model's weights in place; K and V that are there stay."""

    def corrupt(self, name: str, entry: int, other: int) -> None:
        """Point the block table of ``name`` at block ``other`` at its place ``entry``."""

    def clear(self) -> None:
        """Back to the new pool: every block filled, no table, the first weights; also after ``close``."""

    def close(self) -> None:
        """Let the memory go; ``clear`` takes it again."""

    @property
    def relative_cost(self) -> float:
        """How long a token takes, as a multiple of one of the tiny model's own shape."""

    @property
    def num_bytes(self) -> int:
        """Bytes of all blocks together; 0 while the memory is let go."""

    @property
    def prefers_long_passes(self) -> bool:
        """Whether tokens that are computed again had better be computed together."""
