"""The verbs that change a pool: one journal step each.

Must not know: how they were typed, how results are drawn.
"""

from __future__ import annotations

from typing import Any

from kvnb.commands.verb import Arg, Verb, name, number, text, tokens, whole
from kvnb.results import Decoded, Generated, StepResult
from kvnb.session import Session

_TOKENS = Arg("tokens", "the prompt as ints: 1,2,3 or $variable", tokens, option=True, metavar="1,2,3")
_DEFER = Arg("defer", "schedule only: `step` computes", option=True)
_FAIL = Arg("fail", "let the forward pass fail, to see what becomes of it", option=True)
_SAMPLING = (
    Arg("temperature", "0, the default: the most probable token; above: drawn", number, option=True, metavar="T"),
    Arg("seed", "of the drawing; equal seeds give equal tokens", whole, option=True),
    Arg("ignore_eos", "go on when the model says its end", option=True),
)


def _admit(session: Session, name: str, pool: str | None = None, **prompt: Any) -> StepResult:
    if prompt.get("chat") and not isinstance(prompt.get("text", ""), str):
        prompt["chat"] = prompt.pop("text")
    return session.lab(pool).admit(name, **_ints(prompt))


def _append(session: Session, name: str, pool: str | None = None, **prompt: Any) -> StepResult:
    return session.lab(pool).append(name, **_ints(prompt))


def _prefill(session: Session, name: str, n: int | None = None, pool: str | None = None, **how: bool) -> StepResult:
    return session.lab(pool).prefill(name, n, **how)


def _step(session: Session, pool: str | None = None, fail: bool = False) -> StepResult:
    return session.lab(pool).step(fail=fail)


def _generate(session: Session, name: str, k: int, pool: str | None = None, **how: Any) -> Generated:
    return session.lab(pool).generate(name, k, **how)


def _decode(session: Session, k: int, names: tuple[str, ...] = (), pool: str | None = None, **how: Any) -> Decoded:
    return session.lab(pool).decode(k, *names, **how)


def _corrupt(session: Session, name: str, block: int, pool: str | None = None, **other: int) -> StepResult:
    return session.lab(pool).corrupt(name, block, other["with"])


def _reweight(session: Session, seed: int, pool: str | None = None) -> StepResult:
    return session.lab(pool).reweight(seed)


def _accept(session: Session, name: str, k: int, pool: str | None = None) -> StepResult:
    return session.lab(pool).accept(name, k)


def _release(session: Session, names: tuple[str, ...] = (), pool: str | None = None, all: bool = False) -> StepResult:
    return session.lab(pool).release(*names, all=all)


def _preempt(session: Session, name: str, pool: str | None = None) -> StepResult:
    return session.lab(pool).preempt(name)


def _evict(session: Session, ids: list[int], pool: str | None = None) -> StepResult:
    return session.lab(pool).evict(*ids)


def _reset(session: Session, pool: str | None = None) -> StepResult:
    return session.lab(pool).reset()


def _undo(session: Session, n: int = 1, pool: str | None = None) -> StepResult:
    return session.lab(pool).undo(n)


def _ints(prompt: dict[str, Any]) -> dict[str, Any]:
    """A variable in the text's place may hold tokens: ``admit r0 $ids``."""
    if "text" in prompt and not isinstance(prompt["text"], str):
        given = dict(prompt)
        given["tokens"] = given.pop("text")
        return given
    return prompt


CHANGES = (
    Verb(
        "admit", "changes", "start a request: look its prefix up, share what is cached, take new blocks for the rest",
        (
            Arg("name", "the request; without a prompt a preempted one resumes", name, required=True, suggest="preempted"),
            Arg("text", "the prompt: one word, or in quotes", text),
            _TOKENS,
            Arg("file", "a file that holds the prompt", name, option=True, suggest="file"),
            Arg("chat", "the prompt is a conversation, `user: ...`, for the model's chat template", option=True),
            Arg("salt", "keep its blocks apart from equal tokens under another salt", name, option=True),
            Arg("lora", "the adapter, which keeps its blocks apart too", name, option=True, metavar="NAME[=PATH]"),
            Arg("chunk", "only the first N uncached tokens now; prefill schedules the rest", whole, option=True, metavar="N"),
            _DEFER,
            _FAIL,
        ),
        _admit,
        (
            "admit r0 ABCDEFGHIJKLMNO", "admit r1 'a text with spaces'", "admit r2 --tokens 1,2,3", "admit r3 ABCDEFGH --chunk 4",
            "admit r4 ABCDEFGH --defer",
        ),
    ),
    Verb(
        "prefill", "changes", "schedule the next N tokens of a prompt that was admitted in chunks",
        (
            Arg("name", "the request", name, required=True, suggest="running"),
            Arg("n", "how many; by default all that is left", whole),
            _DEFER,
            _FAIL,
        ),
        _prefill, ("prefill r3 2", "prefill r3"),
    ),
    Verb(
        "step", "changes", "one forward pass over all that was scheduled with --defer, in order",
        (_FAIL,), _step, ("step",),
    ),
    Verb(
        "append", "changes", "give a running request more tokens, as decoding does",
        (
            Arg("name", "the request", name, required=True, suggest="running"),
            Arg("text", "what comes next", text),
            _TOKENS,
            Arg("draft", "tokens that may be rejected: they get slots and no hash", text, option=True, metavar="TEXT"),
            _DEFER,
            _FAIL,
        ),
        _append, ("append r0 P", "append r0 --tokens 80", "append r1 Q --draft RST"),
    ),
    Verb(
        "accept", "changes", "make the first K drafts tokens of the request and drop the others",
        (
            Arg("name", "the request", name, required=True, suggest="running"),
            Arg("k", "how many", whole, required=True),
        ),
        _accept, ("accept r1 2",),
    ),
    Verb(
        "release", "changes", "end requests: their blocks go back to the free queue, last block first",
        (
            Arg("names", "the requests", name, many=True, suggest="request", metavar="NAME"),
            Arg("all", "every request", option=True),
        ),
        _release, ("release r0", "release r0 r1", "release --all"),
    ),
    Verb(
        "preempt", "changes", "take a running request's blocks away; `admit NAME` resumes it",
        (Arg("name", "the request", name, required=True, suggest="running"),),
        _preempt, ("preempt r0",),
    ),
    Verb(
        "evict", "changes", "drop the hashes of these blocks, used or free",
        (Arg("ids", "block ids", whole, many=True, required=True, suggest="block", metavar="ID"),),
        _evict, ("evict 5", "evict 3 5"),
    ),
    Verb("reset", "changes", "drop the whole prefix cache; refused while a request holds a block", (), _reset, ("reset",)),
    Verb(
        "generate", "changes", "let the model make K tokens: K decode steps, each an append in the journal",
        (
            Arg("name", "the request", name, required=True, suggest="running"),
            Arg("k", "how many, unless the model says its end before", whole, required=True),
            *_SAMPLING,
        ),
        _generate, ("generate r0 3", "generate r0 3 --temperature 0.8 --seed 7"),
    ),
    Verb(
        "decode", "changes", "let several requests decode K tokens together; who finds no block is preempted, and resumed",
        (
            Arg("k", "how many for each, unless the model says its end before", whole, required=True),
            Arg("names", "the requests; by default all", name, many=True, suggest="request", metavar="NAME"),
            Arg("release", "end each request when it has what it is to make, as an engine does", option=True),
            *_SAMPLING,
        ),
        _decode, ("decode 16", "decode 16 r0 r1 --release"),
    ),
    Verb(
        "corrupt", "changes", "point a request's block table at another block, to see what a wrong block does",
        (
            Arg("name", "the request", name, required=True, suggest="running"),
            Arg("block", "the block id that its table has", whole, required=True, suggest="entry"),
            Arg("with", "the block id to read in its place", whole, option=True, required=True, suggest="block", metavar="OTHER"),
        ),
        _corrupt, ("corrupt r1 2 --with 7",),
    ),
    Verb(
        "reweight", "changes", "change the model's weights in place: what is cached is wrong then, until reset",
        (Arg("seed", "of the new weights; 0: those of the new pool", whole, required=True),), _reweight, ("reweight 1",),
    ),
    Verb(
        "undo", "changes", "go back a step, or N; the journal keeps both",
        (Arg("n", "how many steps; by default 1", whole),), _undo, ("undo", "undo 3"),
    ),
)  # fmt: skip
