"""What can be read from a Lab: tables, queue, cache, digest, memory, checks. Nothing here changes the pool.

Must not know: the commands that change it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from kvnb.arguments import request_name
from kvnb.core import BlockPool
from kvnb.core.invariants import Equation
from kvnb.errors import RequestError, SettingError, named, one_line
from kvnb.journal import Journal, State, jsonl, replay
from kvnb.journal.log_file import check_may_overwrite, check_not_in_use
from kvnb.journal.recorder import Recorder
from kvnb.manager import Behaviour, KVCacheManager
from kvnb.memory import Memory
from kvnb.views.progress import progress

if TYPE_CHECKING:
    import plotly.graph_objects as go  # type: ignore[import-untyped]
    import torch

    from kvnb.tensors.prove import Proof
    from kvnb.tensors.worker import Worker


class LabLooks:
    """The half of a Lab that only looks; see ``Lab``."""

    _recorder: Recorder
    memory: Memory

    @property
    def journal(self) -> Journal:
        """The history: every finished step. For looking only."""
        return self._recorder.journal

    @property
    def name(self) -> str:
        """The pool's name."""
        return self.journal.name

    @property
    def behaviour(self) -> Behaviour:
        """The settings that decide what the pool does."""
        return self.journal.behaviour

    @property
    def manager(self) -> KVCacheManager:
        """The block tables. A rebuild after an interrupt or an undo makes a new one."""
        return self._recorder.engine.scheduler.kv_cache_manager

    @property
    def pool(self) -> BlockPool:
        """The blocks, the free queue, the map."""
        return self.manager.block_pool

    @property
    def worker(self) -> Worker | None:
        """The owner of the memory; None for ``device="none"``."""
        return cast("Worker | None", self._recorder.execution.worker)

    @property
    def kv(self) -> torch.Tensor:
        """The memory: a tensor (blocks, layers, 2 for K and V, slots, KV heads, head size); ``kv[5]`` is block 5.

        Raises SettingError for a pool without memory.
        """
        return self._memory("a tensor").store.kv

    @property
    def num_forward_tokens(self) -> int:
        """Tokens that went through the model so far; what a hit gave did not. Without memory: that would have."""
        return self._recorder.execution.num_forward_tokens

    @property
    def requests(self) -> tuple[str, ...]:
        """Names of the running and preempted requests, in the order of admission."""
        return tuple(self._recorder.engine.scheduler.requests)

    @property
    def free_queue(self) -> tuple[int, ...]:
        """Block ids, front first."""
        return tuple(block.block_id for block in self.pool.free_block_queue)

    def block_table(self, name: str) -> tuple[int, ...]:
        """The block ids of a request, in the order of its tokens. Raises UnknownName."""
        self._recorder.engine.scheduler.find(name)
        return self.manager.block_table(name)

    @property
    def cached(self) -> frozenset[int]:
        """Ids of the blocks that carry a hash."""
        return frozenset(block.block_id for block in self.pool.blocks if block.block_hash is not None)

    @property
    def usage(self) -> float:
        """1 - free / (N - 1)."""
        return self.pool.get_usage()

    @property
    def digest(self) -> str:
        """Hex SHA-256 over the settings and every step."""
        return self.journal.digest

    @property
    def state(self) -> State:
        """The journal folded to its last step: what is drawn. For looking only."""
        return self.journal.state

    @property
    def log_path(self) -> Path | None:
        """The file that steps are written to, if any."""
        return self._recorder.log_path

    def figure(self, name: str = "queue", **options: Any) -> go.Figure:
        """A plotly figure of the history: ``queue``, ``usage``, ``blocks`` or ``prefill``; options as in ``kvnb.views.figures``.

        Raises UnknownName for another name, MissingPackage without plotly.
        """
        from kvnb.views.figures import figure

        return figure(self.journal, name, **options)

    def check(self) -> list[Equation]:
        """Every invariant as an equation: of the pool, of its memory, and that the journal, folded, is the live pool."""
        with self._recorder.at_rest:
            engine = self._recorder.engine
            same = self.journal.state.columns() == replay.live_columns(engine)
            fold = Equation("journal folded = live pool", f"{len(self.journal)} steps, {'no' if same else 'a'} difference", same)
            return [*engine.scheduler.check(), *self._check_memory(), fold]

    def _check_memory(self) -> list[Equation]:
        if self.worker is None:
            return []
        from kvnb.tensors.invariants import check

        scheduler = self._recorder.engine.scheduler
        tables = self.manager.tables()
        size = self.behaviour.block_size
        # Blocks that wait for a forward pass may be shared already; 0 stands for what cannot be expected to be there.
        empty = {block_id for name, first in scheduler.waiting.items() for block_id in tables[name][first // size :]}
        there = {name: [0 if block_id in empty else block_id for block_id in table] for name, table in tables.items()}
        return check(self.worker, there, {name: scheduler.find(name).num_computed_tokens for name in tables})

    def prove(self, name: str) -> Proof:
        """Compute a request again densely, without any cache, and compare logits, K, V and the next token.

        Raises UnknownName, SettingError for a pool without memory, RequestError for a request that holds no block or
        waits to be computed, or where the device has no room for it.
        """
        with self._recorder.at_rest:
            return self._prove(request_name(name))

    def verify(self) -> replay.Verdict:
        """Run the whole journal again on a fresh pool and compare every step."""
        with progress(self.journal.steps, "verify") as steps:
            return replay.verify(self.journal, steps)

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the journal to a file, all or nothing. Raises JournalError when that would overwrite another's file."""
        path = Path(path)
        check_may_overwrite(path, force)
        check_not_in_use(path)
        jsonl.save(self.journal, path)
        return path

    def _prove(self, name: str) -> Proof:
        worker = self._memory("prove")
        scheduler = self._recorder.engine.scheduler
        request = scheduler.find(name)
        if request.status != "running":
            raise RequestError(f"{named(name)} is preempted and holds no block: admit it without a text first")
        if name in scheduler.waiting:
            raise RequestError(f"{named(name)} has tokens that are not computed yet: step first")
        from kvnb.tensors.prove import prove

        table = self.manager.block_table(name)
        nulled = next((place for place, block_id in enumerate(table) if block_id), 0)
        tokens = [*request.token_ids[: request.num_computed_tokens], *request.drafts]
        try:
            return prove(worker, name, tokens, len(request.drafts), nulled)
        except (RuntimeError, MemoryError) as error:
            why = one_line(str(error) or "out of memory", 120)
            raise RequestError(f"the proof of {named(name)} cannot be computed ({why}): nothing changed") from error

    def _memory(self, purpose: str) -> Worker:
        worker = self.worker
        if worker is None:
            why = (
                "torch is not installed: pip install torch" if self.memory.device == "auto" else "it was made with --device none"
            )
            raise SettingError(f"{purpose} needs memory and a model, this pool has none ({why})")
        return worker

    def __repr__(self) -> str:
        size = f"{self.behaviour.num_blocks} blocks of {self.behaviour.block_size} tokens"
        return f"<Lab {self.name!r}: {size}, step {len(self.journal)}>"
