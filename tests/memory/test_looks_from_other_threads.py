"""Somebody proves and checks a pool on another thread while it decodes: neither disturbs the other."""

from __future__ import annotations

import threading

from helpers import assert_sound
from memory_labs import small

from kvnb import Lab
from kvnb.errors import RequestError


def while_it_is_looked_at(lab: Lab, command: str) -> list[object]:
    """What was seen that should not be, while the pool makes 120 tokens."""
    wrong: list[object] = []
    ended = threading.Event()

    def look() -> None:
        while not ended.is_set():
            try:
                wrong.extend(equation for equation in lab.check() if not equation.holds)
                wrong.extend(lab.prove("a").reasons)
            except RequestError as error:
                # Between a round's appends and its pass that is so.
                if "step first" not in str(error):
                    wrong.append(error)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        lab.decode(60) if command == "decode" else lab.generate("a", 120)
    finally:
        ended.set()
        looking.join()
    return wrong


def test_a_proof_on_another_thread_does_not_disturb_a_pass() -> None:
    for command in ("decode", "generate"):
        lab = small(120, layers=6)
        lab.admit("a", "hello you there")
        lab.admit("b", "what")
        assert while_it_is_looked_at(lab, command) == []
        assert lab.prove("a").holds
        assert_sound(lab)


def test_two_threads_that_generate_append_each_token_where_it_was_made() -> None:
    lab = small(60)
    lab.admit("a", "hello you there")
    threads = [threading.Thread(target=lab.generate, args=("a", 25)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone = small(60)
    alone.admit("a", "hello you there")
    made = [step.command.args["tokens"][0] for step in lab.journal.steps[1:]]
    assert made == list(alone.generate("a", 50).tokens)
