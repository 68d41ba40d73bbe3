from __future__ import annotations

from pathlib import Path

import pytest
from helpers import needs

from kvnb import Lab
from kvnb.errors import CommandError, SettingError
from kvnb.prompts import as_tokens, get_tokenizer, prompt_of, read_text

CHARS = get_tokenizer("chars")


@pytest.fixture
def tokenizer_file(tmp_path: Path) -> Path:
    """A tokenizer of three words."""
    tokenizers = needs("tokenizers")
    model = tokenizers.models.WordLevel({"[UNK]": 0, "to": 1, "be": 2}, unk_token="[UNK]")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))
    return path


def test_a_text_stays_a_text_for_a_built_in_tokenizer() -> None:
    assert prompt_of(CHARS, "ABC", None, None) == {"text": "ABC"}


def test_tokens_become_plain_ints() -> None:
    assert prompt_of(CHARS, None, (True, 2), None) == {"tokens": [1, 2]}
    assert [type(token) for token in as_tokens([True, 2])] == [int, int]


def test_nothing_given_is_no_prompt() -> None:
    assert prompt_of(CHARS, None, None, None) == {}


def test_text_tokens_and_file_exclude_each_other() -> None:
    with pytest.raises(CommandError, match="only one of them"):
        prompt_of(CHARS, "a", None, "file")


def test_a_numpy_array_of_two_dimensions_is_no_list_of_tokens() -> None:
    numpy = needs("numpy")
    with pytest.raises(CommandError, match="a flat list of whole numbers"):
        as_tokens(numpy.zeros((2, 2), dtype=int))
    with pytest.raises(CommandError, match="a flat list of whole numbers"):
        as_tokens(numpy.array(5))


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"cannot read .*No such file"):
        read_text(tmp_path / "missing")


def test_an_unknown_tokenizer_names_the_built_in_ones() -> None:
    with pytest.raises(SettingError, match="unknown tokenizer 'words', and no such file: there are chars, bytes"):
        get_tokenizer("words")


def test_a_tokenizer_in_a_file_is_known_by_its_content(tokenizer_file: Path) -> None:
    tokenizer = get_tokenizer(str(tokenizer_file))
    assert tokenizer.identity.startswith("sha256:")
    assert tokenizer.prompt("to be or") == {"tokens": [1, 2, 0]}


def test_a_pool_with_a_tokenizer_file_journals_tokens(tokenizer_file: Path) -> None:
    lab = Lab(5, block_size=2, tokenizer=str(tokenizer_file), device="none")
    assert lab.admit("a", "to be").to_dict()["command"] == {"verb": "admit", "name": "a", "tokens": [1, 2]}


def test_a_journal_loaded_without_its_tokenizer_file_still_takes_tokens(tokenizer_file: Path, tmp_path: Path) -> None:
    lab = Lab(5, block_size=2, tokenizer=str(tokenizer_file), device="none")
    lab.admit("a", "to be")
    again = Lab.load(lab.save(tmp_path / "journal.jsonl"))
    with pytest.raises(CommandError, match=r"tokenizer file .* is not loaded: give --tokens"):
        again.append("a", "to")
    assert again.append("a", tokens=[1]).num_tokens == 3
    assert again.verify().holds


def test_a_file_that_is_no_tokenizer_is_refused(tmp_path: Path) -> None:
    needs("tokenizers")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(SettingError, match=r"is no tokenizer\.json"):
        get_tokenizer(str(tmp_path / "tokenizer.json"))
