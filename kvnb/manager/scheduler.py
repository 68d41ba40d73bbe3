"""The commands that change requests. Each first plans, which may raise and changes nothing, then applies.

Must not know: text and tokenizers, the journal, how a command was typed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from kvnb.core.invariants import Equation, check
from kvnb.errors import RequestError, ResetRefused, UnknownName, counted, named, nearest
from kvnb.manager.behaviour import Behaviour
from kvnb.manager.events import Computed, Deferred, Ended, Looked, ManagerEvent, RequestIs, Tokens
from kvnb.manager.kv_cache_manager import Allocation, Emit, KVCacheManager
from kvnb.manager.request import Lora, Request, get_request_block_hasher
from kvnb.manager.worker import Scheduled

Apply = Callable[[], None]
"""A plan that fits: calling it makes the change and cannot be refused any more."""


class Scheduler:
    """All requests of one pool (the part of vLLM's ``Scheduler`` that deals with KV blocks).

    Every method returns an ``Apply``; until that is called nothing has changed.
    """

    def __init__(self, behaviour: Behaviour, emit: Emit | None = None) -> None:
        self.kv_cache_manager = KVCacheManager(behaviour, emit)
        self.requests: dict[str, Request] = {}
        # Scheduled tokens that no forward pass has computed: a request's name to the place of its first one.
        self.waiting: dict[str, int] = {}
        self._deferred: list[str] = []
        self._hasher = get_request_block_hasher(behaviour)
        self._emit_event = emit

    # --- looking -------------------------------------------------------------------------------------------

    def find(self, name: str) -> Request:
        """The request of that name. Raises UnknownName, with the nearest names."""
        if name not in self.requests:
            raise UnknownName(f"no request {named(name)}: {nearest(name, self.requests)}")
        return self.requests[name]

    def check(self) -> list[Equation]:
        """Every invariant, as equations with numbers."""
        return check(self.kv_cache_manager.block_pool, self.kv_cache_manager.tables())

    # --- the commands --------------------------------------------------------------------------------------

    def admit(
        self,
        name: str,
        tokens: Sequence[int],
        salt: str | None = None,
        lora: Lora | None = None,
        chunk: int | None = None,
    ) -> Apply:
        """Look the prompt up, share what is cached, allocate the rest, or ``chunk`` tokens of it.

        Raises RequestError, OutOfBlocks, NeverFits.
        """
        if name in self.requests:
            raise RequestError(self._taken(self.requests[name]))
        if not tokens:
            raise RequestError(f"{named(name)} has an empty prompt: give at least one token")
        return self._plan_start(Request(name, tokens, self._hasher, salt, lora), chunk)

    def resume(self, name: str, chunk: int | None = None) -> Apply:
        """Admit a preempted request again: the lookup covers its prompt and what it generated."""
        request = self.find(name)
        if request.status != "preempted":
            raise RequestError(f"{named(name)} is running: only a preempted request is resumed without a text")
        return self._plan_start(request, chunk)

    def prefill(self, name: str, n: int) -> Apply:
        """Schedule the next ``n`` tokens of a prompt that was admitted in chunks. Raises as ``append``."""
        request = self._running(name, "be prefilled")
        left = request.num_tokens - request.num_computed_tokens
        if left == 0:
            raise RequestError(f"{named(name)} has no prompt left to prefill: all its tokens are scheduled")
        if not 1 <= n <= left:
            raise RequestError(f"{named(name)} has {counted(left, 'token')} left to prefill: give 1 to {left}, not {n}")
        plan = self.kv_cache_manager.plan_next(request, self._num_written(request), request.num_computed_tokens + n)
        return partial(self._prefill, request, n, plan)

    def append(self, name: str, tokens: Sequence[int], drafts: Sequence[int] = ()) -> Apply:
        """Give a running request more tokens, and slots for drafts. Raises UnknownName, RequestError, OutOfBlocks, NeverFits."""
        request = self._complete(name)
        if not tokens:
            raise RequestError(f"nothing to append to {named(name)}: give at least one token")
        plan = self.kv_cache_manager.plan_next(request, self._num_written(request), request.num_tokens + len(tokens), len(drafts))
        return partial(self._append, request, tokens, drafts, plan)

    def check_ready(self, name: str) -> None:
        """Whether the next token of a running request can be known. Raises UnknownName or RequestError."""
        self._complete(name)
        self._check_computed([name])

    def check_decode(self, name: str, k: int) -> None:
        """Whether ``k`` tokens, one after another, can be appended to a request. Raises as ``append``."""
        if k < 1:
            raise RequestError(f"{named(name)} cannot make {k} tokens: give 1 or more")
        self.append(name, [0])
        self._check_computed([name])
        self.kv_cache_manager.check_decode(self.find(name), k)

    def accept(self, name: str, k: int) -> Apply:
        """Make the first ``k`` drafts tokens of the request and drop the others; no block moves, none is hashed.

        Raises UnknownName or RequestError.
        """
        request = self._running(name, "accept drafts")
        self._check_computed([name])
        if not request.drafts:
            raise RequestError(f"{named(name)} has no drafts: append a text with --draft first")
        if not 0 <= k <= len(request.drafts):
            raise RequestError(
                f"{named(name)} has {counted(len(request.drafts), 'draft')}: accept 0 to {len(request.drafts)}, not {k}"
            )
        return partial(self._accept, request, k)

    def release(self, names: Sequence[str]) -> Apply:
        """End requests, in that order. Raises UnknownName or RequestError before any of them ends."""
        if not names:
            raise RequestError("nothing to release: name a request, or --all while there is one")
        requests = [self.find(name) for name in names]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise RequestError(f"{named(twice)} is named twice: once is enough")
        self._check_computed(names)
        return partial(self._release, requests)

    def preempt(self, name: str) -> Apply:
        """Take all blocks of a running request; it keeps its tokens and can be resumed."""
        request = self._running(name, "be preempted")
        self._check_computed([name])
        return partial(self._preempt, request)

    def step(self) -> Apply:
        """Compute what was deferred. Raises RequestError when nothing was."""
        if not self.waiting:
            raise RequestError("no token waits to be computed: admit, prefill or append with --defer first")
        return lambda: None

    def evict(self, ids: Sequence[int]) -> Apply:
        """Drop the hashes of these blocks. Raises UnknownName for block 0 and for an id out of range."""
        self._check_ids(ids)
        if not ids:
            raise RequestError("nothing to evict: give at least one block id")
        return partial(self.kv_cache_manager.block_pool.evict_blocks, ids)

    def reset(self) -> Apply:
        """Drop the whole prefix cache. Raises ResetRefused while a request holds a block."""
        holders = list(self.kv_cache_manager.req_to_blocks)
        if holders:
            pool = self.kv_cache_manager.block_pool
            used = pool.num_gpu_blocks - 1 - pool.get_num_free_blocks()
            which = ", ".join(map(named, holders[:5])) + (" and more" if len(holders) > 5 else "")
            raise ResetRefused(f"{counted(used, 'block')} still in use: release or preempt {which} first")
        return self._reset

    def corrupt(self, name: str, block: int, other: int) -> Apply:
        """Let the worker read block ``other`` where the table of a request says ``block``; the pool takes no note of it.

        Raises UnknownName or RequestError.
        """
        self._running(name, "be corrupted")
        table = [block_id for block_id in self.kv_cache_manager.block_table(name) if block_id]
        if block not in table:
            held = ", ".join(map(str, table[:8])) + (" and more" if len(table) > 8 else "")
            raise UnknownName(f"block {block} is not in the block table of {named(name)}: it holds {held}")
        self._check_ids([other])
        if other == block:
            raise RequestError(f"block {other} is what its table says: name another block (undo takes a wrong one back)")
        return lambda: None

    # --- applying a plan -----------------------------------------------------------------------------------

    def _start(self, request: Request, hits: int, plan: Allocation) -> None:
        resumed = request.num_preemptions > 0
        request.status = "running"
        self.requests[request.name] = request
        self._emit(RequestIs(request.name, "running"))
        self._schedule(request, hits, plan.num_tokens_to_cache)
        if self.kv_cache_manager.behaviour.prefix_caching:
            self._emit(Looked(request.name, request.num_tokens, hits, resumed))
        self.kv_cache_manager.allocate_slots(request, plan)

    def _prefill(self, request: Request, n: int, plan: Allocation) -> None:
        self._schedule(request, request.num_computed_tokens, request.num_computed_tokens + n)
        self.kv_cache_manager.allocate_slots(request, plan)

    def _append(self, request: Request, tokens: Sequence[int], drafts: Sequence[int], plan: Allocation) -> None:
        first = request.num_tokens
        request.append(tokens)
        self._schedule(request, first, request.num_tokens, drafts)
        self.kv_cache_manager.allocate_slots(request, plan)

    def _accept(self, request: Request, k: int) -> None:
        request.append(request.drafts[:k])
        self._schedule(request, request.num_tokens, request.num_tokens)

    def _schedule(self, request: Request, first: int, num_computed_tokens: int, drafts: Sequence[int] = ()) -> None:
        request.num_computed_tokens = num_computed_tokens
        request.drafts = tuple(drafts)
        if first < num_computed_tokens + len(drafts):
            self.waiting.setdefault(request.name, first)
        self._emit(Tokens(request.name, request.num_tokens, num_computed_tokens, len(drafts)))

    def _release(self, requests: Sequence[Request]) -> None:
        for request in requests:
            if request.status == "running":
                self.kv_cache_manager.free(request)
            self.waiting.pop(request.name, None)
            del self.requests[request.name]
            self._emit(Ended(request.name))

    def _preempt(self, request: Request) -> None:
        self.kv_cache_manager.free(request)
        self.waiting.pop(request.name, None)
        request.status = "preempted"
        request.num_computed_tokens = 0
        request.drafts = ()
        request.num_preemptions += 1
        self._emit(RequestIs(request.name, "preempted"))

    # --- after a plan was applied: its tokens are deferred, computed, or lost ------------------------------

    def scheduled(self) -> list[Scheduled]:
        """What the next forward pass computes, in the order of scheduling."""
        return [self._waiting_tokens(self.requests[name], first) for name, first in self.waiting.items()]

    def num_waiting(self, name: str) -> int:
        """How many tokens of a request, drafts included, wait for a forward pass."""
        request = self.requests[name]
        return request.num_computed_tokens + len(request.drafts) - self.waiting[name] if name in self.waiting else 0

    def num_all_waiting(self) -> int:
        """How many tokens the next forward pass computes."""
        return sum(map(self.num_waiting, self.waiting))

    def num_deferred(self, name: str) -> int:
        """How many of them a command has put off."""
        return self.num_waiting(name) if name in self._deferred else 0

    def defer(self, name: str) -> None:
        """Put the forward pass off: the tokens of ``name`` stay scheduled, in the map, and uncomputed."""
        if name in self.waiting:
            if name not in self._deferred:
                self._deferred.append(name)
            self._emit(Deferred(name, self.num_waiting(name)))

    def computed(self) -> None:
        """A forward pass has computed all that waited."""
        if self._deferred:
            self._emit(Computed(tuple(self._deferred), sum(map(self.num_waiting, self._deferred))))
            self._deferred.clear()
        self.waiting.clear()

    def fail(self) -> None:
        """The forward pass failed: what it was to compute loses its hashes, its requests are preempted, the last first."""
        for name, first in self.waiting.items():
            self.kv_cache_manager.drop_uncomputed(self.requests[name], first)
        failed = list(self.waiting)
        self._deferred.clear()
        self.waiting.clear()
        for name in reversed(failed):
            self._preempt(self.requests[name])

    def _waiting_tokens(self, request: Request, first: int) -> Scheduled:
        tokens = (*request.token_ids[first : request.num_computed_tokens], *request.drafts)
        return Scheduled(request.name, first, tokens, len(request.drafts))

    def _check_computed(self, names: Sequence[str]) -> None:
        for name in names:
            if name in self._deferred:
                raise RequestError(f"{named(name)} has {counted(self.num_waiting(name), 'token')} to be computed: step first")

    def _reset(self) -> None:
        done = self.kv_cache_manager.block_pool.reset_prefix_cache()
        assert done, "planned with no holder, yet a block is in use"

    # --- helpers -------------------------------------------------------------------------------------------

    def _plan_start(self, request: Request, chunk: int | None) -> Apply:
        if chunk is not None and chunk < 1:
            raise RequestError(f"a chunk of {chunk} tokens makes no progress: give 1 or more")
        computed = self.kv_cache_manager.get_computed_blocks(request)
        plan = self.kv_cache_manager.plan_first(request, computed, chunk or request.num_tokens)
        return partial(self._start, request, len(computed) * self.kv_cache_manager.behaviour.block_size, plan)

    def _num_written(self, request: Request) -> int:
        """Tokens whose K and V are there: all that have slots, but for what a command has put off."""
        return self.waiting[request.name] if request.name in self._deferred else request.num_computed_tokens

    def _running(self, name: str, purpose: str) -> Request:
        request = self.find(name)
        if request.status != "running":
            raise RequestError(f"{named(name)} is preempted and cannot {purpose}: admit it without a text first")
        return request

    def _complete(self, name: str) -> Request:
        request = self._running(name, "be appended to")
        if request.drafts:
            raise RequestError(f"{named(name)} has drafts pending: accept 0 to {len(request.drafts)} of them first")
        if request.num_computed_tokens < request.num_tokens:
            left = request.num_tokens - request.num_computed_tokens
            raise RequestError(f"{named(name)} has {counted(left, 'token')} of its prompt unscheduled: prefill it first")
        return request

    def _check_ids(self, ids: Sequence[int]) -> None:
        last = self.kv_cache_manager.behaviour.num_blocks - 1
        for block_id in ids:
            if not 1 <= block_id <= last:
                why = "is the null block and never cached" if block_id == 0 else "does not exist"
                way = f"give ids from 1 to {last}" if last else "this pool has only block 0"
                raise UnknownName(f"block {block_id} {why}: {way}")

    def _taken(self, request: Request) -> str:
        way = "append to it, or release it first" if request.status == "running" else "admit it without a text to resume it"
        return f"{named(request.name)} is already {request.status}: {way}"

    def _emit(self, event: ManagerEvent) -> None:
        if self._emit_event:
            self._emit_event(event)
