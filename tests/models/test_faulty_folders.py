"""What is wrong with a checkpoint's folder is said in one line, before anything large is read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers import run_python
from made_models import model_of, save_folder

from kvnb.errors import SettingError
from kvnb.models.checkpoint import open_checkpoint


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_folder(model_of("Llama"), tmp_path_factory.mktemp("models") / "made")


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A folder of one's own to break."""
    return Path(shutil.copytree(made, tmp_path / "made"))


def refused(path: Path | str) -> str:
    with pytest.raises(SettingError) as caught:
        open_checkpoint(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def configure(folder: Path, **changes: Any) -> None:
    """Change keys of ``config.json``; None takes one out."""
    config = json.loads((folder / "config.json").read_text()) | changes
    (folder / "config.json").write_text(json.dumps({key: value for key, value in config.items() if value is not None}))


def cut(path: Path, left: int) -> None:
    path.write_bytes(path.read_bytes()[:left])


def wrong_header(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    path = folder / "model.safetensors"
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    change(header)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + length :])


def test_a_path_that_is_not_there(tmp_path: Path):
    assert refused(tmp_path / "none") == f"no such folder or GGUF file: '{tmp_path}/none'"
    assert refused("~nobody-of-that-name/x").startswith("no such folder or GGUF file")


def test_a_name_on_a_hub_is_no_path():
    hub = "no folder 'meta-llama/Llama-3.2-1B': models are not fetched from a hub: give the path of a local folder or GGUF file"
    assert refused("meta-llama/Llama-3.2-1B") == hub


def test_a_home_folder_is_found(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(folder.parent))
    assert open_checkpoint("~/made").folder == folder


def test_a_hostile_name_stays_one_line(folder: Path):
    hostile = folder.rename(folder.with_name("a\n\x1b[31mb"))
    (hostile / "config.json").unlink()
    assert r"a\n\x1b[31mb has no config.json" in refused(hostile)


def test_another_file_than_a_gguf(folder: Path):
    assert "config.json is a file, and no .gguf: give the checkpoint's folder, or a GGUF file" in refused(folder / "config.json")


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json"])
def test_a_file_that_is_missing(folder: Path, name: str):
    (folder / name).unlink()
    assert f"has no {name}: give the folder of a whole checkpoint" in refused(folder)


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 100_000, "\udcff"])
def test_a_config_that_is_no_json(folder: Path, text: str):
    (folder / "config.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert "config.json is no JSON" in refused(folder)


@pytest.mark.parametrize("key", ["hidden_size", "num_attention_heads", "num_hidden_layers", "intermediate_size", "vocab_size"])
def test_a_key_that_is_missing_or_odd(folder: Path, key: str):
    configure(folder, **{key: None})
    assert f"config.json lacks '{key}': the file is incomplete" in refused(folder)
    for value in ("64", 0, -1, 2.5, True, 10**10, 10**30):
        configure(folder, **{key: value})
        assert f"{key} is " in refused(folder)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"architectures": None}, "lacks 'architectures': supported are LlamaForCausalLM"),
        ({"architectures": ["GPT2LMHeadModel"]}, "the architecture 'GPT2LMHeadModel' is not supported: supported are Llama"),
        ({"architectures": ["\x1b[31mX"]}, r"the architecture '\x1b[31mX' is not supported"),
        ({"quantization_config": {"quant_method": "awq"}}, "quantised weights (quantization_config) are not read"),
        ({"sliding_window": 128}, "layers with a sliding window"),
        ({"architectures": ["MistralForCausalLM"]}, "layers with a sliding window"),
        ({"architectures": ["Qwen2ForCausalLM"], "use_sliding_window": True, "sliding_window": 8}, "a sliding window"),
        ({"layer_types": 1}, "layers with a sliding window"),
        ({"layer_types": ["full_attention", "sliding_attention"]}, "layers with a sliding window"),
        ({"attn_logit_softcapping": 50.0}, "attn_logit_softcapping is not served here: give a plain Llama"),
        ({"num_local_experts": 8}, "num_local_experts is not served here"),
        ({"rope_parameters": {"rope_type": "dynamic", "factor": 2.0}}, "a cached block would change with the length of the text"),
        ({"rope_parameters": None, "rope_scaling": {"type": "su"}}, "the rotary scaling 'su' is not served, it is unknown here"),
        ({"rope_parameters": None, "rope_scaling": "x"}, "the rotary scaling 'x' is not served"),
        ({"head_dim": 15}, "head_size is 15: give an even number"),
        ({"num_key_value_heads": 3}, "4 query heads do not share 3 KV heads evenly"),
        ({"head_dim": None, "hidden_size": 66}, "hidden_size 66 is no multiple of 4 heads"),
        ({"hidden_size": 128}, "is 320x64, config.json asks for 320x128: they belong to different models"),
        ({"num_hidden_layers": 3}, "lack model.layers.2.input_layernorm.weight: fetch the checkpoint again"),
        ({"tie_word_embeddings": False, "architectures": ["Qwen3ForCausalLM"]}, "lack model.layers.0.self_attn.q_norm.weight"),
        ({"attention_bias": True}, "lack model.layers.0.self_attn.q_proj.bias"),
    ],
)  # fmt: skip
def test_a_model_that_cannot_be_served(folder: Path, changes: dict[str, Any], says: str):
    configure(folder, **changes)
    assert says in refused(folder)


def test_a_window_that_is_not_used_does_not_matter(folder: Path):
    configure(folder, architectures=["Qwen2ForCausalLM"], sliding_window=32768, use_sliding_window=False)
    assert "q_proj.bias" in refused(folder)
    configure(folder, architectures=["MistralForCausalLM"], model_type="mistral")
    (folder / "config.json").write_text(
        (folder / "config.json").read_text().replace('"sliding_window": 32768', '"sliding_window": null')
    )
    assert open_checkpoint(folder).architecture == "MistralForCausalLM"


def test_weights_that_are_missing(folder: Path):
    weights = (folder / "model.safetensors").rename(folder / "other.safetensors")
    assert "has other.safetensors, but no model.safetensors" in refused(folder)
    weights.unlink()
    assert refused(folder) == f"{folder} has no weights: it lacks model.safetensors"
    (folder / "pytorch_model.bin").touch()
    assert "has its weights as pickled .bin only, which can run code: give model.safetensors" in refused(folder)


def test_shards_that_are_missing(folder: Path):
    (folder / "model.safetensors").rename(folder / "a.safetensors")
    index = folder / "model.safetensors.index.json"
    for content in ("{}", '{"weight_map": {}}', '{"weight_map": {"x": 1}}'):
        index.write_text(content)
        assert "has no weight_map" in refused(folder)
    index.write_text(json.dumps({"weight_map": {"x": "a.safetensors", "y": "b.safetensors", "z": "../made/a.safetensors"}}))
    assert refused(folder) == f"{folder} lacks 2 shards of 3 ('../made/a.safetensors'): fetch the rest"


@pytest.mark.parametrize("left", [0, 4, 8, 500])
def test_weights_whose_header_is_cut_off(folder: Path, left: int):
    cut(folder / "model.safetensors", left)
    assert "model.safetensors is truncated or no safetensors file: fetch it again" in refused(folder)


def test_weights_that_are_cut_off(folder: Path):
    weights = folder / "model.safetensors"
    size = weights.stat().st_size
    cut(weights, size - 1)
    assert refused(folder) == f"{weights} is truncated: {size - 1:,} bytes of {size:,}: fetch it again"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda header: header["lm_head.weight"].update(dtype="F8_E4M3"),
            "lm_head.weight is 'F8_E4M3': only float32, float16 and",
        ),
        (lambda header: header["lm_head.weight"].update(shape=[320, 63]), "has a damaged header"),
        (lambda header: header["lm_head.weight"].update(shape="x"), "has a damaged header"),
        (lambda header: header["lm_head.weight"].pop("data_offsets"), "has a damaged header"),
        (lambda header: header.update({"lm_head.weight": 5}), "has a damaged header"),
        (lambda header: header.update({"model.layers.0.self_attn.sinks": header["model.norm.weight"]}), "have attention sinks"),
    ],
)
def test_a_header_that_does_not_fit(folder: Path, change: Callable[[dict[str, Any]], Any], says: str):
    wrong_header(folder, change)
    assert says in refused(folder)


def test_a_tokenizer_with_odd_added_tokens(folder: Path):
    (folder / "tokenizer.json").write_text('{"added_tokens": [{"id": 1}]}')
    assert "tokenizer.json is no tokenizer.json: fetch it again" in refused(folder)
    (folder / "tokenizer.json").write_text("{}")
    assert open_checkpoint(folder).eos_token_ids == (2,)


def test_what_ends_an_answer_is_gathered_from_all_files(folder: Path):
    configure(folder, eos_token_id=7)
    (folder / "generation_config.json").write_text('{"eos_token_id": [9, 7]}')
    # 0 and 2 are the chat's <|endoftext|> and <|im_end|>.
    assert open_checkpoint(folder).eos_token_ids == (0, 2, 7, 9)


def test_a_folder_is_looked_at_without_the_heavy_packages(folder: Path):
    code = """
import sys
from kvnb.models.checkpoint import open_checkpoint
open_checkpoint(sys.argv[1])
print(sorted({"torch", "transformers", "gguf", "numpy", "tokenizers"} & set(sys.modules)))
"""
    assert run_python(code, str(folder)) == "[]"
