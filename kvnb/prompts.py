"""Where a prompt's tokens come from: a text, a list of ints, a file, a tokenizer in a file.

Must not know: the pool. What leaves here is canonical: a text for a built-in tokenizer, else plain ints.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

from kvnb.errors import CommandError, MissingPackage, SettingError, nearest, one_line
from kvnb.manager.tokenizers import TOKENIZERS

_IDENTITY = re.compile("sha256:[0-9a-f]{64}")


class _Encoding(Protocol):
    ids: list[int]


class _FileTokenizer(Protocol):
    def encode(self, text: str, *, add_special_tokens: bool = True) -> _Encoding: ...

    def decode(self, ids: list[int]) -> str: ...

    def get_vocab(self) -> dict[str, int]: ...


class Tokenizer(NamedTuple):
    """How text becomes tokens; ``identity`` enters the digest, ``file`` is None for the built-in ones."""

    identity: str
    file: _FileTokenizer | None = None

    @property
    def vocab_size(self) -> int:
        """How many tokens a model has to know to read what this tokenizer gives; ``chars`` beyond a byte it does not."""
        # Ids may have gaps: the largest counts, not how many there are.
        return 256 if self.file is None else max(self.file.get_vocab().values(), default=0) + 1

    def vocab_size_on(self, device: str) -> int:
        """``vocab_size`` for a pool on ``device``; one without memory can do without the file. Raises SettingError."""
        return 256 if device == "none" and isinstance(self.file, _NotLoaded) else self.vocab_size

    def text(self, tokens: list[int]) -> str:
        """What these tokens say; a byte that is no UTF-8 becomes U+FFFD."""
        if self.file is not None:
            return self.file.decode(tokens)
        if self.identity == "bytes":
            return bytes(tokens).decode("utf-8", "replace")
        return "".join(map(chr, tokens))

    def prompt(self, text: str, begins: bool = False) -> dict[str, Any]:
        """The canonical form of ``text``: itself, or the ints that a tokenizer in a file makes of it.

        begins
            Whether what a file puts before every text (a BOS token) stands before this one.
        """
        if self.file is None:
            return {"text": text}
        try:
            return {"tokens": self.file.encode(text, add_special_tokens=begins).ids}
        except TypeError as error:
            raise CommandError(
                f"{one_line(text)} has half a surrogate pair, which is no text to this tokenizer: leave it out"
            ) from error


def get_tokenizer(name: str) -> Tokenizer:
    """A built-in tokenizer, the ``tokenizer.json`` at a path, or one that a journal names by its ``sha256:...``.

    Raises SettingError when it is none of them.
    """
    if not isinstance(name, str):
        raise SettingError(f"tokenizer is {name!r}: give chars, bytes or a path")
    if name in TOKENIZERS or _IDENTITY.fullmatch(name):
        return recorded_tokenizer(name)
    path = Path(name)
    if not path.is_file():
        raise SettingError(f"unknown tokenizer {one_line(name)}, and no such file: {nearest(name, TOKENIZERS)}")
    return Tokenizer(f"sha256:{sha256(path.read_bytes()).hexdigest()}", _load(path))


def _load(path: Path) -> _FileTokenizer:
    try:
        from tokenizers import Tokenizer as FileTokenizer
    except ImportError as error:
        raise MissingPackage.named("tokenizers", "a tokenizer in a file") from error
    try:
        return cast(_FileTokenizer, FileTokenizer.from_file(str(path)))
    except Exception as error:  # the library raises bare Exception for a file that it cannot read
        raise SettingError(f"{path} is no tokenizer.json: {one_line(str(error))}") from error


def as_tokens(tokens: Iterable[Any]) -> list[int]:
    """Plain ints of any iterable of whole numbers (list, numpy array, tensor). Raises CommandError for others."""
    plain = getattr(tokens, "tolist", lambda: tokens)()
    try:
        values = [value.__index__() for value in plain]
    except (AttributeError, TypeError) as error:
        raise CommandError("tokens are a flat list of whole numbers, such as 1,2,3") from error
    if any(value < 0 for value in values):
        raise CommandError("tokens are 0 or more: a negative one stands among them")
    return values


def read_text(file: str | Path) -> str:
    """The text of a file. Raises CommandError when it is missing or is not UTF-8."""
    try:
        # Bytes are decoded whole, so that line ends arrive as they stand in the file.
        return Path(file).read_bytes().decode("utf-8")
    except OSError as error:
        raise CommandError(f"cannot read {one_line(str(file))}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{one_line(str(file))} is not UTF-8 text: give --tokens for anything else") from error


def prompt_of(
    tokenizer: Tokenizer, text: str | None, tokens: Iterable[Any] | None, file: str | Path | None = None, begins: bool = False
) -> dict[str, Any]:
    """The canonical prompt that at most one of the three gives; empty when none is given. ``begins`` as in ``Tokenizer``."""
    given = [value for value in (text, tokens, file) if value is not None]
    if len(given) > 1:
        raise CommandError("give a text, or tokens, or a file: only one of them")
    if tokens is not None:
        return {"tokens": as_tokens(tokens)}
    if file is not None:
        text = read_text(file)
    if text is None:
        return {}
    if not isinstance(text, str):
        raise CommandError(f"the text is {type(text).__name__}: give a string, or ints as tokens")
    return tokenizer.prompt(text, begins)


def recorded_tokenizer(identity: str) -> Tokenizer:
    """The tokenizer of a loaded journal. A file's own content is not in the journal, only the tokens it gave."""
    return Tokenizer(identity, _NotLoaded(identity) if identity.startswith("sha256:") else None)


class _NotLoaded:
    """Stands for a tokenizer file that a journal names: new text cannot be cut."""

    def __init__(self, identity: str) -> None:
        self.identity = identity

    def encode(self, text: str, *, add_special_tokens: bool = True) -> _Encoding:
        raise CommandError(f"this journal's tokenizer file ({self.identity[:14]}...) is not loaded: give --tokens")

    def decode(self, ids: list[int]) -> str:
        return " ".join(map(str, ids))

    def get_vocab(self) -> dict[str, int]:
        why = "the tokenizer's file is not here, and with it the size of the model's vocabulary"
        raise SettingError(f"{why}: give its path, or --device none")
