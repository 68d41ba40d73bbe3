"""Folders of small random models, one of every architecture that is taken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from helpers import needs

transformers = needs("transformers")
torch = needs("torch")
SIZES: dict[str, Any] = {
    "vocab_size": 300, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 512, "bos_token_id": 0, "eos_token_id": 1,
}  # fmt: skip
MADE = {
    "llama": lambda: transformers.LlamaConfig(**SIZES),
    "llama, scaled positions": lambda: transformers.LlamaConfig(
        **SIZES, rope_parameters={
            "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 64, "rope_theta": 10000.0,
        },
    ),
    "qwen2": lambda: transformers.Qwen2Config(**SIZES),
    "qwen3": lambda: transformers.Qwen3Config(**SIZES),
    "mistral": lambda: transformers.MistralConfig(**SIZES, sliding_window=None),
}  # fmt: skip


def saved(folder: Path, config: Any) -> Any:
    """A random model of that architecture in ``folder``, with a tokenizer of bytes."""
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="sdpa").float().eval()
    model.save_pretrained(folder)
    from tokenizers import Tokenizer, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: place for place, letter in enumerate(alphabet)}, []))
    tokenizer.save(str(folder / "tokenizer.json"))
    return model
