"""A click may come on a thread of its own, while a cell runs: commands take turns, and looks wait for them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from threading import Thread

import pytest
from helpers import assert_sound

from kvnb import Lab
from kvnb.journal import replay


@pytest.fixture(autouse=True)
def _hectic() -> Iterator[None]:
    """Threads change as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def work(lab: Lab, name: str, failed: list[BaseException]) -> None:
    try:
        for number in range(150):
            lab.admit(name, f"{name} {number % 3} and more")
            lab.append(name, "x")
            lab.release(name)
            assert name not in lab.requests
    except BaseException as error:
        failed.append(error)


def test_commands_of_two_threads_take_turns() -> None:
    lab, failed = Lab(40, block_size=4, device="none"), list[BaseException]()
    threads = [Thread(target=work, args=(lab, name, failed)) for name in ("cell", "click")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert failed == []
    assert len(lab.journal) == 2 * 3 * 150
    assert_sound(lab)
    assert replay.verify(lab.journal).holds
