"""A GGUF file's vocabulary as a ``tokenizer.json``: how text is cut, merged and decoded, and which tokens are special.

Must not know: weights, the ``tokenizers`` package: the file is written as it is, so that it is the same whatever is installed.

``tokenizer.ggml.pre`` names how text is cut before it is merged; the patterns are those of the models' own tokenizer.json,
which llama.cpp lists by the same names.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kvnb.errors import SettingError, one_line
from kvnb.models.gguf_file import Gguf

_CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_LLAMA3 = _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}" + _REST
_QWEN2 = _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + _REST
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_TEKKEN = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*|\p{{N}}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

_BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
_GPT2 = _BYTES | {"use_regex": True}
_DIGITS = {"type": "Digits", "individual_digits": True}


def _split(pattern: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


CUTS: dict[str, list[dict[str, Any]]] = {
    "gpt-2": [_GPT2],
    "smollm": [_DIGITS, _GPT2],
    "llama-bpe": [_split(_LLAMA3), _BYTES],
    "qwen2": [_split(_QWEN2), _BYTES],
    "tekken": [_split(_TEKKEN), _BYTES],
}
"""How text is cut, by ``tokenizer.ggml.pre``."""

_WHOLE_WORDS = ("llama-bpe", "tekken")
"""Here a word that is in the vocabulary is a token whether merges lead to it or not, and texts begin with a BOS token."""

_UNKNOWN, _CONTROL, _USER = 2, 3, 4


class Vocabulary:
    """The tokens of a GGUF file. Raises SettingError for a vocabulary that cannot be made a ``tokenizer.json``."""

    def __init__(self, file: Gguf, vocab_size: int) -> None:
        self._said = {
            key.removeprefix("tokenizer."): value for key, value in file.metadata.items() if key.startswith("tokenizer.")
        }
        self._path = file.path
        model, self.pre = self._said.get("ggml.model"), self._pre(str(file.metadata.get("general.architecture")))
        if model != "gpt2":
            known = "byte-level BPE (gpt2) is, SentencePiece and others are not"
            raise SettingError(
                f"{file.path}: the tokenizer {one_line(str(model))} is not supported: {known}: give the folder instead"
            )
        if self.pre not in CUTS:
            known = ", ".join(CUTS)
            raise SettingError(
                f"{file.path}: how the tokenizer {one_line(str(self.pre))} cuts text is not known here: {known} are"
            )
        self.tokens: list[str] = self._said.get("ggml.tokens", [])
        self.kinds: list[int] = self._said.get("ggml.token_type", [1] * len(self.tokens))
        self._check(vocab_size)

    def _pre(self, architecture: str) -> Any:
        # Qwen has one tokenizer only, so that a file from before there was such a key can be read too.
        return self._said.get("ggml.pre", "qwen2" if architecture.startswith("qwen") else None)

    def _check(self, vocab_size: int) -> None:
        if not self.tokens or len(self.kinds) != len(self.tokens) or len(set(self.tokens)) != len(self.tokens):
            raise SettingError(f"{self._path}: its vocabulary is missing or damaged: fetch it again")
        if len(self.tokens) > vocab_size:
            raise SettingError(f"{self._path}: {len(self.tokens)} tokens, but embeddings for {vocab_size}: fetch it again")

    def token_id(self, role: str) -> int | None:
        """The id of ``bos``, ``eos``, ``eot``, ``unknown`` or ``padding``, None where the file names none."""
        value = self._said.get(f"ggml.{role}_token_id")
        return value if isinstance(value, int) and 0 <= value < len(self.tokens) else None

    @property
    def chat_template(self) -> str | None:
        """The template of a chat model."""
        template = self._said.get("chat_template")
        return template if isinstance(template, str) and template else None

    @property
    def adds_bos(self) -> bool:
        """Whether a text begins with the BOS token."""
        return self.token_id("bos") is not None and bool(self._said.get("ggml.add_bos_token", self.pre in _WHOLE_WORDS))

    def config(self) -> dict[str, Any]:
        """The ``tokenizer_config.json``."""
        names = {"bos": "bos", "eos": "eos", "unk": "unknown", "pad": "padding"}
        ids = {f"{ours}_token": self.token_id(theirs) for ours, theirs in names.items()}
        named = {name: self.tokens[token] for name, token in ids.items() if token is not None}
        return {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False} | named

    def tokenizer_json(self) -> str:
        """The ``tokenizer.json``, the same text for the same file."""
        return json.dumps(
            {
                "version": "1.0", "truncation": None, "padding": None, "added_tokens": self._added(),
                "normalizer": {"type": "NFC"} if self.pre == "qwen2" else None,
                "pre_tokenizer": {"type": "Sequence", "pretokenizers": CUTS[self.pre]},
                "post_processor": self._begin(), "decoder": _GPT2 | {"add_prefix_space": True}, "model": self._model(),
            },
            ensure_ascii=False,
        )  # fmt: skip

    def _added(self) -> list[dict[str, Any]]:
        plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
        return [
            {"id": token, "content": self.tokens[token], **plain, "special": kind != _USER}
            for token, kind in enumerate(self.kinds)
            if kind in (_UNKNOWN, _CONTROL, _USER)
        ]

    def _begin(self) -> Mapping[str, Any] | None:
        bos = self.token_id("bos")
        if bos is None or not self.adds_bos:
            return None
        word = self.tokens[bos]
        start, text, more = ({"SpecialToken": {"id": word, "type_id": 0}}, *({"Sequence": {"id": i, "type_id": 0}} for i in "AB"))
        known = {word: {"id": word, "ids": [bos], "tokens": [word]}}
        return {
            "type": "TemplateProcessing",
            "single": [start, text],
            "pair": [start, text, start, more],
            "special_tokens": known,
        }

    def _model(self) -> dict[str, Any]:
        merges = [merge.split(" ") for merge in self._said.get("ggml.merges", [])]
        known = set(self.tokens)
        if not merges or not all(len(pair) == 2 and {*pair, "".join(pair)} <= known for pair in merges):
            raise SettingError(f"{self._path}: its tokenizer's merges are missing or damaged: fetch it again")
        return {
            "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
            "fuse_unk": False, "byte_fallback": False, "ignore_merges": self.pre in _WHOLE_WORDS,
            "vocab": {token: number for number, token in enumerate(self.tokens)}, "merges": merges,
        }  # fmt: skip
