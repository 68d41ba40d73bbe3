"""How soon a dashboard shows a command, and what that costs: ``pytest -m benchmark -s``. Nothing asserts a time.

From the moment that the kernel begins with the news (its clock and the page's are one) to the end of drawing the map;
the kernel's part alone; the bytes of the message; then 10,000 commands in one cell, with and without a dashboard.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator

import pytest
from dashboards import Messages, ask, begin, board, do
from jupyter_pages import READY, NotebookPage, code

pytestmark = [pytest.mark.browser, pytest.mark.benchmark]
ROUNDS = 15
OPEN = """%kvpool new {blocks} --name big --device none
lab = get_ipython()._kvnb_extension.magics.session.lab()
for place in range(4):
    lab.admit(f"r{{place}}", tokens=range(place * 10**6, place * 10**6 + {blocks} * 3 // 4))
lab.release("r3")"""
KERNEL = """import time, statistics
panel = get_ipython()._kvnb_extension.magics.session.panels["big"].dashboard
def side(change):
    times = []
    for _ in range(15):
        change()
        began = time.perf_counter()
        with panel._lock:
            panel._tell()
        times.append(1000 * (time.perf_counter() - began))
    return round(statistics.median(times), 2), round(max(times), 2)
def turn():
    lab.admit("k", tokens=range(9 * 10**6, 9 * 10**6 + 12)) if "k" not in lab.requests else lab.release("k")
print(side(turn), side(lambda: setattr(panel.feed, "_stale", True)))"""
BUSY = """import time
began = time.perf_counter()
for number in range(5000):
    lab.admit("busy", tokens=[number, 1, 2])
    lab.release("busy")
print(round(time.perf_counter() - began, 2))"""


@pytest.fixture
def page(notebook: NotebookPage) -> Iterator[tuple[NotebookPage, Messages]]:
    messages = Messages(notebook)
    notebook.begin("speed.ipynb", code("%load_ext kvnb", *["pass"] * 8), 0)
    yield notebook, messages
    do(notebook, 8, "%kvpool close")


@pytest.mark.parametrize("blocks", [11, 1_000, 10_000, 100_000])
def test_how_soon_a_command_is_seen(page: tuple[NotebookPage, Messages], blocks: int) -> None:
    notebook, messages = page
    do(notebook, 1, OPEN.format(blocks=blocks))
    do(notebook, 2, "%kvpool dashboard")
    shown = board(notebook, 2)
    latencies, sizes = [], []
    for number in range(ROUNDS):
        before = len(messages.all)
        step = ask(notebook, "len(lab.journal)")
        do(notebook, 3, 'lab.admit("x", tokens=range(12));' if number % 2 == 0 else 'lab.release("x");')
        shown.at(step + 1)
        latencies.append(float(shown.canvas("map").get_attribute("data-latency")))
        sizes += [message.size for message in messages.all[before:] if "facts" in message.state]
    print(f"\n{blocks:>7,} blocks: stamp to drawn {statistics.median(latencies):.0f} ms, at most {max(latencies):.0f};", end=" ")
    print(f"message {statistics.median(sizes):,.0f} bytes; kernel's part (median, most) changed, all:", end=" ")
    print(do(notebook, 4, KERNEL).strip())
    assert len(sizes) >= ROUNDS


@pytest.mark.parametrize("blocks", [11, 100_000])
def test_what_ten_thousand_commands_cost(page: tuple[NotebookPage, Messages], blocks: int) -> None:
    notebook, messages = page
    do(notebook, 1, OPEN.format(blocks=blocks) + "\nlab.release(all=True);")
    alone = do(notebook, 5, BUSY)
    do(notebook, 2, "%kvpool dashboard")
    board(notebook, 2)
    begun = len(messages.all)
    begin(notebook, 6, BUSY)
    notebook.page.wait_for_function(READY)
    board(notebook, 2).at(ask(notebook, "len(lab.journal)"))
    sent = messages.comms()
    print(
        f"\n{blocks:>7,} blocks, 10,000 commands: {alone.strip()} s alone, {notebook.output(6).strip()} s with a dashboard;",
        end=" ",
    )
    print(f"{len(messages.all) - begun} messages, at most {messages.most_in_a_second()} of widgets in a second", end=" ")
    print(f"({sum(message.size for message in messages.all[begun:]):,} bytes)")
    assert sent
