"""Small checkpoints with random weights: as transformers saves them, and as GGUF files of the same weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from helpers import needs

gguf = needs("gguf")
torch = needs("torch")
needs("transformers")

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
VOCAB_SIZE = 320
SIZES = {
    "vocab_size": VOCAB_SIZE,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
}
ARCHITECTURES = ("Llama", "Mistral", "Qwen2", "Qwen3")


def byte_letters() -> list[str]:
    """The 256 letters that stand for bytes in byte-level BPE, by byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    spare = iter(range(256, 512))
    return [chr(byte) if byte in plain else chr(next(spare)) for byte in range(256)]


def vocabulary() -> tuple[list[str], list[str]]:
    """Tokens and merges: the special ones, the bytes, a few words; 12 is one merge that a digit split must not use."""
    merges = ["t h", "th e", "Ġ the", "1 2", "i n", "Ġ in", "a n"]
    return [*SPECIAL, *byte_letters(), *(merge.replace(" ", "") for merge in merges)], merges


def model_of(kind: str, seed: int = 0, **settings: Any) -> Any:
    """A random transformers model, in float32."""
    import transformers

    torch.manual_seed(seed)
    more = {"head_dim": 32} if kind == "Qwen3" else {"sliding_window": None} if kind == "Mistral" else {}
    config = getattr(transformers, f"{kind}Config")(**{**SIZES, **more, **settings})
    model = getattr(transformers, f"{kind}ForCausalLM")(config).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            # What starts at one or zero everywhere would hide a tensor that is left out or exchanged.
            weight.normal_(1.0 if "norm" in name else 0.0, 0.2)
    return model


def save_folder(model: Any, folder: Path) -> Path:
    """The model as ``save_pretrained`` writes it, with a tokenizer and a chat template beside it."""
    from kvnb.models.gguf_file import Gguf
    from kvnb.models.gguf_tokenizer import Vocabulary

    model.save_pretrained(folder)
    words = Vocabulary(Gguf(folder, tokenizer_metadata(), {}), VOCAB_SIZE)
    (folder / "tokenizer.json").write_text(words.tokenizer_json(), "utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(words.config() | {"chat_template": TEMPLATE}), "utf-8")
    return folder


def tokenizer_metadata(**changes: Any) -> dict[str, Any]:
    """What a GGUF file says of the small vocabulary; a change to None leaves the key out."""
    tokens, merges = vocabulary()
    said = {
        "model": "gpt2",
        "pre": "smollm",
        "tokens": tokens,
        "merges": merges,
        "token_type": [3] * len(SPECIAL) + [1] * (len(tokens) - len(SPECIAL)),
        "bos_token_id": 0,
        "eos_token_id": 2,
        "add_bos_token": False,
    } | changes
    return {f"tokenizer.ggml.{key}": value for key, value in said.items() if value is not None}


def metadata_of(model: Any) -> dict[str, Any]:
    """What a GGUF file says of the model."""
    config = model.config
    kind = {"mistral": "llama"}.get(config.model_type, config.model_type)
    said = {
        "context_length": config.max_position_embeddings,
        "block_count": config.num_hidden_layers,
        "embedding_length": config.hidden_size,
        "feed_forward_length": config.intermediate_size,
        "attention.head_count": config.num_attention_heads,
        "attention.head_count_kv": config.num_key_value_heads,
        "attention.layer_norm_rms_epsilon": config.rms_norm_eps,
        "rope.freq_base": config.rope_parameters["rope_theta"],
    }
    if kind == "qwen3":
        said |= {"attention.key_length": config.head_dim, "attention.value_length": config.head_dim}
    return {"general.architecture": kind} | {f"{kind}.{key}": value for key, value in said.items()}


def tensors_of(model: Any) -> dict[str, Any]:
    """The weights by their GGUF names, those of a Llama turned as llama.cpp turns them."""
    config = model.config
    kind = {"mistral": "llama"}.get(config.model_type, config.model_type)
    names = gguf.get_tensor_name_map(getattr(gguf.MODEL_ARCH, kind.upper()), config.num_hidden_layers)
    found = {}
    for name, weight in model.named_parameters():
        array = weight.detach().numpy()
        heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}.get(name.split(".")[-2])
        if kind == "llama" and heads:
            array = array.reshape(heads, 2, -1, *array.shape[1:]).swapaxes(1, 2).reshape(array.shape)
        found[names.get_name(name, try_suffixes=(".weight", ".bias"))] = array
    return found


def write_gguf(path: Path, metadata: dict[str, Any], tensors: dict[str, Any], kind: str = "F32") -> Path:
    """A GGUF file; matrices are quantised to ``kind``, vectors stay in float32. A change to None leaves a key out."""
    said = {key: value for key, value in metadata.items() if value is not None}
    writer = gguf.GGUFWriter(path, said.pop("general.architecture"))
    for key, value in said.items():
        _write(writer, key, value)
    for name, array in tensors.items():
        quantised = gguf.GGMLQuantizationType[kind if array.ndim > 1 else "F32"]
        writer.add_tensor(name, gguf.quantize(array, quantised), raw_dtype=quantised)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _write(writer: Any, key: str, value: Any) -> None:
    if isinstance(value, list):
        writer.add_array(key, value)
    else:
        kinds = {bool: "bool", int: "uint32", float: "float32", str: "string"}
        getattr(writer, f"add_{kinds[type(value)]}")(key, value)


def gguf_of(model: Any, path: Path, kind: str = "F32", **tokenizer: Any) -> Path:
    """The model as a GGUF file with the small vocabulary and a chat template."""
    more = {"tokenizer.chat_template": TEMPLATE}
    return write_gguf(path, metadata_of(model) | tokenizer_metadata(**tokenizer) | more, tensors_of(model), kind)


def weights_in(folder: Path) -> dict[str, Any]:
    """The weights in a folder, by name."""
    from safetensors.torch import load_file

    return load_file(folder / "model.safetensors")
