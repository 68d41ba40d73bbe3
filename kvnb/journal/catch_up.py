"""A worker that is brought up to date: tokens of many steps are computed in one pass, since only what they leave counts.

Must not know: which steps these are, tensors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kvnb.core.events import PoolEvent
from kvnb.manager.events import Ended, ManagerEvent, RequestIs
from kvnb.manager.worker import Scheduled, Worker


class CatchUp:
    """Stands before ``worker`` and puts its passes together until somebody needs what is in the memory; ``finish`` at the end.

    K and V of a token are the same in a long pass as in a short one, up to rounding. A block that a waiting token reads
    or writes has an owner until its request ends or is preempted: the pass comes before that. A sliding window lets go of
    blocks earlier, so this is not for one. Where a table is corrupt, a block that is read may be anybody's, and passes come
    one by one. After an error in a late pass the memory is torn, as after one in an early pass.
    """

    def __init__(self, worker: Worker, most: int = 2048) -> None:
        self._worker = worker
        self._most = most
        self._late: list[Scheduled] = []
        # The requests whose tables are corrupt.
        self._wrong: set[str] = set()

    def check_tokens(self, token_ids: Sequence[int], num_before: int = 0) -> None:
        """As the worker does."""
        self._worker.check_tokens(token_ids, num_before)

    def follow(self, events: Iterable[PoolEvent | ManagerEvent]) -> None:
        """As the worker does, after what waits for requests that end."""
        events = list(events)
        gone = {e.name for e in events if isinstance(e, Ended) or (isinstance(e, RequestIs) and e.state == "preempted")}
        if gone:
            self.finish()
        self._wrong -= gone
        self._worker.follow(events)

    def forward(self, scheduled: Sequence[Scheduled]) -> None:
        """Put off, joined to what waits."""
        if self._wrong:
            self._worker.forward(scheduled)
            return
        for run in scheduled:
            if not self._join(run):
                self.finish()
                self._late.append(run)
        if sum(len(run.token_ids) for run in self._late) >= self._most:
            self.finish()

    def forget(self, scheduled: Sequence[Scheduled]) -> None:
        """As the worker does, after what waits."""
        self.finish()
        self._worker.forget(scheduled)

    def reweight(self, seed: int) -> None:
        """As the worker does, after what waits."""
        self.finish()
        self._worker.reweight(seed)

    def corrupt(self, name: str, entry: int, other: int) -> None:
        """As the worker does, after what waits."""
        self.finish()
        self._wrong.add(name)
        self._worker.corrupt(name, entry, other)

    def clear(self) -> None:
        """As the worker does; what waits is dropped."""
        self._late.clear()
        self._wrong.clear()
        self._worker.clear()

    def close(self) -> None:
        """As the worker does; what waits is dropped."""
        self._late.clear()
        self._worker.close()

    def finish(self) -> None:
        """Compute what waits, in one pass."""
        late, self._late = self._late, []
        if late:
            self._worker.forward(late)

    @property
    def relative_cost(self) -> float:
        """The worker's."""
        return self._worker.relative_cost

    @property
    def prefers_long_passes(self) -> bool:
        """The worker's."""
        return self._worker.prefers_long_passes

    @property
    def num_bytes(self) -> int:
        """The worker's."""
        return self._worker.num_bytes

    def _join(self, run: Scheduled) -> bool:
        """Whether ``run`` could be put behind what waits."""
        for place, before in enumerate(self._late):
            if before.name == run.name:
                if before.num_drafts or before.first + len(before.token_ids) != run.first:
                    return False
                self._late[place] = before._replace(token_ids=before.token_ids + run.token_ids, num_drafts=run.num_drafts)
                return True
        self._late.append(run)
        return True


if TYPE_CHECKING:
    _kept_promise: type[Worker] = CatchUp
