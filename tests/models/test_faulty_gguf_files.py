"""What is wrong with a GGUF file is said in one line, and leaves nothing in the cache."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from made_models import gguf, metadata_of, model_of, tensors_of, tokenizer_metadata, write_gguf

from kvnb.errors import MissingPackage, OutOfMemory, SettingError
from kvnb.models.checkpoint import open_checkpoint

TOO_MANY = [str(number) for number in range(321)]


class Made(NamedTuple):
    metadata: dict[str, Any]
    tensors: dict[str, Any]


@pytest.fixture(scope="module")
def made() -> Made:
    model = model_of("Llama")
    return Made(metadata_of(model) | tokenizer_metadata(), tensors_of(model))


@pytest.fixture
def file(made: Made, tmp_path: Path, cache: Path) -> Path:
    return write_gguf(tmp_path / "made.gguf", *made)


def refused(path: Path, cache: Path) -> str:
    with pytest.raises(SettingError) as caught:
        open_checkpoint(path)
    assert "\n" not in str(caught.value)
    assert list(cache.rglob("*.safetensors")) == []
    return str(caught.value)


@pytest.mark.parametrize("content", [b"", b"GG", b"PK\x03\x04" + b"x" * 100, b"\x1b[31m\n"])
def test_a_file_that_is_no_gguf(tmp_path: Path, cache: Path, content: bytes):
    (tmp_path / "a.gguf").write_bytes(content)
    assert f"{tmp_path}/a.gguf is no GGUF file: it begins with " in refused(tmp_path / "a.gguf", cache)


def test_a_file_that_is_cut_off_anywhere(file: Path, cache: Path):
    whole = file.read_bytes()
    for left in [4, 8, 20, 24, 30, 100, *range(200, len(whole), len(whole) // 25), len(whole) - 1]:
        file.write_bytes(whole[:left])
        assert "is truncated, damaged or too new" in refused(file, cache), left


def test_a_file_of_another_version(file: Path, cache: Path):
    file.write_bytes(b"GGUF" + (9).to_bytes(4, "little") + file.read_bytes()[8:])
    assert "is truncated, damaged or too new" in refused(file, cache)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"general.architecture": "mamba"}, "the GGUF architecture 'mamba' is not supported: llama, qwen2, qwen3 are"),
        ({"llama.block_count": None}, "lacks llama.block_count: it is damaged"),
        ({"llama.block_count": 3}, "lacks blk.2.attn_norm.weight (model.layers.2.input_layernorm.weight)"),
        ({"llama.block_count": 1}, "has 'blk.1.attn_k.weight', which no plain llama has: give the checkpoint's folder instead"),
        ({"llama.block_count": 0}, "num_hidden_layers is '0', and no whole number from 1 to 10,000"),
        ({"llama.block_count": 2**32 - 1}, "num_hidden_layers is '4294967295', and no whole number from 1 to 10,000"),
        ({"llama.attention.head_count": 0}, "num_attention_heads is '0'"),
        ({"llama.attention.head_count": "4"}, """num_attention_heads is "'4'\""""),
        ({"llama.attention.head_count_kv": [2, 1]}, "attention.head_count_kv differs from layer to layer"),
        ({"llama.embedding_length": 32}, "token_embd.weight is (320, 64), its metadata ask for (320, 32)"),
        ({"llama.attention.value_length": 32}, "K, V and the rotary part of a head differ in size"),
        ({"llama.rope.dimension_count": 8}, "K, V and the rotary part of a head differ in size"),
        ({"llama.attention.sliding_window": 64}, "llama.attention.sliding_window is not served here"),
        ({"llama.attn_logit_softcapping": 50.0}, "llama.attn_logit_softcapping is not served here"),
        ({"llama.expert_count": 8}, "llama.expert_count is not served here"),
        ({"llama.rope.scaling.type": "longrope"}, "the rotary scaling (rope.scaling.type 'longrope') cannot be translated"),
        ({"llama.rope.scaling.attn_factor": 1.5}, "the rotary scaling (rope.scaling.attn_factor) cannot be translated"),
        ({"split.count": 3}, "is one part of 3: merge them with llama-gguf-split --merge"),
        ({"tokenizer.ggml.model": "bert"}, "the tokenizer 'bert' is not supported: gpt2 (byte-level BPE) and llama"),
        ({"tokenizer.ggml.model": None}, "the tokenizer 'None' is not supported"),
        ({"tokenizer.ggml.model": "llama"}, "the scores of its tokens are missing or damaged"),
        ({"tokenizer.ggml.pre": "bloom"}, "how the tokenizer 'bloom' cuts text is not known here: gpt-2, smollm, llama-bpe"),
        ({"tokenizer.ggml.pre": None}, "does not say how its tokenizer cuts text (tokenizer.ggml.pre)"),
        ({"tokenizer.ggml.tokens": None}, "its vocabulary is missing or damaged"),
        ({"tokenizer.ggml.tokens": ["a", "a"], "tokenizer.ggml.token_type": [1, 1]}, "its vocabulary is missing or damaged"),
        ({"tokenizer.ggml.tokens": TOO_MANY, "tokenizer.ggml.token_type": None}, "321 tokens, but embeddings for 320"),
        ({"tokenizer.ggml.token_type": [1]}, "its vocabulary is missing or damaged"),
        ({"tokenizer.ggml.merges": None}, "its tokenizer's merges are missing or damaged"),
        ({"tokenizer.ggml.merges": ["t h", "q q"]}, "its tokenizer's merges are missing or damaged"),
        ({"tokenizer.ggml.merges": ["th"]}, "its tokenizer's merges are missing or damaged"),
    ],
)  # fmt: skip
def test_a_model_that_cannot_be_served(made: Made, tmp_path: Path, cache: Path, changes: dict[str, Any], says: str):
    said = made.metadata | changes
    if changes.get("general.architecture") == "mamba":
        said = {key: value for key, value in said.items() if not key.startswith("llama.")}
    assert says in refused(write_gguf(tmp_path / "made.gguf", said, made.tensors), cache)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda tensors: tensors.pop("token_embd.weight"), "lacks token_embd.weight: it is damaged"),
        (lambda tensors: tensors.pop("blk.1.ffn_up.weight"), "lacks blk.1.ffn_up.weight (model.layers.1.mlp.up_proj.weight)"),
        (lambda tensors: tensors.update({"blk.0.sinks": tensors["output_norm.weight"]}), "has 'blk.0.sinks', which no plain"),
        (lambda tensors: tensors.update({"output_norm.weight": tensors["output_norm.weight"][:9]}), "output_norm.weight is (9,)"),
    ],
)  # fmt: skip
def test_tensors_that_do_not_fit(made: Made, tmp_path: Path, cache: Path, change: Callable[[dict[str, Any]], Any], says: str):
    tensors = dict(made.tensors)
    change(tensors)
    assert says in refused(write_gguf(tmp_path / "made.gguf", made.metadata, tensors), cache)


def test_a_quantisation_that_the_package_cannot_read(made: Made, tmp_path: Path, cache: Path):
    import numpy as np

    writer = gguf.GGUFWriter(tmp_path / "made.gguf", "llama")
    writer.add_tensor("x", np.zeros((1, 36 + 256), np.uint8), raw_dtype=gguf.GGMLQuantizationType.Q8_K)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    assert "has tensors in Q8_K, which gguf cannot read: give another quantisation" in refused(tmp_path / "made.gguf", cache)


def test_a_qwen_from_before_tokenizers_were_named_is_read(tmp_path: Path, cache: Path):
    model = model_of("Qwen2")
    said = metadata_of(model) | tokenizer_metadata(pre=None)
    assert open_checkpoint(write_gguf(tmp_path / "made.gguf", said, tensors_of(model))).architecture == "Qwen2ForCausalLM"


def test_without_the_package_its_pip_command_is_told(file: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(MissingPackage, match="a GGUF file needs gguf: pip install gguf"):
        open_checkpoint(file)


def test_too_little_memory_is_told(file: Path, cache: Path, monkeypatch: pytest.MonkeyPatch):
    def none_left(*arguments: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(gguf, "dequantize", none_left)
    monkeypatch.setattr("kvnb.models.gguf_file._check_types", lambda whole: None)
    with pytest.raises(OutOfMemory, match=r"too little memory to convert .*: close other programs, or give a smaller"):
        open_checkpoint(file)
    assert [path.name for path in (cache / "models").iterdir()] == [".lock"]
