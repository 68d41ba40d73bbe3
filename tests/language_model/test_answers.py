"""A real language model on the paged pool: it answers sensibly, and a prefix from the cache changes nothing but the time."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from conversations import asked, long_text, tokens_of
from helpers import assert_sound

from kvnb import Lab
from kvnb.errors import RequestError
from kvnb.models.checkpoint import Checkpoint

QUESTIONS = {
    "What is the capital of France?": ("paris",),
    "How many days has a week?": ("seven", "7"),
    "What colour is the sky on a clear day?": ("blue",),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_it_answers_in_english_and_says_its_end(pool: Callable[..., Lab], question: str) -> None:
    lab = pool()
    lab.admit("r0", chat=asked(question))
    made = lab.generate("r0", 40)
    assert any(answer in made.text.lower() for answer in QUESTIONS[question])
    assert made.finish_reason == "stop"
    assert made.tokens[-1] in lab.eos_token_ids
    assert "<|" not in made.text


def test_it_says_no_more_than_it_is_asked_for(pool: Callable[..., Lab]) -> None:
    lab = pool()
    lab.admit("r0", chat=asked("Tell me a long story."))
    made = lab.generate("r0", 5)
    assert (len(made.tokens), made.finish_reason) == (5, "length")
    assert lab.generate("r0", 3).steps[0].number == made.steps[-1].number + 1


def test_equal_seeds_draw_equal_answers_and_other_seeds_others(pool: Callable[..., Lab]) -> None:
    lab, texts = pool(), []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        lab.admit(name, chat=asked("Name an animal and say what it eats."))
        texts.append(lab.generate(name, 12, temperature=1.0, seed=seed).text)
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize("block_size", [16, 4])
def test_a_request_that_hits_is_as_if_it_had_been_computed_alone(pool: Callable[..., Lab], block_size: int) -> None:
    lab = pool(200, block_size=block_size)
    shared = long_text(130)
    lab.admit("first", tokens=shared + long_text(20, seed=1))
    hit = lab.admit("second", tokens=shared + long_text(25, seed=2))
    assert hit.num_hit_tokens == 130 // block_size * block_size
    assert hit.num_forward_tokens == 155 - hit.num_hit_tokens
    lab.generate("second", 4, ignore_eos=True)
    for name in ("first", "second"):
        proof = lab.prove(name)
        assert proof.holds
        assert max(proof.logits_difference, proof.key_difference, proof.value_difference) < 1e-3
    assert_sound(lab)


def test_chunks_packed_passes_drafts_and_a_window_are_proved_too(pool: Callable[..., Lab]) -> None:
    lab = pool(60)
    lab.admit("chunked", tokens=long_text(90), chunk=33)
    lab.prefill("chunked", 20)
    lab.prefill("chunked")
    lab.admit("packed", tokens=long_text(70, seed=3), defer=True)
    lab.append("chunked", tokens=[1234], draft=[1235, 1236], defer=True)
    lab.step()
    assert lab.prove("chunked").holds
    assert lab.prove("packed").holds
    lab.accept("chunked", 1)
    lab.append("chunked", tokens=[77])
    assert lab.prove("chunked").holds
    windowed = pool(60, sliding_window=40)
    windowed.admit("r0", tokens=long_text(90))
    windowed.generate("r0", 3, ignore_eos=True)
    assert windowed.prove("r0").holds


def test_a_pool_that_keeps_16_bits_is_proved_within_their_rounding(pool: Callable[..., Lab]) -> None:
    lab = pool(40, dtype="bfloat16")
    lab.admit("r0", tokens=long_text(60))
    lab.admit("r1", tokens=[*long_text(60), 5])
    assert lab.prove("r1").holds
    lab.worker.store.kv[lab.block_table("r1")[1]] += 1  # type: ignore[union-attr]
    assert not lab.prove("r1").holds


def test_of_8_bits_in_thirty_layers_there_is_no_proof(pool: Callable[..., Lab]) -> None:
    lab = pool(20, dtype="fp8_e4m3")
    lab.admit("r0", chat=asked("What is the capital of France?"))
    assert "Paris" in lab.generate("r0", 12).text
    with pytest.raises(RequestError, match="adds up over 30 layers"):
        lab.prove("r0")


def test_transformers_alone_says_the_same(pool: Callable[..., Lab], smollm2: Checkpoint) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    lab = pool()
    lab.admit("first", chat=asked("What is the capital of France?"))
    lab.admit("r0", chat=asked("What is the capital of Italy?"))
    made = lab.generate("r0", 10, ignore_eos=True)
    judge = AutoModelForCausalLM.from_pretrained(smollm2.folder, dtype=torch.float32, attn_implementation="sdpa").eval()
    tokens = tokens_of(lab, "r0")
    with torch.inference_mode():
        logits = judge(torch.tensor([tokens])).logits[0]
    assert logits.argmax(-1)[-len(made.tokens) - 1 : -1].tolist() == list(made.tokens)
    kept = lab.worker._kept["r0"]  # type: ignore[union-attr]
    assert float((logits[-1] - kept.rows[-1]).abs().max()) < 1e-3


@pytest.mark.parametrize("num_shared", [512, 1500])
def test_a_shared_prefix_is_not_computed_again(pool: Callable[..., Lab], num_shared: int) -> None:
    lab = pool(230)
    shared = long_text(num_shared)
    before = time.perf_counter()
    first = lab.admit("cold", tokens=shared + long_text(20, seed=1))
    between = time.perf_counter()
    hit = lab.admit("warm", tokens=shared + long_text(20, seed=2))
    after = time.perf_counter()
    saved = num_shared // 16 * 16
    assert first.num_forward_tokens == num_shared + 20
    assert (hit.num_hit_tokens, hit.num_forward_tokens) == (saved, num_shared + 20 - saved)
    cold, warm = between - before, after - between
    print(f"{num_shared} shared tokens: {cold:.2f} s to the first token, {warm:.2f} s with the hit: {cold / warm:.1f} times")


def test_memory_that_nobody_wrote_is_never_read(pool: Callable[..., Lab]) -> None:
    """What is not written is NaN, and one of them that is read makes all that follows NaN."""
    lab = pool(20)
    lab.admit("r0", tokens=long_text(100))
    lab.release("r0")
    lab.reset()
    lab.admit("r1", tokens=long_text(35, seed=4))
    assert lab.prove("r1").holds
    lab.worker.store.fill([lab.block_table("r1")[0]])  # type: ignore[union-attr]
    assert not lab.prove("r1").holds
