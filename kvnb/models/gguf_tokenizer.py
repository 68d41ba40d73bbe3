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

_NORMAL, _UNKNOWN, _CONTROL, _USER = 1, 2, 3, 4

_SPACE = "\u2581"
"""SentencePiece writes a space so."""


class Vocabulary:
    """The tokens of a GGUF file: byte-level BPE (``gpt2``) or SentencePiece's BPE (``llama``).

    Raises SettingError for a vocabulary that cannot be made a ``tokenizer.json``.
    """

    def __init__(self, file: Gguf, vocab_size: int) -> None:
        self._said = {
            key.removeprefix("tokenizer."): value for key, value in file.metadata.items() if key.startswith("tokenizer.")
        }
        self._path = file.path
        model = self._said.get("ggml.model")
        if model not in ("gpt2", "llama"):
            known = "gpt2 (byte-level BPE) and llama (SentencePiece) are"
            raise SettingError(
                f"{file.path}: the tokenizer {one_line(str(model))} is not supported: {known}: give the folder instead"
            )
        self._pieces = model == "llama"
        self.pre = None if self._pieces else self._cut(str(file.metadata.get("general.architecture")))
        self.tokens: list[str] = self._said.get("ggml.tokens", [])
        self.kinds: list[int] = self._said.get("ggml.token_type", [_NORMAL] * len(self.tokens))
        self._check(vocab_size)

    def _cut(self, architecture: str) -> str:
        # Qwen has one tokenizer only, so that a file from before there was such a key can be read too.
        pre = self._said.get("ggml.pre", "qwen2" if architecture.startswith("qwen") else None)
        if pre is None:
            raise SettingError(
                f"{self._path} does not say how its tokenizer cuts text (tokenizer.ggml.pre): give a newer conversion"
            )
        if pre not in CUTS:
            known = ", ".join(CUTS)
            raise SettingError(f"{self._path}: how the tokenizer {one_line(str(pre))} cuts text is not known here: {known} are")
        return str(pre)

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
        return self.token_id("bos") is not None and bool(
            self._said.get("ggml.add_bos_token", self._pieces or self.pre in _WHOLE_WORDS)
        )

    def config(self) -> dict[str, Any]:
        """The ``tokenizer_config.json``."""
        names = {"bos": "bos", "eos": "eos", "unk": "unknown", "pad": "padding"}
        ids = {f"{ours}_token": self.token_id(theirs) for ours, theirs in names.items()}
        named = {name: self.tokens[token] for name, token in ids.items() if token is not None}
        return {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False} | named

    def tokenizer_json(self) -> str:
        """The ``tokenizer.json``, the same text for the same file."""
        whole = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": self._added()}
        whole |= self._like_sentencepiece() if self._pieces else self._like_gpt2()
        return json.dumps(whole | {"post_processor": self._begin()}, ensure_ascii=False)

    def _like_gpt2(self) -> dict[str, Any]:
        merges = [merge.split(" ") for merge in self._said.get("ggml.merges", [])]
        known = set(self.tokens)
        if not merges or not all(len(pair) == 2 and {*pair, "".join(pair)} <= known for pair in merges):
            raise SettingError(f"{self._path}: its tokenizer's merges are missing or damaged: fetch it again")
        return {
            "normalizer": {"type": "NFC"} if self.pre == "qwen2" else None,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": CUTS[str(self.pre)]},
            "decoder": _BYTES, "model": self._model(merges, ignore_merges=self.pre in _WHOLE_WORDS),
        }  # fmt: skip

    def _like_sentencepiece(self) -> dict[str, Any]:
        """A space is a letter of its own, a letter that is in no token is the tokens of its bytes."""
        prefixed = self._said.get("ggml.add_space_prefix", True)
        start = [{"type": "Prepend", "prepend": _SPACE}] if prefixed else []
        end = [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if prefixed else []
        spaces, back = ({"type": "Replace", "pattern": {"String": a}, "content": b} for a, b in ((" ", _SPACE), (_SPACE, " ")))
        unknown = self.token_id("unknown")
        settings = {"unk_token": None if unknown is None else self.tokens[unknown], "fuse_unk": True, "byte_fallback": True}
        return {
            "normalizer": {"type": "Sequence", "normalizers": [*start, spaces]},
            "pre_tokenizer": None,
            "decoder": {"type": "Sequence", "decoders": [back, {"type": "ByteFallback"}, {"type": "Fuse"}, *end]},
            "model": self._model(self._merges_by_score(), **settings),
        }

    def _merges_by_score(self) -> list[list[str]]:
        """SentencePiece keeps no merges: of two neighbours it joins those whose token has the best score."""
        scores = self._said.get("ggml.scores", [])
        if len(scores) != len(self.tokens):
            raise SettingError(f"{self._path}: the scores of its tokens are missing or damaged: fetch it again")
        known = {token for token, kind in zip(self.tokens, self.kinds, strict=True) if kind == _NORMAL}
        order = sorted((number for number, token in enumerate(self.tokens) if token in known), key=lambda n: (-scores[n], n))
        words = (self.tokens[number] for number in order)
        return [[word[:i], word[i:]] for word in words for i in range(1, len(word)) if word[:i] in known and word[i:] in known]

    def _model(self, merges: list[list[str]], **settings: Any) -> dict[str, Any]:
        plain: dict[str, Any] = {
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
        }
        plain |= {"fuse_unk": False, "byte_fallback": False, "ignore_merges": False}
        vocab = {token: number for number, token in enumerate(self.tokens)}
        return {"type": "BPE"} | plain | settings | {"vocab": vocab, "merges": merges}

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
