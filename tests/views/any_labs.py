"""Pools after any commands, and what survives of a picture in a notebook that is not trusted."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

from hypothesis import strategies as st
from page import Page
from test_html import GREYS, HOSTILE, PROPERTIES, TAGS

from kvnb import Lab
from kvnb.errors import KvnbError
from kvnb.views.theme import contrast

VERBS = "admit admit admit admit chunk prefill append append draft accept defer step fail release preempt resume evict undo reset"
names = st.sampled_from(["r0", "r1", "r2", "r3", HOSTILE])
texts = st.builds(lambda length, tail: ("ab" * length)[:length] + tail, st.integers(0, 20), st.text("ab", min_size=1, max_size=3))
commands = st.lists(st.tuples(st.sampled_from(VERBS.split()), names, texts, st.integers(1, 9)), max_size=25)
windows = st.sampled_from([None, None, None, 3, 6])


@st.composite
def labs(draw: st.DrawFn) -> Lab:
    """A small pool after commands of every kind; those that are refused change nothing."""
    lab = Lab(
        draw(st.integers(2, 24)), block_size=draw(st.integers(1, 4)), sliding_window=draw(windows),
        prefix_caching=draw(st.sampled_from([True, True, True, False])), device="none",
    )  # fmt: skip
    for verb, name, text, number in draw(commands):
        with suppress(KvnbError):
            _run(lab, verb, name, text, number)
    return lab


def _run(lab: Lab, verb: str, name: str, text: str, number: int) -> Any:
    return {
        "admit": lambda: lab.admit(name, text, salt="s" if number > 8 else None),
        "chunk": lambda: lab.admit(name, text, chunk=number),
        "prefill": lambda: lab.prefill(name, number),
        "append": lambda: lab.append(name, text),
        "draft": lambda: lab.append(name, text[:2], draft=text),
        "accept": lambda: lab.accept(name, number % 3),
        "defer": lambda: lab.admit(name, text, defer=True),
        "step": lambda: lab.step(fail=number > 8),
        "fail": lambda: lab.admit(name, text, fail=True),
        "release": lambda: lab.release(name),
        "preempt": lambda: lab.preempt(name),
        "resume": lambda: lab.admit(name),
        "evict": lambda: lab.evict(1 + number % (lab.behaviour.num_blocks - 1)),
        "undo": lambda: lab.undo(),
        "reset": lambda: (lab.release(all=True), lab.reset()),
    }[verb]()


def assert_survives(markup: str) -> Page:
    """Only tags and styles that JupyterLab's sanitizer keeps; no colour without its ground; no name that became markup."""
    page = Page(re.sub(r"<(img [^>]*)>", r"<\1></img>", markup))
    assert {tag for tag, _ in page.elements} <= TAGS | {"img"}
    assert page.attributes <= {"style", "src", "alt"}
    assert "<script" not in markup
    assert all(c.isprintable() for c in markup)
    for _, style in page.elements:
        assert set(style) <= set(PROPERTIES.split())
        assert not re.search(r"var\(|hsl|currentcolor|url|expression|repeating", str(style), re.IGNORECASE)
        fill = style.get("background", "")
        if "color" in style or "#" in GREYS.sub("", fill):
            assert any(contrast(one, style["color"]) >= 4.5 for one in re.findall(r"#[0-9A-Fa-f]{3,6}\b", fill))
    return page
