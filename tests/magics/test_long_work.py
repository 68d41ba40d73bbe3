"""Long work in a live notebook: a bar of widgets while it runs, an empty output in the file, and no widget left."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers import needs
from kernels import CellRun, Kernel

pytestmark = pytest.mark.slow

VIEW = "application/vnd.jupyter.widget-view+json"
GONE = {"text/plain": "", "text/html": ""}
TOOLS = """
import os, signal, sys
from itertools import count
from ipywidgets.widgets.widget import _instances
from kvnb.views.progress import progress

def work(interrupted_at=None, n=20):
    done = 0
    with progress(range(n), "counting", count().__next__) as steps:
        for step in steps:
            if step == interrupted_at:
                signal.raise_signal(signal.SIGINT)
            done += 1
    return done

class Strike:
    "An interrupt at the moment-th function that tqdm, the widgets or IPython's display begin."
    def __init__(self, moment):
        self.left = moment
    def __call__(self, frame, event, argument):
        name = frame.f_code.co_filename
        if event == "call" and any(part in name for part in ("tqdm", "ipywidgets", "display_functions", "comm")):
            self.left -= 1
            if self.left == -1:
                signal.raise_signal(signal.SIGINT)

def struck(moment):
    strike, done = Strike(moment), False
    sys.setprofile(strike)
    try:
        work(n=4)
        done = strike.left >= 0
    except KeyboardInterrupt:
        pass
    finally:
        sys.setprofile(None)
    return done
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory, long_journal: Path) -> Iterator[Kernel]:
    """A kernel with a pool of a long journal."""
    needs("ipywidgets")
    needs("tqdm")
    folder = tmp_path_factory.mktemp("kernel")
    (folder / "long.jsonl").hardlink_to(long_journal)
    kernel = Kernel(folder)
    kernel.run("%load_ext kvnb", TOOLS, "%kvpool load long.jsonl --device none")
    yield kernel
    kernel.close()


def live(kernel: Kernel, *cells: str, **options: Any) -> CellRun:
    """Run cells as a notebook does that somebody looks at."""
    return kernel.run(*cells, cell_id="a-cell", **options)


def printed(ran: CellRun) -> str:
    assert ran.error is None, ran.error
    return "".join(output["text"] for output in ran.outputs if output["msg_type"] == "stream").strip()


def bars(ran: CellRun) -> list[str]:
    """The bars that were shown, as text."""
    return [output["data"]["text/plain"] for output in ran.outputs if VIEW in output.get("data", {})]


@pytest.mark.parametrize("verb", ["verify", "replay", "verify long.jsonl", "load long.jsonl --name again --device none"])
def test_long_work_shows_a_bar_and_leaves_an_empty_output_in_the_file(kernel: Kernel, verb: str) -> None:
    kernel.run("%kvpool use pool")
    ran = live(kernel, f"before = len(_instances)\n%kvpool {verb}\nleft = len(_instances) - before")
    assert bars(ran)
    assert all("/20000 [" in bar for bar in bars(ran))
    assert {output["msg_type"] for output in ran.outputs} == {"display_data", "update_display_data"}
    *gone, result = (data for data in ran.saved if not any("kvnb" in mime for mime in data))
    assert gone == [GONE] * len(bars(ran))
    assert set(result) == {"text/plain", "text/html"}
    assert "20,000 steps" in result["text/plain"]
    assert printed(kernel.run("print(left)")) == "0"


def test_a_program_that_executes_a_notebook_gets_the_result_alone(kernel: Kernel) -> None:
    ran = kernel.run("%kvpool use pool", "%kvpool verify")
    assert [output["msg_type"] for output in ran.outputs] == ["display_data"]
    assert set(ran.outputs[0]["data"]) == {"text/plain", "text/html"}


def test_twenty_bars_leave_as_many_widgets_as_one(kernel: Kernel) -> None:
    ran = live(kernel, "print(work(), len(_instances))", "print(sum(work() for _ in range(20)), len(_instances))")
    assert len(bars(ran)) == 20
    assert ran.saved == [GONE] * 20
    assert printed(ran).split()[0] == "400"
    again = live(kernel, "print(work(), len(_instances))")
    assert printed(again).split()[1] == printed(ran).split()[1]


@pytest.mark.parametrize("moment", [0, 1, 2, 10, 19])
def test_interrupted_work_takes_its_bar_away(kernel: Kernel, moment: int) -> None:
    ran = live(kernel, "before = len(_instances)", f"work(interrupted_at={moment})")
    assert ran.error is not None
    assert "KeyboardInterrupt" in ran.error[-1]
    assert (len(bars(ran)), ran.saved) == (1, [GONE])
    assert printed(kernel.run("print(len(_instances) - before)")) == "0"


def test_an_interrupt_that_strikes_the_bar_itself_leaves_no_widget_and_no_lock(kernel: Kernel) -> None:
    cell = """
from tqdm import tqdm
before, moment = len(_instances), 0
while not struck(moment):
    assert len(_instances) == before, moment
    moment += 37
print(moment, len(tqdm._instances))
from threading import Thread
found = []
def take():
    for lock in tqdm.get_lock().locks:
        found.append(lock.acquire(False) and not lock.release())
thread = Thread(target=take); thread.start(); thread.join()
print(found)
"""
    ran = live(kernel, cell)
    moments, *rest = printed(ran).split(maxsplit=1)
    print(f"\na bar is interrupted at one in 37 of {moments} calls")
    assert int(moments) > 300
    assert rest == ["0\n[True, True]"]
    assert set(map(str, ran.saved)) == {str(GONE)}


def test_a_verify_that_is_interrupted_leaves_the_pool_and_its_journal_as_they_were(kernel: Kernel) -> None:
    look = "print(repr(str(get_ipython().run_line_magic('kvpool', 'show'))))"
    kernel.run("%kvpool use pool")
    before = printed(kernel.run(look))

    def interrupt(output: dict[str, Any]) -> None:
        if VIEW in output.get("data", {}):
            kernel.manager.interrupt_kernel()

    ran = live(kernel, "widgets = len(_instances)", "%kvpool verify", seen=interrupt)
    assert ran.error is not None
    assert "KeyboardInterrupt" in ran.error[-1]
    assert (len(bars(ran)), ran.saved) == (1, [GONE])
    assert printed(kernel.run(look)) == before
    assert printed(kernel.run("print(len(_instances) - widgets)")) == "0"
    assert "verifies: 20,000 steps" in kernel.run("%kvpool verify").texts[0]


@pytest.mark.parametrize("package", ["ipywidgets", "tqdm"])
def test_without_a_package_the_work_is_done_without_a_bar(kernel: Kernel, package: str) -> None:
    hide = f"kept = {{name: sys.modules[name] for name in sys.modules if name.partition('.')[0] == '{package}'}}"
    ran = live(kernel, "work()", hide + "\nsys.modules.update(dict.fromkeys(kept))\nprint(work())\nsys.modules.update(kept)")
    assert printed(ran) == "20"
    assert ran.saved == []
