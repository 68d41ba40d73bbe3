"""The bar of long work on a terminal, and none where nobody watches; the clock and the terminal are the tests' own."""

from __future__ import annotations

import os
import signal
import struct
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from itertools import count
from typing import Any

import pytest
from helpers import needs, run_python

from kvnb.views.progress import progress

END = b"\0"
pty, fcntl, termios = (pytest.importorskip(name, reason="needs a terminal") for name in ("pty", "fcntl", "termios"))


class Screen:
    """A terminal that takes what is written to stderr; ``disturb`` is called at each write."""

    def __init__(self) -> None:
        self._reads, writes = pty.openpty()
        fcntl.ioctl(writes, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        self.stderr = os.fdopen(writes, "w")
        self.disturb: Callable[[], object] = lambda: None
        self._write = self.stderr.write
        self.stderr.write = self.write  # type: ignore[method-assign]
        self._read: list[bytes] = []
        self._reader = threading.Thread(target=self._take)
        self._reader.start()

    def write(self, text: str) -> int:
        self.disturb()
        return self._write(text)

    def _take(self) -> None:
        while not self._read or not self._read[-1].endswith(END):
            self._read.append(os.read(self._reads, 10_000))

    @contextmanager
    def progress(self, steps: Sequence[int], clock: Callable[[], float]) -> Iterator[Iterable[int]]:
        """Work of a program that has this terminal."""
        with redirect_stderr(self.stderr), progress(steps, "counting", clock) as counted:
            yield counted

    def text(self) -> str:
        """Everything that was written; nothing more can be."""
        self.close()
        return b"".join(self._read).split(END)[0].decode()

    def close(self) -> None:
        if not self.stderr.closed:
            self._write(END.decode())
            self.stderr.flush()
            self._reader.join()
            self.stderr.close()
            os.close(self._reads)


@pytest.fixture
def screen() -> Iterator[Screen]:
    needs("tqdm")
    screen = Screen()
    yield screen
    screen.close()


def seconds(step: float = 1.0) -> Callable[[], float]:
    """A clock that is ``step`` seconds later each time."""
    return map(float, count(0, step)).__next__  # type: ignore[arg-type]


def left_on_screen(written: str) -> str:
    """What the last line of a terminal holds, carriage returns obeyed."""
    line = ""
    for part in written.split("\r"):
        line = part + line[len(part) :]
    return line.strip()


def left_of_tqdm() -> list[Any]:
    """Bars that tqdm thinks are still open."""
    return list(needs("tqdm").tqdm._instances)


def are_free(locks: Iterable[Any]) -> bool:
    """Whether another thread could take each of the locks."""
    found: dict[Any, bool] = {}

    def take() -> None:
        for lock in locks:
            found[lock] = lock.acquire(False)
            if found[lock]:
                lock.release()

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    return all(found.values())


def test_long_work_on_a_terminal_is_counted_and_leaves_nothing_behind(screen: Screen) -> None:
    with screen.progress(range(100, 120), seconds()) as steps:
        assert [*steps] == [*range(100, 120)]
    written = screen.text()
    assert "counting" in written
    assert "10/20" in written
    assert left_on_screen(written) == ""
    assert left_of_tqdm() == []


def test_work_of_less_than_a_second_shows_nothing(screen: Screen) -> None:
    with screen.progress(range(20), seconds(0.04)) as steps:
        assert sum(steps) == 190
    assert screen.text() == ""


def test_a_bar_begins_with_what_was_done_before_it_and_moves_ten_times_a_second(screen: Screen) -> None:
    with screen.progress(range(1000), seconds(0.01)) as steps:
        assert sum(steps) == 499_500
    written = screen.text()
    assert "| 99/1000" in written
    assert "| 98/1000" not in written
    assert 80 < written.count("/1000") < 110


def test_work_that_is_not_gone_through_to_its_end_takes_its_bar_away(screen: Screen) -> None:
    with screen.progress(range(20), seconds()) as steps:
        assert next(step for step in steps if step == 7) == 7
    assert left_on_screen(screen.text()) == ""
    assert left_of_tqdm() == []


@pytest.mark.parametrize("moment", [0, 1, 2, 10, 19])
def test_an_interrupt_takes_the_bar_away_and_is_a_plain_one(screen: Screen, moment: int) -> None:
    def work() -> None:
        with screen.progress(range(20), seconds()) as steps:
            for step in steps:
                if step == moment:
                    signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as caught:
        work()
    assert type(caught.value) is KeyboardInterrupt
    assert left_on_screen(screen.text()) == ""
    assert left_of_tqdm() == []


@pytest.mark.parametrize("moment", range(5))
def test_an_interrupt_that_strikes_the_bar_itself_comes_when_the_bar_is_done(screen: Screen, moment: int) -> None:
    before = signal.getsignal(signal.SIGINT)
    writes = count()
    screen.disturb = lambda: next(writes) == moment and signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), screen.progress(range(5), seconds()) as steps:
        assert sum(steps) <= 10
    assert next(writes) > moment
    assert left_on_screen(screen.text()) == ""
    assert left_of_tqdm() == []
    assert are_free(needs("tqdm").tqdm.get_lock().locks)
    assert signal.getsignal(signal.SIGINT) is before


def test_work_in_another_thread_has_its_bar_too(screen: Screen) -> None:
    def work() -> None:
        with screen.progress(range(20), seconds()) as steps:
            assert sum(steps) == 190

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert "10/20" in screen.text()


def test_without_tqdm_the_work_is_done_all_the_same(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with screen.progress(range(20), seconds()) as steps:
        assert sum(steps) == 190
    assert screen.text() == ""


@pytest.mark.parametrize("stderr", ["sys.stderr", "None", "open('/dev/null', 'w')"])
def test_where_nobody_watches_the_steps_are_passed_on_as_they_are_and_tqdm_is_not_loaded(stderr: str) -> None:
    code = f"""
import sys
from itertools import count
from kvnb.views.progress import progress
kept, sys.stderr = sys.stderr, {stderr}
work = range(20)
with progress(work, "counting", count().__next__) as steps:
    print(steps is work, sum(steps), "tqdm" in sys.modules)
sys.stderr = kept
"""
    assert run_python(code) == "True 190 False"
