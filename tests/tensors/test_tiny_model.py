"""The small model: weights by seed, and positions that matter."""

from __future__ import annotations

import torch

from kvnb.tensors.attention import dense_attention
from kvnb.tensors.devices import pick_device
from kvnb.tensors.shapes import TINY, KVShape
from kvnb.tensors.tiny import TinyLlama


def make(device="cpu", shape=TINY, **kw) -> TinyLlama:
    return TinyLlama(shape, pick_device(device), **kw)


def logits(model: TinyLlama, tokens: list[int], shift: int = 0) -> torch.Tensor:
    ids = torch.tensor(tokens, device=model.device)
    places = torch.arange(shift, shift + len(tokens), device=model.device)
    hidden = model.forward(ids, places, lambda layer, q, k, v: dense_attention(q, k, v))
    return model.logits(hidden).cpu()


def test_equal_seeds_give_equal_weights_on_every_device(device):
    here, there = make(), make(device)
    assert all(torch.equal(weight, there.weights[name].cpu()) for name, weight in here.weights.items())


def test_every_device_computes_the_same(device):
    assert torch.allclose(logits(make(), [5, 6, 7]), logits(make(device), [5, 6, 7]), atol=1e-4)


def test_other_seeds_give_other_logits():
    assert (logits(make(), [1, 2]) - logits(make(seed=1), [1, 2])).abs().max() > 0.1


def test_weights_are_changed_in_place_and_back(device):
    model = make(device)
    before = logits(model, [1, 2, 3])
    pointers = [weight.data_ptr() for weight in model.weights.values()]
    model.reweight(7)
    assert torch.equal(logits(model, [1, 2, 3]), logits(make(device, seed=7), [1, 2, 3]))
    model.reweight(0)
    assert torch.equal(logits(model, [1, 2, 3]), before)
    assert [weight.data_ptr() for weight in model.weights.values()] == pointers


def test_the_order_of_tokens_matters():
    assert (logits(make(), [1, 2, 3])[-1] - logits(make(), [2, 1, 3])[-1]).abs().max() > 1e-2


def test_moving_all_positions_together_leaves_the_logits():
    assert torch.allclose(logits(make(), [1, 2, 3]), logits(make(), [1, 2, 3], shift=50), atol=1e-5)


def test_a_later_token_changes_nothing_before_it():
    assert torch.allclose(logits(make(), [1, 2, 3])[:2], logits(make(), [1, 2, 9])[:2], atol=1e-6)


def test_any_shape_and_any_vocabulary_computes():
    model = make(shape=KVShape(3, 1, 6), vocab_size=11)
    got = logits(model, [0, 10])
    assert got.shape == (2, 11)
    assert got.isfinite().all()
