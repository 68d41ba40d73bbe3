"""The Lab: how a pool is made, and every command that changes it.

Must not know: IPython, tensors, and how anything is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from kvnb.arguments import cache_keys, request_name, sampling, whole
from kvnb.errors import CommandError, OutOfMemory, SettingError, named
from kvnb.journal import Journal, jsonl
from kvnb.journal.fork import Evictions, fork
from kvnb.journal.journal import Cell
from kvnb.journal.recorder import Recorder
from kvnb.lab.looking import LabLooks
from kvnb.lab.settings import Settings, pool_name, root, size
from kvnb.manager import Behaviour
from kvnb.manager.command import Command
from kvnb.manager.worker import Worker
from kvnb.memory import Memory, kv_shape
from kvnb.prompts import get_tokenizer, prompt_of, recorded_tokenizer
from kvnb.results import Generated, StepResult
from kvnb.views.progress import progress

_origin: ContextVar[dict[str, Any] | None] = ContextVar("kvnb_origin", default=None)
"""The origin of the steps that this thread runs: a click may come on a thread of its own while a cell runs."""


class Lab(LabLooks):
    """A pool of ``num_blocks`` blocks, block 0 included, with its memory, its requests and its history.

    block_size
        Tokens a block; 16 is vLLM's default.
    name
        How the pool is called in journals and lists.
    prefix_caching, free_to, free_order, full_hit, sliding_window, hash, none_hash
        See ``Behaviour``; by default the parent hash is vLLM's: of PYTHONHASHSEED.
    tokenizer
        ``chars``, ``bytes`` or the path of a ``tokenizer.json``; by default bytes where a model reads them, else chars.
    device, dtype, model
        See ``Memory``; ``device="none"``: block ids only, no memory behind them.
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
        model: str = "tiny",
        shape: str | None = None,
        layers: int | None = None,
        kv_heads: int | None = None,
        head_size: int | None = None,
        memory: str | int | None = None,
        log: str | Path | None = None,
        force: bool = False,
        replacing: Lab | None = None,
    ) -> None:
        # What device was asked for decides, not what was found: equal commands give equal digests on every machine.
        self._tokenizer = get_tokenizer(tokenizer or ("chars" if device == "none" else "bytes"))
        self.memory = Memory(
            device=device, dtype=dtype, model=model, shape=kv_shape(shape, layers, kv_heads, head_size),
            vocab_size=self._tokenizer.vocab_size_on(device),
        )  # fmt: skip
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
        replacing: Lab | None = None,
    ) -> Lab:
        """The pool that a journal file describes, after its last finished step.

        A file that a pool was writing with ``log`` is gone on with; ``copy`` leaves it alone. ``name`` is another
        name for the pool, ``device`` another device for its memory (``none``: block ids only); the memory is computed
        again from the first step. ``lab.torn_bytes`` says how much of an unfinished line was left out. Raises
        JournalError for a file that cannot be trusted, or is too long to be computed again.
        """
        read = jsonl.read(Path(path), lambda lines: progress(lines, "read"))
        lab = cls.__new__(cls)
        read.journal.name = name or read.journal.name
        lab._tokenizer = recorded_tokenizer(read.journal.behaviour.tokenizer)
        lab.memory = Memory.from_dict(read.journal.memory, device)
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
        self.cell: Cell | None = None

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

    # --- changing ------------------------------------------------------------------------------------------

    def admit(
        self,
        name: str,
        text: str | None = None,
        *,
        tokens: Iterable[int] | None = None,
        file: str | Path | None = None,
        salt: str | None = None,
        lora: str | tuple[str, str] | None = None,
        chunk: int | None = None,
        defer: bool = False,
        fail: bool = False,
    ) -> StepResult:
        """Start a request, or without a prompt resume a preempted one.

        salt, lora
            Keep its blocks apart from equal tokens under another salt or adapter (a name, or a name and a path).
        chunk
            Only the first so many uncached tokens now; ``prefill`` schedules the rest.
        defer
            Schedule without computing; ``step``, or the next command that computes, runs the forward pass.
        fail
            The forward pass fails on purpose: its hashes are dropped, the request is preempted.
        Raises RequestError, UnknownName, OutOfBlocks, NeverFits or CommandError.
        """
        name = request_name(name)
        prompt = {**prompt_of(self._tokenizer, text, tokens, file), **cache_keys(salt, lora)}
        if "text" not in prompt and "tokens" not in prompt:
            self._check_can_resume(name, bool(prompt))
        if chunk is not None:
            prompt["chunk"] = whole("chunk", chunk)
        return self._change("admit", name=name, **prompt, **_pass(defer, fail))

    def prefill(self, name: str, n: int | None = None, *, defer: bool = False, fail: bool = False) -> StepResult:
        """Schedule the next ``n`` tokens of a prompt admitted in chunks; by default all that is left. The rest as ``admit``."""
        request = self._recorder.engine.scheduler.find(request_name(name))
        left = request.num_tokens - request.num_computed_tokens
        return self._change("prefill", name=name, n=left if n is None else whole("n", n), **_pass(defer, fail))

    def append(
        self,
        name: str,
        text: str | None = None,
        *,
        tokens: Iterable[int] | None = None,
        draft: str | Iterable[int] | None = None,
        defer: bool = False,
        fail: bool = False,
    ) -> StepResult:
        """Give a running request more tokens, and with ``draft`` slots for tokens that may be rejected. The rest as ``admit``."""
        name = request_name(name)
        prompt = prompt_of(self._tokenizer, text, tokens, None)
        if not prompt:
            raise CommandError(f"nothing to append to {named(name)}: give a text or tokens")
        if draft == "":
            draft = None
        if isinstance(draft, str):
            prompt["draft"] = prompt_of(self._tokenizer, draft, None, None)
        elif draft is not None:
            prompt["draft"] = prompt_of(self._tokenizer, None, draft, None)
        return self._change("append", name=name, **prompt, **_pass(defer, fail))

    def step(self, *, fail: bool = False) -> StepResult:
        """One forward pass over all that was scheduled with ``defer``, in order. Raises RequestError when there is nothing."""
        return self._change("step", **_pass(False, fail))

    def generate(self, name: str, k: int, *, temperature: float = 0.0, seed: int = 0) -> Generated:
        """``k`` decode steps of a running request, each an ``append`` in the journal; all of them fit, or none is made.

        temperature
            0: the most probable token. Above: drawn with ``seed``, which gives the same tokens every time.
        Raises as ``append``, and SettingError for a pool without memory.
        """
        name, k = request_name(name), whole("k", k)
        worker = self._memory("generate")
        scheduler = self._recorder.engine.scheduler
        scheduler.check_decode(name, k)
        how = sampling(temperature, seed)
        origin = {"model": self.memory.model, **how, **(_origin.get() or {})}
        steps = []
        for _ in range(k):
            token = worker.next_token(name, scheduler.find(name).num_tokens, **how)
            steps.append(self._recorder.run(Command("append", {"name": name, "tokens": [token]}), self.cell, origin))
        return Generated(self, steps, self.manager.block_table(name), self._tokenizer.text)

    def reweight(self, seed: int) -> StepResult:
        """Change the model's weights in place, as a training loop does between steps; what the cache holds is then wrong.

        The next token of a running request was decided before, by the weights that computed its last token.
        Raises SettingError for a pool without memory.
        """
        self._memory("reweight")
        return self._change("reweight", seed=whole("seed", seed))

    def accept(self, name: str, k: int) -> StepResult:
        """Make the first ``k`` drafts tokens of the request and drop the others. Raises UnknownName or RequestError."""
        return self._change("accept", name=request_name(name), k=whole("k", k))

    def release(self, *names: str, all: bool = False) -> StepResult:
        """End requests; ``all`` of them, in the order of their admission. Raises UnknownName or RequestError."""
        if all and names:
            raise CommandError("give names or all, not both")
        return self._change("release", names=[request_name(name) for name in (self.requests if all else names)])

    def preempt(self, name: str) -> StepResult:
        """Take a running request's blocks away; it keeps its tokens. Raises UnknownName or RequestError."""
        return self._change("preempt", name=request_name(name))

    def evict(self, *ids: int) -> StepResult:
        """Drop the hashes of these blocks. Raises UnknownName for block 0 and ids out of range."""
        return self._change("evict", ids=[whole("the block id", block_id) for block_id in ids])

    def reset(self) -> StepResult:
        """Drop the whole prefix cache. Raises ResetRefused while a request holds a block."""
        return self._change("reset")

    def undo(self) -> StepResult:
        """Go back one step; the journal only grows, by a step that says so. Raises JournalError at the start."""
        return StepResult(self, self._recorder.undo(self.cell, _origin.get()), ())

    def _change(self, verb: str, **args: Any) -> StepResult:
        step = self._recorder.run(Command(verb, args), self.cell, _origin.get())
        computed = self._recorder.execution.last_pass_tokens
        return StepResult(self, step, self.manager.block_table(args.get("name", "")), computed)

    def _check_can_resume(self, name: str, has_keys: bool) -> None:
        if name not in self.requests:
            raise CommandError(f"{named(name)} needs a prompt: only a preempted request is admitted without one")
        if has_keys:
            raise CommandError(f"{named(name)} keeps the salt and adapter of its admission: leave them out to resume it")

    @contextmanager
    def clicked(self) -> Iterator[None]:
        """What runs inside was clicked, not typed: its steps say so, outside the digest."""
        before = _origin.set({"clicked": True})
        try:
            yield
        finally:
            _origin.reset(before)

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


def _pass(defer: bool, fail: bool) -> dict[str, bool]:
    return {name: True for name, given in (("defer", defer), ("fail", fail)) if given}
