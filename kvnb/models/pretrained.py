"""A checkpoint's model on the paged store: transformers computes the layers, whoever holds the blocks computes attention.

Must not know: blocks, slots, requests, how a checkpoint is checked or converted.

transformers looks attention up by name in its public registry (``AttentionInterface``), and hands a model's extra keywords
down to it; ours is found there and calls the ``attend`` of the pass. No mask function is registered under that name, so
that no mask is made: tokens of several requests stand one after another in one row, and only ``attend`` knows whose they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any
from weakref import WeakSet, WeakValueDictionary

import torch

from kvnb.errors import KvnbError, MissingPackage, OutOfMemory, SettingError, named, one_line
from kvnb.models.checkpoint import Checkpoint
from kvnb.tensors.devices import free_bytes, one_thread
from kvnb.tensors.model import Attend, Model
from kvnb.tensors.shapes import human_bytes

ATTENTION = "kvnb_paged"
SHORT = 8
"""Tokens of a pass that only waits for weights to come from memory, and where threads would wait for each other besides."""
LIGHT = 160_000_000_000
"""Tokens times bytes of weights that one core computes in about a second; two threads on two busy cores took 4 to 8."""
_UNKNOWN = ("sliding_window", "softcap", "s_aux")
"""What a layer may ask of attention and ``attend`` does not do."""

# Weights are read once for all pools that use them, and let go with the last.
_loaded: WeakValueDictionary[tuple[str, str], Pretrained] = WeakValueDictionary()


class Pretrained:
    """A decoder read from ``checkpoint`` onto ``device``, in float32; see ``Model`` for what it offers.

    Raises MissingPackage, SettingError where transformers cannot read it, OutOfMemory before it takes any.
    """

    prefers_long_passes = True
    rounding = 16
    """Measured with 135M parameters in 30 layers: 10 eps of float16, 12 of bfloat16, in chunks and in one pass alike."""

    def __init__(self, checkpoint: Checkpoint, device: torch.device) -> None:
        self.checkpoint, self.device = checkpoint, device
        self.name, self.shape, self.vocab_size = checkpoint.name, checkpoint.shape, checkpoint.vocab_size
        self.max_tokens: int | None = checkpoint.max_tokens
        self._users: WeakSet[object] = WeakSet()
        self._model: Any = None
        self.load()

    def load(self) -> None:
        """Read the weights, unless they are there."""
        if self._model is None:
            _check_room(self.checkpoint, self.device)
            self._model = _read(self.checkpoint, self.device)

    @property
    def is_loaded(self) -> bool:
        """Whether the weights are there."""
        return self._model is not None

    def hold(self, user: object) -> None:
        """Have the weights for ``user``; who is gone has let go."""
        self.load()
        self._users.add(user)

    def let_go(self, user: object) -> None:
        """Let the weights go with the last user: what it answered may be kept long, and keeps this object."""
        self._users.discard(user)
        if not self._users:
            self._model = None

    @property
    def tolerance(self) -> float:
        """Measured with 135M parameters in 30 layers, float32 on a CPU: 4e-5 in chunks and mixed batches; and room to spare."""
        return 1e-3

    @property
    def relative_cost(self) -> float:
        """By the number of parameters; measured on two cores with 135M of them: 1.6 to 3.2 ms a token in long passes."""
        return 1 + self.checkpoint.weight_bytes / 4 / 33e6

    def threads(self) -> nullcontext[None]:
        """As many as torch has: the matrices are large. A pass that is light takes one by itself."""
        return nullcontext()

    def forward(self, token_ids: torch.Tensor, positions: torch.Tensor, attend: Attend) -> torch.Tensor:
        """Hidden states (T, hidden size) of T tokens at ``positions``, both int64 (T,)."""
        with one_thread(self.device) if is_light(len(token_ids), self.checkpoint.weight_bytes) else nullcontext():
            found = self._model.base_model(
                input_ids=token_ids[None], position_ids=positions[None], use_cache=False, return_dict=True, kvnb_attend=attend
            )
        hidden: torch.Tensor = found.last_hidden_state[0]
        return hidden

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """(rows, vocab_size) from hidden states (rows, hidden size)."""
        rows: torch.Tensor = self._model.get_output_embeddings()(hidden)
        return rows

    def check_reweight(self) -> None:
        """Raises SettingError: the weights are the checkpoint's."""
        raise SettingError(f"the weights are those of {named(self.name)}, not of a seed: only --model tiny can be reweighted")

    def reweight(self, seed: int) -> None:
        """Raises as ``check_reweight``."""
        self.check_reweight()


def is_light(num_tokens: int, weight_bytes: int) -> bool:
    """Whether a pass on a CPU is done soon by one thread, so that it need not wait for others on a machine that is busy."""
    return num_tokens <= SHORT or num_tokens * weight_bytes <= LIGHT


def pretrained(checkpoint: Checkpoint, device: torch.device) -> Pretrained:
    """The model of ``checkpoint`` on ``device``: the one that another pool has, else read now. Raises as ``Pretrained``."""
    key = (str(checkpoint.folder), str(device))
    there = _loaded.get(key)
    if there is None or there.checkpoint != checkpoint:
        there = _loaded[key] = Pretrained(checkpoint, device)
    there.load()
    return there


def is_loaded(checkpoint: Checkpoint, device: torch.device) -> bool:
    """Whether its weights are in the memory of ``device`` already."""
    there = _loaded.get((str(checkpoint.folder), str(device)))
    return there is not None and there.is_loaded


def paged_attention(
    module: torch.nn.Module, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
    attention_mask: torch.Tensor | None, scaling: float | None = None, kvnb_attend: Attend | None = None, **options: Any,
) -> tuple[torch.Tensor, None]:  # fmt: skip
    """What transformers calls in each layer, with tensors (1, heads, T, head_size), rotary positions applied.

    Raises SettingError for what ``attend`` does not do, and outside of a pass of ours.
    """
    if kvnb_attend is None or attention_mask is not None:
        raise SettingError("this model computes in a pool of kvnb only: load it again for anything else")
    asked = [name for name in _UNKNOWN if options.get(name) is not None]
    if asked:
        raise SettingError(f"its attention asks for {', '.join(asked)}, which kvnb does not compute: use another model")
    usual = float(query.shape[-1] ** -0.5)
    # `attend` divides by the root of head_size; a model that scales otherwise has the rest in its queries.
    q = query[0] if scaling is None or abs(scaling - usual) < 1e-9 else query[0] * (scaling / usual)
    out = kvnb_attend(int(module.layer_idx), *(part.transpose(0, 1) for part in (q, key[0], value[0])))  # type: ignore[arg-type]
    return out[None], None


def _check_room(checkpoint: Checkpoint, device: torch.device) -> None:
    free = free_bytes(device)
    if checkpoint.weight_bytes > free:
        raise OutOfMemory(
            f"the weights of {named(checkpoint.name)} need {human_bytes(checkpoint.weight_bytes)} in float32, "
            f"{human_bytes(free)} of memory are free on {device.type}: use a smaller model, or --device none for block ids only"
        )


def _read(checkpoint: Checkpoint, device: torch.device) -> Any:
    try:
        from transformers import AttentionInterface, AutoModelForCausalLM
    except ImportError as error:
        raise MissingPackage.named("transformers", f"--model {named(checkpoint.name)}") from error
    AttentionInterface.register(ATTENTION, paged_attention)
    try:
        with _quiet():
            model: Any = AutoModelForCausalLM.from_pretrained(
                checkpoint.folder, dtype=torch.float32, attn_implementation=ATTENTION, local_files_only=True
            )
            return model.to(device).eval().requires_grad_(False)
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise OutOfMemory(f"the weights of {named(checkpoint.name)} do not fit on {device.type}: use a smaller model") from error
    except KvnbError:
        raise
    except Exception as error:  # whatever a library of many formats makes of a file that is not as it should be
        why = one_line(str(error).strip().partition("\n")[0], 100)
        raise SettingError(f"{named(checkpoint.name)} cannot be read ({why}): is the folder complete?") from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Without transformers' own bars and remarks: kvnb says what there is to say."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


if TYPE_CHECKING:
    _kept_promise: type[Model] = Pretrained
