"""The thread that lets panels speak."""

from __future__ import annotations

from contextvars import ContextVar
from threading import Event, current_thread, main_thread

from kvnb.views.dashboard.pace import Budget
from kvnb.views.dashboard.ticker import Ticker


class Clock:
    """A panel that wants to speak again after some seconds, for so many times."""

    def __init__(self, times: int, wait: float = 0.001) -> None:
        self.left, self.wait, self.done, self.threads = times, wait, Event(), set[bool]()
        self.crowds: list[int] = []

    def speak(self, now: float, crowd: int) -> float | None:
        self.threads.add(current_thread() is main_thread())
        self.crowds.append(crowd)
        self.left -= 1
        if self.left <= 0:
            self.done.set()
            return None
        return self.wait

    def complain(self, error: Exception) -> None:
        raise AssertionError(error)


class Broken:
    def __init__(self) -> None:
        self.errors: list[Exception] = []
        self.told = Event()

    def speak(self, now: float, crowd: int) -> float | None:
        raise ValueError("no picture")

    def complain(self, error: Exception) -> None:
        self.errors.append(error)
        self.told.set()


def test_a_panel_speaks_on_a_thread_of_its_own_until_it_has_nothing_to_say() -> None:
    ticker, panel = Ticker(Budget()), Clock(3)
    ticker.add(panel)
    assert panel.done.wait(30)
    assert panel.threads == {False}
    assert panel.left == 0
    panel.done.clear()
    ticker.wake()
    assert panel.done.wait(30), "and again when something happened"
    ticker.remove(panel)


def test_panels_speak_in_the_context_of_the_cell_that_opened_the_first():
    request: ContextVar[str] = ContextVar("request")  # as ipykernel 7.0 keeps the message that it answers

    class Asked(Clock):
        def speak(self, now: float, crowd: int) -> float | None:
            self.request = request.get("none")
            return super().speak(now, crowd)

    ticker, panel = Ticker(Budget()), Asked(1)
    request.set("a cell's")
    ticker.add(panel)
    assert panel.done.wait(30)
    assert panel.request == "a cell's"
    ticker.remove(panel)


def test_a_panel_that_cannot_speak_says_so_and_the_others_go_on() -> None:
    ticker, broken, panel = Ticker(Budget()), Broken(), Clock(2)
    ticker.add(broken)
    ticker.add(panel)
    assert broken.told.wait(30)
    assert panel.done.wait(30)
    assert "no picture" in str(broken.errors[0])
    assert max(panel.crowds) == 2, "each knows how many share the line"
    ticker.remove(broken)
    ticker.remove(panel)


def test_a_panel_that_cannot_even_complain_does_not_silence_the_others() -> None:
    class Mute(Broken):
        def complain(self, error: Exception) -> None:
            super().complain(error)
            raise OSError("no connection")

    ticker, mute, panel = Ticker(Budget()), Mute(), Clock(1)
    ticker.add(mute)
    assert mute.told.wait(30)
    ticker.add(panel)
    assert panel.done.wait(30)
    ticker.remove(mute)
    ticker.remove(panel)
