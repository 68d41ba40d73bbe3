"""A folder and a GGUF file of the same weights are the same model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from made_models import (
    ARCHITECTURES,
    gguf,
    gguf_of,
    metadata_of,
    model_of,
    save_folder,
    tensors_of,
    tokenizer_metadata,
    torch,
    weights_in,
    write_gguf,
)
from tokenizers import Tokenizer

from kvnb.errors import SettingError
from kvnb.models.checkpoint import Checkpoint, open_checkpoint
from kvnb.tensors.shapes import KVShape

TOKENS = (3, 50, 7, 200, 11, 90, 258, 1)


def loaded(folder: Path) -> Any:
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, local_files_only=True).eval()


def logits(model: Any, tokens: Sequence[int] = TOKENS) -> Any:
    with torch.no_grad():
        return model(torch.tensor([tokens])).logits


@pytest.mark.parametrize("tied", [False, True], ids=["a head of its own", "the embedding as head"])
@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_a_folder_and_a_gguf_file_give_equal_tensors_and_logits(kind: str, tied: bool, tmp_path: Path, cache: Path):
    model = model_of(kind, tie_word_embeddings=tied)
    from_folder = open_checkpoint(save_folder(model, tmp_path / "made"))
    from_gguf = open_checkpoint(gguf_of(model, tmp_path / "made.gguf"))

    assert weights_in(from_folder.folder).keys() == weights_in(from_gguf.folder).keys()
    for name, weight in weights_in(from_folder.folder).items():
        assert torch.equal(weight, weights_in(from_gguf.folder)[name]), name
    assert torch.equal(logits(loaded(from_gguf.folder)), logits(model))
    assert from_gguf.shape == from_folder.shape == KVShape(2, 2, 32 if kind == "Qwen3" else 16)
    assert from_gguf.weight_bytes == from_folder.weight_bytes == 4 * sum(weight.numel() for weight in model.parameters())
    assert from_gguf.eos_token_ids == (0, 2)


def test_what_is_known_of_a_checkpoint(tmp_path: Path, cache: Path):
    model = model_of("Qwen3")
    folder = open_checkpoint(save_folder(model, tmp_path / "made"))
    assert (folder.source, folder.folder, folder.name) == (tmp_path / "made", tmp_path / "made", "made")
    assert (folder.architecture, folder.vocab_size, folder.max_tokens) == ("Qwen3ForCausalLM", 320, 256)
    assert folder.tokenizer_file.is_file()
    file = open_checkpoint(str(gguf_of(model, tmp_path / "made.Q8.gguf")))
    assert (file.source, file.name, file.folder.parent) == (tmp_path / "made.Q8.gguf", "made.Q8", cache / "models")


@pytest.mark.parametrize("kind", ["F16", "BF16", "Q8_0", "Q5_1", "Q5_0", "Q4_1", "Q4_0"])
def test_each_quantisation_becomes_the_floats_that_it_stands_for(kind: str, tmp_path: Path, cache: Path):
    model = model_of("Qwen2")
    folder = open_checkpoint(gguf_of(model, tmp_path / "made.gguf", kind)).folder
    quantised = gguf.GGMLQuantizationType[kind]
    for name, weight in model.named_parameters():
        stands_for = weight.detach().numpy()
        if weight.ndim > 1:
            stands_for = gguf.dequantize(gguf.quantize(stands_for, quantised), quantised)
        assert torch.equal(weights_in(folder)[name], torch.from_numpy(stands_for)), name
        assert torch.allclose(weights_in(folder)[name], weight, atol=0.1)


def test_a_large_tensor_is_converted_in_pieces(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch):
    model = model_of("Llama")
    whole = open_checkpoint(gguf_of(model, tmp_path / "a.gguf", "Q8_0")).folder
    monkeypatch.setattr("kvnb.models.gguf_file.AT_ONCE", 100)
    pieces = open_checkpoint(gguf_of(model, tmp_path / "b.gguf", "Q8_0")).folder
    assert (whole / "model.safetensors").read_bytes() == (pieces / "model.safetensors").read_bytes()


def test_biases_of_a_llama_come_along(tmp_path: Path, cache: Path):
    model = model_of("Llama", attention_bias=True, mlp_bias=True)
    folder = open_checkpoint(gguf_of(model, tmp_path / "made.gguf")).folder
    assert torch.equal(logits(loaded(folder)), logits(model))


def test_a_folder_in_shards_is_one_checkpoint(tmp_path: Path):
    model = model_of("Llama")
    folder = save_folder(model, tmp_path / "made")
    whole = open_checkpoint(folder)
    (folder / "model.safetensors").unlink()
    model.save_pretrained(folder, max_shard_size="100KB")
    assert len(list(folder.glob("model-*.safetensors"))) > 1
    assert open_checkpoint(folder) == whole


def scaled(tmp_path: Path, rope: dict[str, Any], metadata: dict[str, Any], table: Any = None) -> None:
    """A model with a rotary scaling, and its GGUF file, give the same logits."""
    model = model_of("Llama", rope_parameters={"rope_theta": 500000.0} | rope)
    said = metadata_of(model) | {f"llama.rope.scaling.{key}": value for key, value in metadata.items()} | tokenizer_metadata()
    extra = {} if table is None else {"rope_freqs.weight": table}
    folder = open_checkpoint(write_gguf(tmp_path / "made.gguf", said, tensors_of(model) | extra)).folder
    assert torch.equal(logits(loaded(folder)), logits(model))


def test_linear_and_yarn_scalings_come_along(tmp_path: Path, cache: Path):
    scaled(tmp_path, {"rope_type": "linear", "factor": 4.0}, {"type": "linear", "factor": 4.0})
    yarn = {"factor": 2.0, "original_max_position_embeddings": 128}
    scaled(tmp_path, {"rope_type": "yarn"} | yarn, {"type": "yarn", "factor": 2.0, "original_context_length": 128})


def test_llama_3s_scaling_is_told_from_its_table(tmp_path: Path, cache: Path):
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    llama3 = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
    rope = {"rope_type": "llama3"} | llama3
    config = model_of("Llama", rope_parameters={"rope_theta": 500000.0} | rope).config
    slowed, _ = ROPE_INIT_FUNCTIONS["llama3"](config, torch.device("cpu"))
    plain = 500000.0 ** -(torch.arange(0, 16, 2) / 16)
    table = (plain / slowed).numpy()
    assert 1 < table.max() < 8.1
    scaled(tmp_path, rope, {}, table)
    table[3] += 0.1
    with pytest.raises(SettingError, match=r"rope_freqs\.weight is not Llama 3's table: give the checkpoint's folder"):
        scaled(tmp_path, rope, {}, table)


def test_smollm2_is_loaded_and_knows_its_capitals(smollm2: Checkpoint):
    assert (smollm2.name, smollm2.architecture) == ("SmolLM2-135M-Instruct.Q4_1", "LlamaForCausalLM")
    assert (smollm2.shape, smollm2.max_tokens, smollm2.weight_bytes) == ((30, 3, 64), 8192, 4 * 134_515_008)
    cut = Tokenizer.from_file(str(smollm2.tokenizer_file))
    # As they lie in the GGUF file, the rows of Q and K would give nonsense.
    next_tokens = logits(loaded(smollm2.folder), cut.encode("The capital of France is").ids)[0, -1]
    assert cut.decode([int(next_tokens.argmax())]) == " Paris"
