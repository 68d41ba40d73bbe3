"""What could stand at the end of an unfinished line.

Must not know: IPython's completer.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from kvnb.commands.grammar import split_unfinished
from kvnb.commands.table import VERBS
from kvnb.commands.verb import Arg, Verb
from kvnb.manager.tokenizers import TOKENIZERS
from kvnb.memory import TINY_MODEL
from kvnb.models.packaged import PACKAGED
from kvnb.session import Session

_WORDS = {"model": (TINY_MODEL, *PACKAGED), "tokenizer": tuple(TOKENIZERS)}
"""What an argument takes beside the path of a file, by its name."""


class Candidate(NamedTuple):
    """A word that fits, quoted if it has to be, and what it is: verb, option, request, pool, file, value."""

    text: str
    kind: str


def complete(session: Session, line: str) -> tuple[str, list[Candidate]]:
    """The unfinished last word of ``line`` and all words that begin with it."""
    done, fragment = split_unfinished(line)
    words = [word.text for word in done]
    found = _verbs() if not words else _arguments(session, words, fragment) or _options(words, fragment)
    return fragment, [candidate for candidate in found if _opened(candidate.text).startswith(_opened(fragment))]


def _quoted(word: str) -> str:
    """As it has to be typed: also what begins with a hyphen is quoted, or it would be an option."""
    return f"'{word}'" if word.startswith("-") and shlex.quote(word) == word else shlex.quote(word)


def _opened(text: str) -> str:
    """Without the quote in front, which need not be typed to find a word that has one."""
    return text.lstrip("'\"")


def _verbs() -> list[Candidate]:
    return [Candidate(name, "verb") for name in VERBS]


def _arguments(session: Session, words: list[str], fragment: str) -> list[Candidate]:
    verb = VERBS.get(words[0])
    if verb is None:
        return []
    option = verb.options.get(words[-1])
    if option and option.convert:
        return _values(session, option, words, fragment)
    if fragment.startswith("-"):
        return []
    arg = _place(verb, words[1:])
    if arg is None:
        return []
    return [c for c in _values(session, arg, words, fragment) if c.text not in map(_quoted, words[1:])]


def _options(words: list[str], fragment: str) -> list[Candidate]:
    """The verb's options; also where nothing else is known to fit, so that Tab always says what may come."""
    verb = VERBS.get(words[0])
    if verb is None or (fragment and not fragment.startswith("-")):
        return []
    return [Candidate(typed, "option") for typed in (*verb.options, "--help") if typed not in words]


def _place(verb: Verb, words: Iterable[str]) -> Arg | None:
    placed, takes_value = 0, False
    for word in words:
        option = verb.options.get(word)
        if not takes_value and option is None:
            placed += 1
        takes_value = bool(option and option.convert)
    places = verb.places
    if places and placed >= len(places) and places[-1].many:
        return places[-1]
    return places[placed] if placed < len(places) else None


def _values(session: Session, arg: Arg, words: list[str], fragment: str) -> list[Candidate]:
    if isinstance(arg.suggest, tuple):
        return [Candidate(value, "value") for value in arg.suggest]
    if arg.suggest == "file":
        return [*(Candidate(word, "value") for word in _WORDS.get(arg.name, ())), *_files(fragment)]
    if arg.suggest == "pool":
        return [Candidate(_quoted(name), "pool") for name in session.labs]
    return _from_pool(session, arg.suggest, words)


def _from_pool(session: Session, what: str, words: list[str]) -> list[Candidate]:
    name = words[words.index("--pool") + 1] if "--pool" in words[:-1] else session.current
    lab = session.labs.get(name or "")
    if lab is None or not what:
        return []
    if what == "entry":
        table = lab.state.requests[words[1]].table if words[1:] and words[1] in lab.state.requests else []
        return [Candidate(str(block_id), "block") for block_id in table if block_id][:100]
    if what == "block" or (words[0] == "show" and words[-1] == "block"):
        return [Candidate(str(block_id), "block") for block_id in sorted(lab.cached)[:100]]
    if words[0] == "show" and words[-1] != "request":
        return []
    requests = lab.state.requests
    names = [name for name, request in requests.items() if what == "request" or request.state == what]
    return [Candidate(_quoted(name), "request") for name in names]


def _files(fragment: str) -> list[Candidate]:
    # What stands behind the last slash is the beginning of a name; before it is the folder to look in.
    lead, slash, start = _opened(fragment).rpartition("/")
    place = Path(lead + slash or ".").expanduser()
    if not place.is_dir():
        return []
    entries = sorted(entry for entry in place.iterdir() if entry.name.startswith(start) and (start or entry.name[0] != "."))
    return [Candidate(_quoted_file(lead + slash + entry.name + "/" * entry.is_dir()), "file") for entry in entries[:200]]


def _quoted_file(path: str) -> str:
    """As ``_quoted``, but for a tilde in front: quoted it would be no home."""
    home, rest = path[: path.startswith("~")], path[path.startswith("~") :]
    return home + _quoted(rest)
