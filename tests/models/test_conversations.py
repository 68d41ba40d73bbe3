"""A conversation as it is typed, and the text that a model's template makes of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_models import TEMPLATE, needs

from kvnb.errors import CommandError, MissingPackage
from kvnb.models.chat import ROLES, messages_of, render
from kvnb.models.checkpoint import Checkpoint
from kvnb.tensors.shapes import TINY

needs("transformers")
needs("jinja2")

USER = {"role": "user", "content": "Hello"}


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("Hello", [USER]),
        ("  Hello\n", [USER]),
        ("user: Hello", [USER]),
        ("\n\nuser:Hello\n", [USER]),
        ("system: Be kind.\nuser: Hello", [{"role": "system", "content": "Be kind."}, USER]),
        ("user: Hello\nassistant: Yes?\n\n  and\n\nuser: Hello", [USER, {"role": "assistant", "content": "Yes?\n\n  and"}, USER]),
        ("user:\nHello", [USER]),
        ("Hello\nuser: x", [{"role": "user", "content": "Hello\nuser: x"}]),
        ("user: a user: b\n user: c", [{"role": "user", "content": "a user: b\n user: c"}]),
        ("User: Hello", [{"role": "user", "content": "User: Hello"}]),
        ('[{"role": "user", "content": "Hello"}]', [USER]),
        (
            '[{"role": "system", "content": " a "}, {"role": "user", "content": "Hello"}]',
            [{"role": "system", "content": " a "}, USER],
        ),
        ("[1, 2]", [{"role": "user", "content": "[1, 2]"}]),
        ("[x] done", [{"role": "user", "content": "[x] done"}]),
        ('["a"]', [{"role": "user", "content": '["a"]'}]),
    ],
)
def test_what_was_typed_becomes_messages(text: str, messages: list[dict[str, str]]):
    assert messages_of(text) == messages


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the conversation is empty: give at least one message, such as user: Hello"),
        (" \n", "the conversation is empty"),
        ("[]", "the conversation is empty"),
        ("user:", "message 1 (user) is empty: write something after user:"),
        ("user: a\nassistant:\nuser: b", "message 2 (assistant) is empty"),
        ("user: a\nsystem: b", "message 2 is the system's: it stands first in a conversation, and once"),
        ("system: a\nsystem: b", "message 2 is the system's"),
        ('[{"role": "robot", "content": "x"}]', "message 1 has the role 'robot': give system, user, assistant"),
        ('[{"content": "x"}]', "message 1 has the role 'None'"),
        ('[{"role": "\\u001b[31m", "content": "x"}]', r"message 1 has the role '\x1b[31m'"),
        ('[{"role": "user"}]', "message 1 (user) has no text as its content"),
        ('[{"role": "user", "content": [{"type": "text"}]}]', "message 1 (user) has no text as its content"),
        ('[{"role": ["user"], "content": "x"}]', "message 1 has the role"),
    ],
)
def test_what_is_wrong_with_a_conversation_is_said(text: str, says: str):
    with pytest.raises(CommandError) as caught:
        messages_of(text)
    assert says in str(caught.value)


@given(st.lists(st.tuples(st.sampled_from(ROLES[1:]), st.text("ab \n", min_size=1).map(str.strip).filter(bool)), min_size=1))
def test_messages_come_back_as_they_were_typed(said: list[tuple[str, str]]):
    messages = [{"role": role, "content": content} for role, content in said]
    assert messages_of("\n".join(f"{role}: {content}" for role, content in said)) == messages
    assert messages_of(json.dumps(messages)) == messages


def chat_model(folder: Path, template: str | None = TEMPLATE) -> Checkpoint:
    """As much of a checkpoint as a template needs."""
    if template is not None:
        (folder / "chat_template.jinja").write_text(template, "utf-8")
    (folder / "tokenizer_config.json").write_text('{"bos_token": {"content": "<s>"}, "eos_token": "</s>", "pad_token": null}')
    return Checkpoint(folder, folder, "made", "LlamaForCausalLM", TINY, 10, 10, 0, folder / "tokenizer.json", ())


def test_a_template_makes_one_text_of_the_messages(tmp_path: Path):
    made = chat_model(tmp_path)
    assert render(made, [USER]) == "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"
    assert render(made, [USER], add_generation_prompt=False) == "<|im_start|>user\nHello<|im_end|>\n"


def test_a_template_knows_the_special_tokens_by_name(tmp_path: Path):
    template = "{{ bos_token }}{% for m in messages %}{{ m.content }}{{ eos_token }}{% endfor %}"
    assert render(chat_model(tmp_path, template), [USER]) == "<s>Hello</s>"


def test_a_template_is_found_among_the_settings_too(tmp_path: Path):
    made = chat_model(tmp_path, None)
    for template in ("{{ 'x' }}", [{"name": "tool_use", "template": "y"}, {"name": "default", "template": "x"}]):
        made.folder.joinpath("tokenizer_config.json").write_text(json.dumps({"chat_template": template}))
        assert render(made, [USER]) == "x"
    made.folder.joinpath("tokenizer_config.json").write_text(
        json.dumps({"chat_template": [{"name": "tool_use", "template": "y"}]})
    )
    with pytest.raises(CommandError, match="made has no chat template, it is no chat model: leave out --chat"):
        render(made, [USER])


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("{{ raise_exception('Roles must\nalternate') }}", r"refuses this conversation: 'Roles must\\nalternate'"),
        ("{{ missing.name }}", "refuses this conversation: \"'missing' is undefined\""),
        ("{% for %}", "refuses this conversation: "),
        ("{{ messages.__class__.__mro__[1].__subclasses__() }}", "refuses this conversation: "),
        ("{{ 1 / 0 }}", "refuses this conversation: 'division by zero'"),
    ],
)
def test_a_template_that_refuses_is_one_line(tmp_path: Path, template: str, says: str):
    with pytest.raises(CommandError) as caught:
        render(chat_model(tmp_path, template), [USER])
    assert says.replace("\\\\", "\\") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_the_package_its_pip_command_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made = chat_model(tmp_path)
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingPackage, match="a chat template needs transformers: pip install transformers"):
        render(made, [USER])


def test_smollm2s_template_adds_a_system_prompt_of_its_own(smollm2: Checkpoint):
    system = "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
    turns = "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"
    assert render(smollm2, messages_of("Hello")) == system + turns
    assert render(smollm2, messages_of("system: Be kind.\nuser: Hello")) == "<|im_start|>system\nBe kind.<|im_end|>\n" + turns
