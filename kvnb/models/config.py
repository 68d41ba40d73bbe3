"""What a model's ``config.json`` says of its sizes, and that the attention here can serve it.

Must not know: where the weights lie, GGUF, torch. Standard library only.

The names are those of transformers' configurations, and so is what an absent key stands for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kvnb.errors import SettingError, one_line
from kvnb.tensors.shapes import KVShape, check_shape

ARCHITECTURES = ("LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM")
"""Decoders whose every layer attends to all that came before: one shape of K and V for all tokens and layers."""

ROPE_TYPES = ("default", "linear", "llama3", "yarn")
"""Rotary scalings that turn a position always the same way: K of a cached block holds however long the text grows."""

_KEYS = (
    "hidden_size",
    "num_attention_heads",
    "num_hidden_layers",
    "intermediate_size",
    "vocab_size",
    "max_position_embeddings",
)
_MOST, _MOST_LAYERS = 10**9, 10_000
"""What is larger is a damaged file, and not worth a list of its weights."""

_SUPPORTED = f"supported are {', '.join(ARCHITECTURES)}"


class Sizes(NamedTuple):
    """What fixes the shape of each weight of a model, and the length of its texts in tokens."""

    architecture: str
    hidden: int
    inner: int
    heads: int
    kv: KVShape
    vocab_size: int
    max_tokens: int
    tied: bool
    qkv_bias: bool
    o_bias: bool
    mlp_bias: bool

    def tensor_shapes(self) -> dict[str, tuple[int, ...]]:
        """Every weight by its name in transformers, in the order of the file; the head is absent where it is the embedding."""
        shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (self.vocab_size, self.hidden)}
        for layer in range(self.kv.layers):
            shapes |= {f"model.layers.{layer}.{name}": shape for name, shape in self._layer().items()}
        shapes["model.norm.weight"] = (self.hidden,)
        if not self.tied:
            shapes["lm_head.weight"] = (self.vocab_size, self.hidden)
        return shapes

    def _layer(self) -> dict[str, tuple[int, ...]]:
        q, k = self.heads * self.kv.head_size, self.kv.kv_heads * self.kv.head_size
        shapes: dict[str, tuple[int, ...]] = {"input_layernorm.weight": (self.hidden,)}
        for name, rows, columns, bias in (
            ("self_attn.q_proj", q, self.hidden, self.qkv_bias), ("self_attn.k_proj", k, self.hidden, self.qkv_bias),
            ("self_attn.v_proj", k, self.hidden, self.qkv_bias), ("self_attn.o_proj", self.hidden, q, self.o_bias),
            ("mlp.gate_proj", self.inner, self.hidden, self.mlp_bias), ("mlp.up_proj", self.inner, self.hidden, self.mlp_bias),
            ("mlp.down_proj", self.hidden, self.inner, self.mlp_bias),
        ):  # fmt: skip
            shapes[f"{name}.weight"] = (rows, columns)
            if bias:
                shapes[f"{name}.bias"] = (rows,)
        if self.architecture.startswith("Qwen3"):
            shapes |= {f"self_attn.{which}_norm.weight": (self.kv.head_size,) for which in "qk"}
        shapes["post_attention_layernorm.weight"] = (self.hidden,)
        return shapes


def sizes_of(config: Mapping[str, Any], where: str) -> Sizes:
    """The sizes in ``config``, the content of a ``config.json``; ``where`` names it in errors.

    Raises SettingError for an architecture or an attention that is not served here, and for a key that is missing or odd.
    """
    architecture = _architecture(config, where)
    _refuse(config, architecture, where)
    hidden, heads, layers, inner, vocab_size, max_tokens = (_whole(config, key, where) for key in _KEYS)
    kv = KVShape(layers, _kv_heads(config, architecture, heads, where), _head_size(config, architecture, hidden, heads, where))
    try:
        check_shape(kv)
    except SettingError as error:
        raise SettingError(f"{where}: {error}") from None
    if heads % kv.kv_heads:
        raise SettingError(f"{where}: {heads} query heads do not share {kv.kv_heads} KV heads evenly: the file is damaged")
    bias = bool(config.get("attention_bias"))
    qwen2, mistral = architecture.startswith("Qwen2"), architecture.startswith("Mistral")
    return Sizes(
        architecture, hidden, inner, heads, kv, vocab_size, max_tokens, bool(config.get("tie_word_embeddings", False)),
        qkv_bias=qwen2 or (bias and not mistral), o_bias=bias and not (qwen2 or mistral),
        mlp_bias=architecture.startswith("Llama") and bool(config.get("mlp_bias")),
    )  # fmt: skip


def _architecture(config: Mapping[str, Any], where: str) -> str:
    names = config.get("architectures")
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise SettingError(f"{where} lacks 'architectures': {_SUPPORTED}")
    if names[0] not in ARCHITECTURES:
        raise SettingError(f"{where}: the architecture {one_line(names[0])} is not supported: {_SUPPORTED}")
    return str(names[0])


def _refuse(config: Mapping[str, Any], architecture: str, where: str) -> None:
    """Raise SettingError for attention or weights that would be computed wrongly."""
    if config.get("quantization_config"):
        raise SettingError(
            f"{where}: quantised weights (quantization_config) are not read: give a checkpoint in float, or a GGUF file"
        )
    window = config.get("sliding_window", 4096 if architecture.startswith("Mistral") else None)
    used = config.get("use_sliding_window", False) if architecture.startswith("Qwen") else True
    kinds = config.get("layer_types") or []
    if (window and used) or not isinstance(kinds, list) or any(kind != "full_attention" for kind in kinds):
        raise SettingError(
            f"{where}: layers with a sliding window (sliding_window, layer_types) are not served: give a model of full attention"
        )
    for key in ("attn_logit_softcapping", "final_logit_softcapping", "attention_sinks", "num_local_experts", "num_experts"):
        if config.get(key):
            raise SettingError(f"{where}: {key} is not served here: give a plain {architecture.removesuffix('ForCausalLM')}")
    for key in ("rope_scaling", "rope_parameters"):
        _check_rope(config.get(key) or {}, where)


def _check_rope(rope: Any, where: str) -> None:
    kind = (rope.get("rope_type", rope.get("type")) or "default") if isinstance(rope, dict) else rope
    if kind not in ROPE_TYPES:
        why = (
            "K in a cached block would change with the length of the text"
            if kind in ("dynamic", "longrope")
            else "it is unknown here"
        )
        raise SettingError(f"{where}: the rotary scaling {one_line(str(kind))} is not served, {why}: {', '.join(ROPE_TYPES)} are")


def _whole(config: Mapping[str, Any], key: str, where: str) -> int:
    if key not in config:
        raise SettingError(f"{where} lacks {key!r}: the file is incomplete, fetch the checkpoint again")
    value, most = config[key], _MOST_LAYERS if key == "num_hidden_layers" else _MOST
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise SettingError(f"{where}: {key} is {one_line(repr(value))}, and no whole number from 1 to {most:,}: it is damaged")
    return value


def _kv_heads(config: Mapping[str, Any], architecture: str, heads: int, where: str) -> int:
    absent = config.get("num_key_value_heads") is None
    if absent and (architecture.startswith("Llama") or "num_key_value_heads" in config):
        return heads
    return _whole(config, "num_key_value_heads", where)


def _head_size(config: Mapping[str, Any], architecture: str, hidden: int, heads: int, where: str) -> int:
    if config.get("head_dim") is not None:
        return _whole(config, "head_dim", where)
    if architecture.startswith("Qwen3"):
        return 128
    if hidden % heads:
        raise SettingError(f"{where}: hidden_size {hidden} is no multiple of {heads} heads: fetch the checkpoint again")
    return hidden // heads
