"""Which passes of a language model take one thread."""

from __future__ import annotations

from helpers import needs

needs("transformers")

from kvnb.models.pretrained import is_light  # noqa: E402  (needs torch)

SMALL, LARGE = 540_000_000, 32_000_000_000
"""Bytes of weights, in float32: 135 million of them, 8 billion."""


def test_a_conversation_with_a_small_model_is_light_and_a_long_document_is_not():
    assert is_light(280, SMALL)
    assert not is_light(1_500, SMALL)


def test_with_a_large_model_only_decoding_is_light():
    assert is_light(8, LARGE)
    assert not is_light(280, LARGE)
