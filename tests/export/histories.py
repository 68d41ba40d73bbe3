"""Pools with a history of everything that a journal can hold."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from hypothesis import strategies as st

from kvnb import Lab
from kvnb.errors import KvnbError
from kvnb.journal.journal import Cell

TEXTS = st.one_of(
    st.text(min_size=1, max_size=9),
    st.text(st.sampled_from("ab-$x{};'\"\\ \n\r\t#%?!<&é\u2028\x1b\u202e"), min_size=1, max_size=8),
    st.sampled_from(["$x", "{x}", "-x", "--", "#", "a;", "l1\nl2", "'''", '"""', "\\", "x?", "%kvpool", "\ud800"]),
)
_PROMPTS = st.one_of(TEXTS, st.lists(st.integers(0, 2**33), min_size=1, max_size=5))
_STEPS = st.lists(st.tuples(st.integers(0, 11), TEXTS, _PROMPTS, st.integers(0, 5), st.booleans()), max_size=12)
_SETTINGS = st.fixed_dictionaries(
    {"block_size": st.integers(1, 5), "name": TEXTS, "none_hash": st.binary(min_size=1, max_size=32).map(bytes.hex)},
    optional={
        "prefix_caching": st.booleans(), "free_to": st.sampled_from(["front-back", "back"]), "sliding_window": st.integers(2, 9),
        "free_order": st.sampled_from(["reverse", "forward"]), "full_hit": st.booleans(),
        "tokenizer": st.sampled_from(["chars", "bytes", "sha256:" + "ab" * 32]),
    },
)  # fmt: skip


def _do(lab: Lab, step: tuple[int, str, Any, int, bool]) -> None:
    what, name, prompt, number, flag = step
    given = {"text": prompt} if isinstance(prompt, str) else {"tokens": prompt}
    known = list(lab.state.requests)
    some = known[number % len(known)] if known else name
    commands = [
        lambda: lab.admit(name, **given, salt=name if flag else None, lora=(name.replace("=", ""), "") if flag else None),
        lambda: lab.admit(name, **given, chunk=number + 1, defer=flag), lambda: lab.admit(name, **given, fail=flag),
        lambda: lab.prefill(some), lambda: lab.append(some, **given, defer=flag), lambda: lab.append(some, **given, draft=prompt),
        lambda: lab.accept(some, number), lambda: lab.release(some), lambda: lab.preempt(some), lambda: lab.admit(some),
        lambda: lab.evict(number + 1), lab.undo,
    ]  # fmt: skip
    commands[what]()


@st.composite
def labs(draw: Any) -> Lab:
    """A pool without memory after a few commands; each is in a cell of its own, or shares one, or is in none."""
    lab = Lab(40, device="none", **draw(_SETTINGS))
    for place, step in enumerate(draw(_STEPS)):
        lab.cell = Cell(place // 3, "0" * 16, None) if step[4] else None
        with suppress(KvnbError):
            _do(lab, step)
    return lab


def story_lab(**settings: Any) -> Lab:
    """A pool with memory after every kind of command, some of it made by the model, failed, waiting, undone."""
    lab = Lab(30, block_size=4, device="cpu", **settings)
    lab.admit("r0", "ABCDEFGHIJKLMNO", salt="s", lora="a=b")
    lab.admit("r1", "ABCDEFGHIJxxxx", defer=True)
    lab.step()
    lab.generate("r0", 2, temperature=0.8, seed=3)
    lab.undo()
    lab.append("r1", 'it\'s "q"\nnew', draft="XY")
    lab.accept("r1", 1)
    lab.admit("r2", tokens=[1, 2, 3], chunk=2)
    lab.prefill("r2")
    lab.append("r2", "Z", fail=True)
    lab.reweight(3)
    lab.preempt("r1")
    lab.evict(1, 2)
    lab.release("r0")
    lab.admit("r1")
    lab.release(all=True)
    lab.reset()
    return lab
