"""Every architecture that is taken: small random models, judged by transformers' own attention."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_checkpoints import MADE, saved, torch

from kvnb import Lab


@pytest.mark.parametrize("kind", MADE)
def test_logits_are_those_of_transformers_own_attention(tmp_path: Path, kind: str) -> None:
    judge = saved(tmp_path, MADE[kind]())
    lab = Lab(40, block_size=4, device="cpu", model=tmp_path)
    tokens = [(7 * place * place + 3) % 300 for place in range(50)]
    lab.admit("first", tokens=tokens[:30])
    assert lab.admit("second", tokens=tokens, chunk=9).num_hit_tokens == 28
    lab.prefill("second")
    with torch.no_grad():
        logits = judge(torch.tensor([tokens])).logits[0, -1]
    assert lab.worker is not None
    assert float((lab.worker._kept["second"].rows[-1] - logits).abs().max()) < 1e-4
    assert lab.prove("second").holds
    assert lab.decode(3, ignore_eos=True).num_passes == 3
