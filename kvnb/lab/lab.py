"""The Lab: how a pool is made, loaded, forked and let go.

Must not know: IPython, tensors, and how anything is drawn.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kvnb.arguments import whole
from kvnb.errors import OutOfMemory, SettingError
from kvnb.journal import Journal, jsonl
from kvnb.journal.fork import Evictions, fork
from kvnb.journal.recorder import Recorder
from kvnb.lab.changing import LabChanges
from kvnb.lab.settings import Settings, furnish, pool_name, recorded, root, size
from kvnb.manager import Behaviour
from kvnb.manager.worker import Worker
from kvnb.memory import Memory
from kvnb.views.progress import progress


class Lab(LabChanges):
    """A pool of ``num_blocks`` blocks, block 0 included, with its memory, its requests and its history.

    block_size
        Tokens a block; 16 is vLLM's default.
    name
        How the pool is called in journals and lists.
    prefix_caching, free_to, free_order, full_hit, sliding_window, hash, none_hash
        See ``Behaviour``; by default the parent hash is vLLM's: of PYTHONHASHSEED.
    tokenizer
        ``chars``, ``bytes`` or the path of a ``tokenizer.json``; by default bytes where a model reads them, else chars.
    device, dtype
        See ``Memory``; ``device="none"``: block ids only, no memory behind them.
    model
        ``tiny``, ``smollm2``, or the path of a checkpoint: a folder, or a GGUF file. Tokenizer and shape come with it.
    shape, layers, kv_heads, head_size
        What a block holds: a well-known model's shape by its name, or each number; by default the tiny model's.
    memory
        In place of ``num_blocks``: bytes such as ``2GiB``, or ``90%`` of what is free on the device.
    log
        A file that gets every step before the command returns; ``force`` lets it overwrite what is no journal.

    Raises SettingError, JournalError or MissingPackage, and leaves nothing behind. Every command raises a KvnbError and
    changes nothing when it cannot be done; after an interrupt the state is that before or after the command. A forward
    pass that fails or is interrupted is a step too: ComputeFailed or ComputeInterrupted says so, its requests are preempted.
    """

    def __init__(
        self,
        num_blocks: int | None = None,
        *,
        block_size: int = 16,
        name: str = "pool",
        prefix_caching: bool = True,
        free_to: str = "front-back",
        free_order: str = "reverse",
        full_hit: bool = False,
        sliding_window: int | None = None,
        hash: str = "sha256",
        none_hash: str | None = None,
        tokenizer: str | None = None,
        device: str = "auto",
        dtype: str = "float32",
        model: str | Path = "tiny",
        shape: str | None = None,
        layers: int | None = None,
        kv_heads: int | None = None,
        head_size: int | None = None,
        memory: str | int | None = None,
        log: str | Path | None = None,
        force: bool = False,
        replacing: Lab | None = None,
    ) -> None:
        parts = {"layers": layers, "kv_heads": kv_heads, "head_size": head_size}
        self._tokenizer, self.memory = furnish(tokenizer, device, dtype, model, shape, **parts)
        behaviour = Behaviour(
            num_blocks=size(num_blocks, memory, self.memory, block_size, _bytes_of(replacing)), block_size=block_size,
            prefix_caching=prefix_caching, free_to=free_to, free_order=free_order, full_hit=full_hit,
            sliding_window=sliding_window, hash=hash, none_hash=none_hash or root(hash), tokenizer=self._tokenizer.identity,
        )  # fmt: skip
        self._begin(Journal(behaviour, pool_name(name), memory=self.memory.to_dict()), replacing)
        self._write_to(log, force, replacing)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        name: str | None = None,
        copy: bool = False,
        device: str | None = None,
        model: str | Path | None = None,
        replacing: Lab | None = None,
    ) -> Lab:
        """The pool that a journal file describes, after its last finished step.

        A file that a pool was writing with ``log`` is gone on with; ``copy`` leaves it alone. ``name`` is another
        name for the pool, ``device`` another device for its memory (``none``: block ids only), ``model`` another path of
        its model; the memory is computed again from the first step. ``lab.torn_bytes`` says how much of an unfinished
        line was left out. Raises JournalError for a file that cannot be trusted, or is too long to be computed again.
        """
        read = jsonl.read(Path(path), lambda lines: progress(lines, "read"))
        lab = cls.__new__(cls)
        read.journal.name = name or read.journal.name
        lab.memory = Memory.from_dict(read.journal.memory, device, str(model) if model is not None else None, progress)
        lab._tokenizer = recorded(read.journal.behaviour.tokenizer, lab.memory)
        lab._begin(read.journal, replacing, f"loaded from {path}")
        lab.torn_bytes = read.torn
        if read.log and not copy:
            lab._recorder.go_on_in(Path(path), replacing._recorder if replacing else None)
        return lab

    @staticmethod
    def peek_name(path: str | Path) -> str:
        """The pool name in a journal file. Raises JournalError as ``load``."""
        return jsonl.read_pool_name(Path(path))

    def fork(
        self,
        name: str,
        at: int | None = None,
        *,
        evictions: Evictions = "ask",
        log: str | Path | None = None,
        force: bool = False,
        replacing: Lab | None = None,
        **settings: Any,
    ) -> Lab:
        """What if: a new pool ``name`` that ran this pool's commands up to step ``at`` (default: all) under other settings.

        evictions
            ``keep`` or ``skip`` the commands that name block ids, which under other settings hold something else.
        settings
            Any of those that a Lab is made with; the others are this pool's.
        What was refused there, and skipped because of that, ``journal.forked`` tells. Raises as ``Lab`` does, and UnknownName.
        """
        journal = self.journal
        at = len(journal) if at is None else whole("at", at)
        journal.state_at(at)  # raises for a step that is not there
        plan = Settings(self.behaviour, self.memory, self._tokenizer).changed(settings, _bytes_of(replacing))
        lab = Lab.__new__(Lab)
        _, lab.memory, lab._tokenizer, _ = plan
        into = Journal(plan.behaviour, pool_name(name), memory=plan.memory.to_dict())
        with progress(journal.lineage(at), "fork") as line:
            fork(journal, at, into, line, evictions, plan.tokenizer.prompt, plan.check, self.cell)
        lab._begin(into, replacing, f"forked from {self.name} at step {at}")
        lab._write_to(log, force, replacing)
        return lab

    def _begin(self, journal: Journal, replacing: Lab | None, came_from: str = "") -> None:
        worker = self._worker_for(journal.behaviour, replacing)
        self._recorder = Recorder(journal, worker, lambda steps: progress(steps, "run again"))
        self.journal_id, self.came_from, self.torn_bytes = journal.name, came_from, 0
        self.cell = None

    def _worker_for(self, behaviour: Behaviour, replacing: Lab | None) -> Worker | None:
        if behaviour.full_hit and self.memory.device != "none":
            raise SettingError("a full hit leaves the model nothing to compute: turn it off, or use --device none")
        try:
            return self.memory.make_worker(behaviour)
        except OutOfMemory:
            if replacing is None or not replacing._recorder.memory_bytes:
                raise
        # There is no room for both: the old pool gives its memory up, and would compute it again if the new one fails.
        replacing._recorder.give_up_memory()
        return self.memory.make_worker(behaviour)

    def _write_to(self, log: str | Path | None, force: bool, replacing: Lab | None) -> None:
        if log is not None:
            self._recorder.write_to(Path(log), force, replacing._recorder if replacing else None)

    # --- the log file ---------------------------------------------------------------------------------------

    def rewrite_log(self) -> None:
        """Make the log file, if any, hold this journal again: a successor that did not come to be may have begun in it."""
        self._recorder.rewrite_log()

    def close(self) -> None:
        """Let go of the log file and of the memory. Steps are no longer written; whoever asks has the memory computed again."""
        self._recorder.close()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        from kvnb.views.shown import state_shown

        return state_shown(self)._repr_mimebundle_()


def _bytes_of(lab: Lab | None) -> int:
    """What the memory of a pool that is replaced will leave free."""
    return lab._recorder.memory_bytes if lab else 0
