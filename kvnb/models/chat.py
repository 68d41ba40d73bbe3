"""A conversation, typed as text or given as messages, and the text that a model's chat template makes of it.

Must not know: tokens, the pool. transformers is imported when a template is to be rendered.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kvnb.errors import CommandError, MissingPackage, one_line
from kvnb.models.checkpoint import Checkpoint
from kvnb.models.weights import read_json, read_text

ROLES = ("system", "user", "assistant")

Message = dict[str, str]

_ROLE = re.compile(rf"^({'|'.join(ROLES)}):", re.MULTILINE)
_SPECIAL = tuple(f"{name}_token" for name in ("bos", "eos", "unk", "pad", "sep", "cls", "mask"))


def messages_of(text: str) -> list[Message]:
    """The messages of a conversation, each a dict of ``role`` and ``content``.

    A line that begins with ``system:``, ``user:`` or ``assistant:`` begins a message, and what follows belongs to it; a text
    that begins with no role is one message of the user's. A JSON list of such dicts is taken as it is.
    Raises CommandError for a conversation that is empty, has an empty message, an unknown role, or a system message
    that is not the first.
    """
    given = _json_list(text)
    if given is not None:
        messages = [_message(number, entry) for number, entry in enumerate(given, 1)]
    elif _ROLE.match(text.lstrip()):
        # The pieces are: nothing, role, content, role, content and so on.
        pieces = _ROLE.split(text.lstrip())
        messages = [{"role": role, "content": content.strip()} for role, content in zip(pieces[1::2], pieces[2::2], strict=True)]
    else:
        messages = [{"role": "user", "content": text.strip()}] if text.strip() else []
    _check(messages)
    return messages


def checked(messages: Any) -> list[Message]:
    """Messages that were handed over, each a dict of ``role`` and ``content``. Raises CommandError as ``messages_of``."""
    if not isinstance(messages, Sequence) or isinstance(messages, str) or not all(isinstance(m, Mapping) for m in messages):
        raise CommandError("a conversation is a list of messages, each with a role and a content: [{'role': 'user', ...}]")
    found = [_message(number, message) for number, message in enumerate(messages, 1)]
    _check(found)
    return found


def _json_list(text: str) -> list[Any] | None:
    """The list of dicts that ``text`` is, if it is one: what merely begins with a bracket is something to say."""
    if not text.lstrip().startswith("["):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if all(isinstance(entry, dict) for entry in value) else None


def _message(number: int, entry: Mapping[str, Any]) -> Message:
    role, content = entry.get("role"), entry.get("content")
    if role not in ROLES:
        raise CommandError(f"message {number} has the role {one_line(str(role))}: give {', '.join(ROLES)}")
    if not isinstance(content, str):
        raise CommandError(f"message {number} ({role}) has no text as its content: give a string")
    return {"role": role, "content": content}


def _check(messages: Sequence[Message]) -> None:
    if not messages:
        raise CommandError("the conversation is empty: give at least one message, such as user: Hello")
    for number, message in enumerate(messages, 1):
        if not message["content"].strip():
            raise CommandError(f"message {number} ({message['role']}) is empty: write something after {message['role']}:")
        if message["role"] == "system" and number > 1:
            raise CommandError(f"message {number} is the system's: it stands first in a conversation, and once")


def render(checkpoint: Checkpoint, messages: Sequence[Mapping[str, str]], add_generation_prompt: bool = True) -> str:
    """What the model's own template makes of ``messages``, a default system prompt of its own included.

    The text has the model's special tokens in it, a BOS token too where there is one: encode it without adding any.

    add_generation_prompt
        Ends with the beginning of the model's answer.

    Raises CommandError for a model without a template, and for messages that its template refuses; MissingPackage.
    """
    template = _template(checkpoint.folder)
    if template is None:
        raise CommandError(f"{checkpoint.name} has no chat template, it is no chat model: leave out --chat")
    try:
        from tokenizers import Tokenizer
        from tokenizers.models import BPE
        from transformers import PreTrainedTokenizerFast
    except ImportError as error:
        raise MissingPackage.named("transformers", "a chat template") from error
    # A template sees the names of the special tokens only, so that the vocabulary need not be read.
    fast: Any = PreTrainedTokenizerFast
    tokenizer = fast(tokenizer_object=Tokenizer(BPE()), **_special_tokens(checkpoint.folder))
    try:
        text = tokenizer.apply_chat_template(
            [dict(message) for message in messages],
            chat_template=template,
            tokenize=False,
            add_generation_prompt=add_generation_prompt,
        )
    except ImportError as error:
        raise MissingPackage.named("'jinja2>=3.1.6'", "a chat template") from error
    except Exception as error:  # a template is a program: it may raise anything
        raise CommandError(
            f"the chat template of {checkpoint.name} refuses this conversation: {one_line(str(error), 200)}"
        ) from error
    return str(text)


def _template(folder: Path) -> str | None:
    """The default template of a checkpoint: in a file of its own, or among the tokenizer's settings."""
    if (folder / "chat_template.jinja").is_file():
        return read_text(folder / "chat_template.jinja")
    for name in ("chat_template.json", "tokenizer_config.json"):
        template = read_json(folder / name).get("chat_template") if (folder / name).is_file() else None
        if isinstance(template, list):
            template = {t.get("name"): t.get("template") for t in template if isinstance(t, dict)}.get("default")
        if isinstance(template, str) and template:
            return template
    return None


def _special_tokens(folder: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        said = read_json(folder / name) if (folder / name).is_file() else {}
        for key in _SPECIAL:
            value = said[key].get("content") if isinstance(said.get(key), dict) else said.get(key)
            found |= {key: value} if isinstance(value, str) else {}
    return found
