"""What a GGUF file's metadata and tensors say of its model, as a ``config.json``, and under which name each weight lies.

Must not know: tokenizers, where the result goes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from kvnb.errors import SettingError, one_line
from kvnb.models.config import Sizes, sizes_of
from kvnb.models.gguf_file import Gguf

MODELS = {"llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM", "qwen3": "Qwen3ForCausalLM"}
"""By ``general.architecture``; a Mistral without a window is a ``llama`` there."""

_KEYS = {
    "context_length": "max_position_embeddings", "block_count": "num_hidden_layers", "feed_forward_length": "intermediate_size",
    "embedding_length": "hidden_size", "attention.head_count": "num_attention_heads",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps",
}  # fmt: skip
_REFUSED = ("attention.sliding_window", "attn_logit_softcapping", "final_logit_softcapping", "expert_count", "attention.scale",
            "logit_scale", "embedding_scale", "residual_scale")  # fmt: skip
_YARN = {"rope.scaling.yarn_beta_fast": "beta_fast", "rope.scaling.yarn_beta_slow": "beta_slow"}
_SCALING = {"rope.scaling." + key for key in ("type", "factor", "original_context_length", "finetuned")} | set(_YARN)
_ROPE_TABLE = "rope_freqs.weight"


def config_of(file: Gguf) -> dict[str, Any]:
    """The ``config.json`` of ``file``'s model, in float32. Raises SettingError for what cannot be served or translated."""
    kind = file.metadata.get("general.architecture")
    if kind not in MODELS:
        raise SettingError(f"{file.path}: the GGUF architecture {one_line(str(kind))} is not supported: {', '.join(MODELS)} are")
    said = {key.removeprefix(f"{kind}."): value for key, value in file.metadata.items() if key.startswith(f"{kind}.")}
    missing = [f"{kind}.{key}" for key in _KEYS if key not in said] + [t for t in ("token_embd.weight",) if t not in file.tensors]
    if missing:
        raise SettingError(f"{file.path} lacks {missing[0]}: it is damaged, fetch it again")
    for key in _REFUSED:
        if said.get(key):
            raise SettingError(f"{file.path}: {kind}.{key} is not served here: give a model of full, unscaled attention")
    config: dict[str, Any] = {"architectures": [MODELS[kind]], "model_type": kind, "dtype": "float32", "hidden_act": "silu"}
    config |= {ours: _plain(file, key, said[key]) for key, ours in _KEYS.items()}
    heads = config["num_attention_heads"]
    config["num_key_value_heads"] = _plain(file, "attention.head_count_kv", said.get("attention.head_count_kv", heads))
    config["head_dim"] = _head_size(file, said, config)
    config["vocab_size"] = file.shape("token_embd.weight")[0]
    config["tie_word_embeddings"] = "output.weight" not in file.tensors
    config["rope_parameters"] = _rope(file, said, config["head_dim"])
    if kind == "llama":
        config |= {"attention_bias": "blk.0.attn_q.bias" in file.tensors, "mlp_bias": "blk.0.ffn_up.bias" in file.tensors}
    return config


def _plain(file: Gguf, key: str, value: Any) -> Any:
    """A number that holds for all layers; of a float32 the shortest decimal that names it: 1e-05, not 9.99999974e-06."""
    if isinstance(value, list):
        if len(set(value)) != 1:
            raise SettingError(f"{file.path}: {key} differs from layer to layer: give a model whose layers are alike")
        value = value[0]
    return _shortest(value) if isinstance(value, float) else value


def _shortest(value: float) -> float:
    import numpy as np

    return float(str(np.float32(value)))


def _head_size(file: Gguf, said: Mapping[str, Any], config: Mapping[str, Any]) -> int:
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    size = said.get("attention.key_length", hidden // heads if isinstance(heads, int) and heads > 0 else 0)
    if said.get("attention.value_length", size) != size or said.get("rope.dimension_count", size) != size:
        raise SettingError(f"{file.path}: K, V and the rotary part of a head differ in size: give a model where they are alike")
    return int(size)


def _rope(file: Gguf, said: Mapping[str, Any], head_size: int) -> dict[str, Any]:
    theta = _shortest(said.get("rope.freq_base", 10000.0))
    kind = said.get("rope.scaling.type", "linear" if said.get("rope.scale_linear", 1.0) != 1.0 else "none")
    unknown = sorted(
        key for key in said if key.startswith("rope.scaling.") and key not in _SCALING and said[key] not in (0.0, 1.0)
    )
    if kind not in ("none", "linear", "yarn") or unknown or (kind != "none" and _ROPE_TABLE in file.tensors):
        what = unknown[0] if unknown else f"rope.scaling.type {one_line(str(kind))}"
        raise SettingError(f"{file.path}: the rotary scaling ({what}) cannot be translated: give the checkpoint's folder instead")
    rope: dict[str, Any] = {"rope_type": "default", "rope_theta": theta}
    if _ROPE_TABLE in file.tensors:
        return rope | _llama3(file, theta, head_size)
    factor = _shortest(said.get("rope.scaling.factor", said.get("rope.scale_linear", 1.0)))
    if kind == "none" or factor == 1.0:
        return rope
    rope |= {"rope_type": kind, "factor": factor}
    if kind == "yarn":
        original = said.get("rope.scaling.original_context_length", said["context_length"])
        rope |= {"original_max_position_embeddings": original}
        rope |= {ours: _shortest(said[key]) for key, ours in _YARN.items() if key in said}
    return rope


def _llama3(file: Gguf, theta: float, head_size: int) -> dict[str, Any]:
    """Llama 3's scaling, of which a GGUF file has the table only: taken where Llama 3's constants give that table."""
    table = [float(value) for part in file.rows(_ROPE_TABLE) for value in part]
    factor = max(table, default=1.0)
    if factor == 1.0:
        return {}
    guess = {"factor": factor, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
    expected = [_slowed(theta ** (-2 * i / head_size), factor) for i in range(head_size // 2)]
    if len(table) != len(expected) or not all(math.isclose(a, b, rel_tol=1e-4) for a, b in zip(table, expected, strict=True)):
        raise SettingError(f"{file.path}: {_ROPE_TABLE} is not Llama 3's table: give the checkpoint's folder instead")
    return {"rope_type": "llama3"} | guess


def _slowed(frequency: float, factor: float) -> float:
    """By how much Llama 3 slows a rotary frequency: the slow ones by ``factor``, the fast ones not, between them a blend."""
    turns = 8192 * frequency / (2 * math.pi)
    blend = min(max((turns - 1.0) / 3.0, 0.0), 1.0)
    return 1 / ((1 - blend) / factor + blend)


def sources_of(file: Gguf, config: Mapping[str, Any]) -> tuple[Sizes, dict[str, str]]:
    """The model's sizes, and for each weight, by its name in transformers, the tensor of ``file`` that holds it.

    Raises SettingError where one is missing, is of another shape, or is left over.
    """
    import gguf

    sizes = sizes_of(config, str(file.path))
    names = gguf.get_tensor_name_map(getattr(gguf.MODEL_ARCH, config["model_type"].upper()), sizes.kv.layers)
    sources: dict[str, str] = {}
    for name, shape in sizes.tensor_shapes().items():
        source = names.get_name(name, try_suffixes=(".weight", ".bias")) or "?"
        if source not in file.tensors:
            raise SettingError(f"{file.path} lacks {source} ({name}): it is damaged, fetch it again")
        if file.shape(source) != shape:
            raise SettingError(f"{file.path}: {source} is {file.shape(source)}, its metadata ask for {shape}: fetch it again")
        sources[name] = source
    _check_rest(file, sorted(file.tensors.keys() - set(sources.values()) - {_ROPE_TABLE}))
    return sizes, sources


def _check_rest(file: Gguf, rest: Sequence[str]) -> None:
    if rest:
        kind = file.metadata["general.architecture"]
        raise SettingError(
            f"{file.path} has {one_line(rest[0])}, which no plain {kind} has: give the checkpoint's folder instead"
        )
