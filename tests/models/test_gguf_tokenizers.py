"""A GGUF file's vocabulary cuts text as the model's own tokenizer does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from made_models import SPECIAL, byte_letters, needs, tokenizer_metadata, vocabulary

from kvnb.models.checkpoint import Checkpoint
from kvnb.models.gguf_file import Gguf
from kvnb.models.gguf_tokenizer import CUTS, Vocabulary

needs("tokenizers")
from tokenizers import Tokenizer  # noqa: E402


def words_of(**changes: Any) -> Vocabulary:
    return Vocabulary(Gguf(Path("made.gguf"), tokenizer_metadata(**changes), {}), 1000)


def tokenizer(**changes: Any) -> Any:
    return Tokenizer.from_str(words_of(**changes).tokenizer_json())


def pieces(text: str, **changes: Any) -> list[str]:
    """The tokens of ``text``, spaces and line ends readable."""
    return [token.replace("Ġ", " ").replace("Ċ", "\n") for token in tokenizer(**changes).encode(text).tokens]


def test_digits_are_merged_only_where_the_model_cuts_so():
    assert pieces("in 12", pre="smollm") == ["in", " ", "1", "2"]
    assert pieces("in 12", pre="gpt-2") == ["in", " ", "12"]
    assert pieces("in 12", pre="llama-bpe", merges=["1 2", "i n", "12 3"], tokens=[*vocabulary()[0], "123"], token_type=None) == [
        "in", " ", "12",
    ]  # fmt: skip
    assert pieces("in 12", pre="qwen2") == ["in", " ", "1", "2"]
    assert pieces("in 12", pre="tekken") == ["in", " ", "1", "2"]


def test_special_tokens_are_single_and_none_is_added():
    assert pieces("<|im_start|>the<|im_end|>") == ["<|im_start|>", "the", "<|im_end|>"]
    assert [tokenizer().token_to_id(token) for token in SPECIAL] == [0, 1, 2]
    assert pieces("") == []


def test_tokens_of_the_makers_own_are_single_and_stay_in_what_is_decoded():
    tokens, kinds = [*vocabulary()[0], "<tool>"], tokenizer_metadata()["tokenizer.ggml.token_type"]
    cut = tokenizer(tokens=tokens, token_type=[*kinds, 4])
    assert cut.encode("the<tool>").tokens == ["the", "<tool>"]
    assert cut.decode(cut.encode("<|im_end|><tool>the").ids) == "<tool>the"


@pytest.mark.parametrize(("said", "pre", "begins"), [(None, "smollm", False), (True, "smollm", True), (None, "llama-bpe", True),
                                                     (False, "llama-bpe", False), (None, "qwen2", False)])  # fmt: skip
def test_a_text_begins_with_bos_where_the_file_or_its_kind_says_so(said: bool | None, pre: str, begins: bool):
    cut = tokenizer(pre=pre, add_bos_token=said)
    assert cut.encode("the").tokens == ["<|endoftext|>"] * begins + ["the"]
    assert cut.encode("the", add_special_tokens=False).tokens == ["the"]
    assert cut.encode("the", "an").tokens == (["<|endoftext|>"] * begins + ["the"]) + (["<|endoftext|>"] * begins + ["an"])


def test_a_bos_that_the_file_does_not_name_is_not_added():
    assert pieces("the", add_bos_token=True, bos_token_id=None) == ["the"]
    assert pieces("the", add_bos_token=True, bos_token_id=99999) == ["the"]


def test_a_word_of_the_vocabulary_is_one_token_for_llama_3():
    tokens = [*vocabulary()[0], "xyz"]
    assert pieces("xyz", pre="smollm", tokens=tokens, token_type=None) == ["x", "y", "z"]
    assert pieces("xyz", pre="llama-bpe", tokens=tokens, token_type=None, add_bos_token=False) == ["xyz"]


@pytest.mark.parametrize("pre", CUTS)
def test_any_text_comes_back(pre: str):
    cut = tokenizer(pre=pre)

    @given(st.text())
    @example("  two\n\n\tthree \r\n 12345 isn't I'LL naïve 日本語 🎉 \x00")
    def comes_back(text: str) -> None:
        import unicodedata

        said = unicodedata.normalize("NFC", text) if pre == "qwen2" else text
        assert cut.decode(cut.encode(text).ids, skip_special_tokens=False) == said

    comes_back()


def test_the_same_vocabulary_gives_the_same_text():
    assert words_of().tokenizer_json() == words_of().tokenizer_json()
    assert (
        words_of()
        .tokenizer_json()
        .startswith('{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [{"id": 0,')
    )


def test_what_the_settings_say():
    assert words_of().config() == {
        "tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False,
        "bos_token": "<|endoftext|>", "eos_token": "<|im_end|>",
    }  # fmt: skip


def sentencepiece(**changes: Any) -> Any:
    """A vocabulary with scores in place of merges: the best score is merged first."""
    letters = ["▁", *"abcdefg"]
    words = {"ab": -1.0, "bc": -2.0, "abc": -3.0, "▁abc": -4.0, "▁▁": -5.0}
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *words, *letters]
    kinds = [2, 3, 3, *[6] * 256, *[1] * (len(words) + len(letters))]
    scores = [*[0.0] * 259, *words.values(), *[-100.0] * len(letters)]
    said = {
        "model": "llama", "pre": None, "merges": None, "tokens": tokens, "token_type": kinds, "scores": scores,
        "bos_token_id": 1, "eos_token_id": 2, "unknown_token_id": 0, "add_bos_token": None,
    }  # fmt: skip
    return tokenizer(**{**said, **changes})


def test_a_sentencepiece_vocabulary_merges_by_score():
    assert sentencepiece().encode("abc bca").tokens == ["<s>", "▁abc", "▁", "bc", "a"]
    plain = sentencepiece(add_bos_token=False, add_space_prefix=False)
    assert plain.encode("abc  d").tokens == ["abc", "▁▁", "d"]
    assert plain.encode("abc  abc").tokens == ["abc", "▁", "▁abc"]


def test_what_no_piece_has_is_its_bytes():
    assert sentencepiece().encode("é\n").tokens == ["<s>", "▁", "<0xC3>", "<0xA9>", "<0x0A>"]


@given(st.text())
def test_any_text_comes_back_from_sentencepiece(text: str):
    cut = sentencepiece()
    said = cut.decode(cut.encode(text, add_special_tokens=False).ids, skip_special_tokens=False)
    # The letter that stands for a space cannot be told from one.
    assert said == text.replace("▁", " ")


def test_smollm2_cuts_as_its_makers_say(smollm2: Checkpoint):
    cut = Tokenizer.from_file(str(smollm2.tokenizer_file))
    assert cut.encode("In 2024, 4417!").ids == [788, 216, 34, 32, 34, 36, 28, 216, 36, 36, 33, 39, 17]
    for token, number in {"<|endoftext|>": 0, "<|im_start|>": 1, "<|im_end|>": 2}.items():
        assert cut.encode(token).ids == [number]
    assert all(len(cut.encode(letter).ids) == 1 for letter in "0123456789")
    assert smollm2.eos_token_ids == (0, 2)
    assert cut.get_vocab_size() == smollm2.vocab_size == 49152


def test_any_text_of_bytes_that_smollm2_has_comes_back(smollm2: Checkpoint):
    cut = Tokenizer.from_file(str(smollm2.tokenizer_file))
    has = {byte for byte, letter in enumerate(byte_letters()) if cut.token_to_id(letter) is not None}
    # Its makers left out bytes that hardly occur, and such a byte is no token: control characters, rare planes of Unicode.
    assert len(has) > 220
    assert {*range(32, 127), *b"\n\t\r"} <= has

    @given(st.text().map(lambda text: "".join(c for c in text if has.issuperset(c.encode("utf-8", "replace")))))
    @example("  two\n\n\tthree naïve 日本語 🎉 don't I'll 12345 ")
    def comes_back(text: str) -> None:
        assert cut.decode(cut.encode(text).ids) == text

    comes_back()
