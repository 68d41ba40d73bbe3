"""What a block weighs, and amounts of memory as text."""

from __future__ import annotations

import pytest
from helpers import run_python

from kvnb.errors import SettingError
from kvnb.tensors.shapes import (
    DTYPES,
    SHAPES,
    TINY,
    KVShape,
    blocks_in,
    bytes_per_block,
    check_shape,
    human_bytes,
    named_shape,
    parse_memory,
)


def never() -> int:
    raise AssertionError("asked for the free memory")


def test_shapes_are_known_without_torch():
    code = "import sys, kvnb.tensors, kvnb.tensors.shapes; print('torch' in sys.modules)"
    assert run_python(code) == "False"


def test_a_block_of_the_tiny_model_is_2_kib():
    assert bytes_per_block(TINY, 4, "float32") == 2048


def test_a_block_of_llama_8b_is_2_mib_in_16_bits():
    assert human_bytes(bytes_per_block(SHAPES["llama-3.1-8b"].shape, 16, "bfloat16")) == "2.0 MiB"


def test_a_block_of_smollm2_is_what_was_measured():
    assert bytes_per_block(named_shape("smollm2-135m"), 16, "float32") == 737_280


def test_fp8_takes_a_quarter_of_float32():
    assert 4 * bytes_per_block(TINY, 16, "fp8_e5m2") == bytes_per_block(TINY, 16, "float32")


def test_every_known_shape_can_be_made_and_says_where_it_is_from():
    for known in SHAPES.values():
        check_shape(known.shape)
        assert known.source.startswith("https://huggingface.co/")


def test_an_unknown_model_is_an_error_that_names_the_nearest():
    assert named_shape("tiny") == TINY
    with pytest.raises(SettingError, match=r"unknown model 'llama-3\.1-8': did you mean llama-3\.1-8b"):
        named_shape("llama-3.1-8")


def test_an_unknown_dtype_is_an_error_that_names_the_nearest():
    with pytest.raises(SettingError, match="unknown dtype 'float31': did you mean float32"):
        bytes_per_block(TINY, 4, "float31")


@pytest.mark.parametrize("shape", [KVShape(0, 1, 2), KVShape(1, -1, 2), KVShape(1, 1, 1.5), KVShape(True, 1, 2)])
def test_a_shape_is_of_whole_numbers_above_0(shape):
    with pytest.raises(SettingError, match="give a whole number, 1 or more"):
        check_shape(shape)


def test_an_odd_head_size_has_no_rotary_pairs():
    with pytest.raises(SettingError, match="head_size is 15: give an even number"):
        check_shape(KVShape(1, 1, 15))


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2GiB", 2 * 2**30), ("512MiB", 2**29), ("1.5GB", 1_500_000_000), ("1000000", 1_000_000), ("64 kib", 65536),
        ("1T", 10**12), ("10B", 10), ("0.5MiB", 2**19), ("3Gi", 3 * 2**30),
    ],
)  # fmt: skip
def test_memory_is_given_in_bytes_or_units(text, size):
    assert parse_memory(text, never) == size


def test_a_percentage_is_of_what_is_free():
    assert parse_memory("90%", lambda: 1000) == 900
    assert parse_memory("12.5 %", lambda: 1000) == 125


@pytest.mark.parametrize("text", ["", "lots", "2XB", "-1GB", "1e9", "iB", "5iB", "GiB", "2GiB 3", "1,000", "nan", "٣GiB"])
def test_what_is_no_amount_of_memory_is_an_error_of_one_line(text):
    with pytest.raises(SettingError, match="give bytes as 2GiB") as caught:
        parse_memory(text, never)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["0", "0GiB", "101%", "0%"])
def test_memory_is_more_than_nothing_and_at_most_all(text):
    with pytest.raises(SettingError, match="give more than 0, and at most 100%"):
        parse_memory(text, lambda: 1000)


def test_only_whole_blocks_count():
    assert blocks_in(2048 * 11 - 1, TINY, 4, "float32") == 10
    with pytest.raises(SettingError, match="2,047 bytes hold no block of 8,192"):
        blocks_in(2047, TINY, 16, "float32")


@pytest.mark.parametrize(
    ("n", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (22528, "22.0 KiB"), (1048575, "1.0 MiB"), (3 * 2**29, "1.5 GiB"),
     (2**50, "1024.0 TiB")],
)  # fmt: skip
def test_bytes_are_told_in_the_largest_unit_that_fits(n, text):
    assert human_bytes(n) == text


def test_a_shape_is_told_in_words():
    assert str(TINY) == "2 layers, 2 KV heads of 16"
    assert str(KVShape(1, 1, 8)) == "1 layer, 1 KV head of 8"


def test_precisions_bear_vllms_names():
    assert list(DTYPES) == ["float32", "float16", "bfloat16", "fp8_e4m3", "fp8_e5m2"]
