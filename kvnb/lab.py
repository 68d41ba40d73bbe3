"""Lab: the one object that users hold. It composes the pool, its journal and its log file.

Must not know: IPython, and how anything is drawn (results draw themselves when they are shown).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kvnb.arguments import cache_keys, request_name, whole
from kvnb.core import BlockPool
from kvnb.core.hashing import none_hash
from kvnb.core.invariants import Equation
from kvnb.errors import CommandError, SettingError, named, nearest, one_line
from kvnb.journal import Journal, State, jsonl, replay
from kvnb.journal.journal import Cell
from kvnb.journal.log_file import check_may_overwrite, check_not_in_use
from kvnb.journal.recorder import Recorder
from kvnb.manager import Behaviour, KVCacheManager
from kvnb.manager.command import Command
from kvnb.manager.hash_functions import HASH_FUNCTIONS, NOT_CRYPTOGRAPHIC, get_hash_function
from kvnb.prompts import get_tokenizer, prompt_of, recorded_tokenizer
from kvnb.results import StepResult

DEVICES = ("none",)


class Lab:
    """A pool of ``num_blocks`` blocks, block 0 included, with its requests and its history.

    block_size
        Tokens a block; 16 is vLLM's default.
    name
        How the pool is called in journals and lists.
    prefix_caching, free_to, free_order, full_hit, sliding_window, hash
        See ``Behaviour``.
    tokenizer
        ``chars``, ``bytes`` or the path of a ``tokenizer.json``.
    device
        ``none``: block ids only, no memory behind them.
    log
        A file that gets every step before the command returns; ``force`` lets it overwrite what is no journal.

    Raises SettingError or JournalError, and leaves nothing behind. Every command raises a KvnbError and changes
    nothing when it cannot be done; after an interrupt the state is that before or after the command.
    """

    def __init__(
        self,
        num_blocks: int,
        *,
        block_size: int = 16,
        name: str = "pool",
        prefix_caching: bool = True,
        free_to: str = "front-back",
        free_order: str = "reverse",
        full_hit: bool = False,
        sliding_window: int | None = None,
        hash: str = "sha256",
        tokenizer: str = "chars",
        device: str = "none",
        log: str | Path | None = None,
        force: bool = False,
        replacing: Lab | None = None,
    ) -> None:
        if device not in DEVICES:
            raise SettingError(f"unknown device {one_line(str(device))}: {nearest(str(device), DEVICES)}")
        if not isinstance(name, str) or not name:
            raise SettingError(f"the pool's name is {name!r}: give a text that is not empty")
        self._tokenizer = get_tokenizer(tokenizer)
        behaviour = Behaviour(
            num_blocks=num_blocks, block_size=block_size, prefix_caching=prefix_caching, free_to=free_to,
            free_order=free_order, full_hit=full_hit, sliding_window=sliding_window, hash=hash, none_hash=_root(hash),
            tokenizer=self._tokenizer.identity,
        )  # fmt: skip
        self._begin(Journal(behaviour, name))
        if log is not None:
            self._recorder.write_to(Path(log), force, replacing._recorder if replacing else None)

    @classmethod
    def load(cls, path: str | Path, *, name: str | None = None, copy: bool = False, replacing: Lab | None = None) -> Lab:
        """The pool that a journal file describes, after its last finished step.

        A file that a pool was writing with ``log`` is gone on with; ``copy`` leaves it alone. ``name`` is another
        name for the pool. ``lab.torn_bytes`` says how much of an unfinished line was left out. Raises JournalError
        for a file that cannot be trusted.
        """
        read = jsonl.read(Path(path))
        lab = cls.__new__(cls)
        read.journal.name = name or read.journal.name
        lab._tokenizer = recorded_tokenizer(read.journal.behaviour.tokenizer)
        lab._begin(read.journal)
        lab.torn_bytes = read.torn
        if read.log and not copy:
            lab._recorder.go_on_in(Path(path), replacing._recorder if replacing else None)
        return lab

    @staticmethod
    def peek_name(path: str | Path) -> str:
        """The pool name in a journal file. Raises JournalError as ``load``."""
        return jsonl.read_pool_name(Path(path))

    def _begin(self, journal: Journal) -> None:
        self._recorder = Recorder(journal)
        self.journal_id = journal.name
        self.cell: Cell | None = None
        self.torn_bytes = 0

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
    ) -> StepResult:
        """Start a request, or without a prompt resume a preempted one.

        salt, lora
            Keep its blocks apart from equal tokens under another salt or adapter (a name, or a name and a path).
        chunk
            Only the first so many uncached tokens now; ``prefill`` schedules the rest.
        Raises RequestError, UnknownName, OutOfBlocks, NeverFits or CommandError.
        """
        name = request_name(name)
        prompt = {**prompt_of(self._tokenizer, text, tokens, file), **cache_keys(salt, lora)}
        if "text" not in prompt and "tokens" not in prompt:
            self._check_can_resume(name, bool(prompt))
        if chunk is not None:
            prompt["chunk"] = whole("chunk", chunk)
        return self._change("admit", name=name, **prompt)

    def prefill(self, name: str, n: int | None = None) -> StepResult:
        """Schedule the next ``n`` tokens of a prompt admitted in chunks; by default all that is left. Raises as ``admit``."""
        request = self._recorder.engine.scheduler.find(request_name(name))
        left = request.num_tokens - request.num_computed_tokens
        return self._change("prefill", name=name, n=left if n is None else whole("n", n))

    def append(
        self,
        name: str,
        text: str | None = None,
        *,
        tokens: Iterable[int] | None = None,
        draft: str | Iterable[int] | None = None,
    ) -> StepResult:
        """Give a running request more tokens, and with ``draft`` slots for tokens that may be rejected. Raises as ``admit``."""
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
        return self._change("append", name=name, **prompt)

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
        return StepResult(self, self._recorder.undo(self.cell), ())

    def _change(self, verb: str, **args: Any) -> StepResult:
        step = self._recorder.run(Command(verb, args), self.cell)
        return StepResult(self, step, self.manager.block_table(args.get("name", "")))

    def _check_can_resume(self, name: str, has_keys: bool) -> None:
        if name not in self.requests:
            raise CommandError(f"{named(name)} needs a prompt: only a preempted request is admitted without one")
        if has_keys:
            raise CommandError(f"{named(name)} keeps the salt and adapter of its admission: leave them out to resume it")

    # --- looking -------------------------------------------------------------------------------------------

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

    def check(self) -> list[Equation]:
        """Every invariant as an equation, and last that the journal, folded, is the live pool."""
        engine = self._recorder.engine
        same = self.journal.state.columns() == replay.live_columns(engine)
        fold = Equation("journal folded = live pool", f"{len(self.journal)} steps, {'no' if same else 'a'} difference", same)
        return [*engine.scheduler.check(), fold]

    def verify(self) -> replay.Verdict:
        """Run the whole journal again on a fresh pool and compare every step."""
        return replay.verify(self.journal)

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the journal to a file, all or nothing. Raises JournalError when that would overwrite another's file."""
        path = Path(path)
        check_may_overwrite(path, force)
        check_not_in_use(path)
        jsonl.save(self.journal, path)
        return path

    def rewrite_log(self) -> None:
        """Make the log file, if any, hold this journal again: a successor that did not come to be may have begun in it."""
        self._recorder.rewrite_log()

    def close(self) -> None:
        """Let go of the log file; the pool stays usable, its steps are no longer written."""
        self._recorder.close()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        from kvnb.views.shown import state_shown

        return state_shown(self)._repr_mimebundle_()

    def __repr__(self) -> str:
        size = f"{self.behaviour.num_blocks} blocks of {self.behaviour.block_size} tokens"
        return f"<Lab {self.name!r}: {size}, step {len(self.journal)}>"


def _root(hash_name: str) -> str:
    """The parent hash of first blocks, in hex; "" for an unknown function, which ``Behaviour`` refuses by its name."""
    if hash_name not in HASH_FUNCTIONS:
        return ""
    drawn = os.urandom(32).hex() if hash_name in NOT_CRYPTOGRAPHIC else None
    return none_hash(get_hash_function(hash_name), os.environ.get("PYTHONHASHSEED", drawn)).hex()
