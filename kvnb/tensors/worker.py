"""The worker: keeps its block tables by following events, and computes K, V and logits into the blocks it was told.

Must not know: how blocks are chosen, hashes, text, the journal. It keeps no policy.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import torch

from kvnb.core.events import PoolEvent, Took
from kvnb.errors import RequestError, SettingError, named
from kvnb.manager.events import Ended, Extended, ManagerEvent, RequestIs
from kvnb.manager.worker import Scheduled
from kvnb.manager.worker import Worker as WorkerProtocol
from kvnb.tensors.attention import paged_attention
from kvnb.tensors.block_table import BlockTable
from kvnb.tensors.devices import pick_device
from kvnb.tensors.model import Model
from kvnb.tensors.shapes import TINY, KVShape, human_bytes
from kvnb.tensors.store import KVStore
from kvnb.tensors.tiny import TinyLlama


class Kept(NamedTuple):
    """Logits of the last tokens of a pass: ``rows[i]`` are those at place ``first + i`` of the request."""

    first: int
    rows: torch.Tensor


class Worker:
    """The owner of the memory (vLLM: ``GPUModelRunner`` and the KV cache it allocates).

    num_blocks, block_size, sliding_window
        As in the pool's ``Behaviour``.
    shape, dtype
        What a token keeps, and in which precision; arithmetic is float32 always.
    device
        A name of ``DEVICES`` but ``none``.
    seed, vocab_size
        Of the small random Llama that computes where no ``model`` is given.
    model
        What computes in its place: on that device, with K and V of that shape.

    Raises SettingError when the device, the precision or the memory is not there.
    """

    def __init__(
        self,
        num_blocks: int,
        block_size: int,
        shape: KVShape = TINY,
        *,
        device: str = "auto",
        dtype: str = "float32",
        sliding_window: int | None = None,
        seed: int = 0,
        vocab_size: int = 256,
        model: Model | None = None,
    ) -> None:
        self.device = pick_device(device)
        self.sliding_window, self.seed = sliding_window, seed
        self.store = KVStore(num_blocks, block_size, shape, self.device, dtype)
        self.model: Model = model or TinyLlama(shape, self.device, vocab_size, seed)
        self.model.hold(self)
        self._weights_seed: int | None = seed
        self._forget_all()

    def _forget_all(self) -> None:
        self.block_table = BlockTable(self.store.block_size, self.device)
        self._kept: dict[str, Kept] = {}
        self.num_forward_tokens = self.num_forward_passes = self.last_pass_tokens = 0

    # --- what the engine asks ------------------------------------------------------------------------------

    def check_tokens(self, token_ids: Sequence[int], num_before: int = 0) -> None:
        """Raises RequestError for a token that the model does not know, and for more than it was made to read.

        num_before
            How many tokens of the same request stand before these.
        """
        most, total = self.model.max_tokens, num_before + len(token_ids)
        if most is not None and total > most:
            raise RequestError(f"{total:,} tokens in one request, and the model was made for {most:,}: give fewer")
        last = self.model.vocab_size - 1
        for token in (min(token_ids, default=0), max(token_ids, default=0)):
            if not 0 <= token <= last:
                raise RequestError(f"token {token} is not in the model's vocabulary (0 to {last}): --device none takes any token")

    def follow(self, events: Iterable[PoolEvent | ManagerEvent]) -> None:
        """Bring block tables up to date, and fill blocks that have a new owner; what else happened is passed over.

        What a freed block held stays until then, so that a hit can still read it.
        """
        for event in events:
            if isinstance(event, Took):
                self.store.fill(event.ids)
            elif isinstance(event, Extended):
                self.block_table.append(event.name, event.ids)
            elif isinstance(event, Ended) or (isinstance(event, RequestIs) and event.state == "preempted"):
                self.block_table.remove(event.name)
                self._kept.pop(event.name, None)

    def forward(self, scheduled: Sequence[Scheduled]) -> None:
        """One packed pass over the tokens of all requests (vLLM: ``execute_model``).

        In each layer the K and V of all of them are written before any is read, since a request may share blocks of
        another that stands in the same pass. Afterwards the logits of each request's last token, and of its drafts, are kept.

        Raises RequestError, IndexError or UnknownName, before anything is written, for tokens, slots or names that cannot be.
        """
        scheduled = [run for run in scheduled if run.token_ids]
        if scheduled:
            batch = self._pack(scheduled)
            with self.model.threads():
                hidden = self.model.forward(batch.token_ids, batch.positions, batch.attend)
                self._keep(scheduled, hidden)

    def forget(self, scheduled: Sequence[Scheduled]) -> None:
        """A pass that failed, or was stopped anywhere: its slots are filled, what it may have kept is dropped."""
        for run in scheduled:
            if run.name in self.block_table:
                there = len(self.block_table.row(run.name)) * self.store.block_size - run.first
                n = min(len(run.token_ids), there)
                if n > 0:
                    self.store.fill_slots(self.block_table.slot_mapping(run.name, run.first, n))
            kept = self._kept.get(run.name)
            if kept and kept.first + len(kept.rows) > run.first:
                del self._kept[run.name]

    def reweight(self, seed: int) -> None:
        """Change the model's weights in place; K and V that are there stay, and were made by other weights."""
        self._weights_seed = None
        self.model.reweight(seed)
        self._weights_seed = seed

    def corrupt(self, name: str, entry: int, other: int) -> None:
        """Read block ``other`` at place ``entry`` of the block table of ``name``. Raises as ``BlockTable.corrupt``."""
        self.block_table.corrupt(name, entry, other)

    def clear(self) -> None:
        """As new: every block filled, no table, counters 0, the first weights; also after ``close``. Raises OutOfMemory."""
        self._forget_all()
        self.model.hold(self)
        self.store.clear()
        if self._weights_seed != self.seed:
            self.reweight(self.seed)

    def close(self) -> None:
        """Let the memory go, and the model, where nobody else has it."""
        self._forget_all()
        self.store.close()
        self.model.let_go(self)

    @property
    def relative_cost(self) -> float:
        """How long a token takes, as a multiple of one of the tiny shape."""
        return self.model.relative_cost

    @property
    def prefers_long_passes(self) -> bool:
        """Whether tokens that are computed again had better be computed together."""
        return self.model.prefers_long_passes and self.sliding_window is None

    @property
    def num_bytes(self) -> int:
        """Bytes of all blocks together; 0 while the memory is let go."""
        return self.store.kv.nbytes

    # --- what the user asks --------------------------------------------------------------------------------

    def next_token(self, name: str, num_tokens: int, *, temperature: float = 0.0, seed: int = 0) -> int:
        """The token after the first ``num_tokens`` of a request, from the logits kept by the last pass.

        temperature
            0: the likeliest token, the lowest of equals. Above: drawn with a number that depends on ``seed`` and the
            place only, so that 10 tokens and 10 more are the same 20.

        Raises RequestError when the last pass has no logits there, SettingError for a temperature below 0.
        """
        if not 0 <= temperature < float("inf"):
            raise SettingError(f"temperature is {temperature}: give 0 for the likeliest token, or more")
        kept = self._kept.get(name)
        row = num_tokens - 1 - kept.first if kept else -1
        if kept is None or not 0 <= row < len(kept.rows):
            raise RequestError(f"{named(name)} has no logits after {num_tokens} tokens: append at least one token to it first")
        logits = kept.rows[row].float().cpu()
        if temperature == 0:
            return int(logits.argmax())
        return _drawn(logits / temperature, random.Random(f"{seed} {num_tokens}").random())

    def describe(self) -> str:
        """One line: how many blocks of which size, where, and of which model."""
        store = self.store
        blocks = "1 block" if store.num_blocks == 1 else f"{store.num_blocks:,} blocks"
        return (
            f"{blocks} of {human_bytes(store.block_bytes_each)} on {self.device.type} ({store.dtype_name}), "
            f"{human_bytes(store.num_bytes)}; model {named(self.model.name)}: {store.shape}"
        )

    # --- a pass --------------------------------------------------------------------------------------------

    def _pack(self, scheduled: Sequence[Scheduled]) -> _Batch:
        tokens = [token for run in scheduled for token in run.token_ids]
        self.check_tokens(tokens)
        slots = [self.block_table.slot_mapping(run.name, run.first, len(run.token_ids)) for run in scheduled]
        positions = [place for run in scheduled for place in range(run.first, run.first + len(run.token_ids))]
        return _Batch(
            self.store,
            self.sliding_window,
            scheduled,
            torch.tensor(tokens, device=self.device),
            torch.tensor(positions, device=self.device),
            torch.cat(slots),
            [self.block_table.row(run.name) for run in scheduled],
        )

    def _keep(self, scheduled: Sequence[Scheduled], hidden: torch.Tensor) -> None:
        ends = list(accumulate(len(run.token_ids) for run in scheduled))
        sizes = [min(1 + run.num_drafts, len(run.token_ids)) for run in scheduled]
        rows = torch.cat([hidden[end - size : end] for end, size in zip(ends, sizes, strict=True)])
        kept = dict(self._kept)
        for run, logits in zip(scheduled, torch.split(self.model.logits(rows), sizes), strict=True):
            kept[run.name] = Kept(run.first + len(run.token_ids) - len(logits), logits)
        # Put in place at once: an interrupt finds the logits of the last pass or of this one.
        self._kept = kept
        self.last_pass_tokens = ends[-1]
        self.num_forward_tokens += ends[-1]
        self.num_forward_passes += 1


class _Batch(NamedTuple):
    """A pass, laid out: tokens, their positions and slots one after another, and each request's table."""

    store: KVStore
    window: int | None
    scheduled: Sequence[Scheduled]
    token_ids: torch.Tensor
    positions: torch.Tensor
    slots: torch.Tensor
    tables: list[torch.Tensor]

    def attend(self, layer: int, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        self.store.write(layer, self.slots, key, value)
        lengths = [len(run.token_ids) for run in self.scheduled]
        parts = zip(self.scheduled, self.tables, torch.split(query, lengths), strict=True)
        return torch.cat([paged_attention(self.store, layer, table, q, run.first, self.window) for run, table, q in parts])


def _drawn(logits: torch.Tensor, number: float) -> int:
    """The token at which the summed probabilities pass ``number``, 0 <= number < 1."""
    sums = logits.double().softmax(-1).cumsum(-1)
    place = int(torch.searchsorted(sums, number * float(sums[-1]), right=True))
    return min(place, len(sums) - 1)


if TYPE_CHECKING:
    _kept_promise: type[WorkerProtocol] = Worker
