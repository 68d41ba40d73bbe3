"""Make the pictures of the dashboard again, from the journal beside this file: ``python notebooks/pictures/make.py``.

Needs the extras ``test`` and ``pictures``, and Chromium. JupyterLab opens ``watch.jsonl`` in a dashboard, in a light theme
and in a dark one; the slider goes from step to step. Written are, for each theme, the whole board as it stands at ``STILL``
(PNG) and the board without its timeline, all steps in a loop (WebP); and ``made.json``: from which journal, and the SHA-256
of each file. A test holds the files to it.

Another story: ``%kvpool new 21 --device none --name watch``, the commands, ``%kvpool save notebooks/pictures/watch.jsonl``.

Twice the pixels, so that they are sharp. The tiles of the free queue move for 0.4 s after a step; the page's clock is
stopped then and put forward by hand, so that a frame shows the same moment on every machine.
"""

from __future__ import annotations

import io
import json
import shutil
import sys
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
JOURNAL = HERE / "watch.jsonl"
RECORD = HERE / "made.json"
THEMES = ("light", "dark")
STILL = 16
"""The step of the still picture: two requests share blocks that one of them left in the cache, and one block is evicted."""
MOVING, STEP, LAST = (60, 130, 210, 300), 600, 1500
"""Milliseconds after a step at which the moving tiles are taken; how long a step is shown; and the last one."""
SETTLED = 1000
SCALE, WIDE, HIGH = 2, 1200, 1500

STYLE = """
  .kvnb-canvas > div { padding: 20px 24px; box-sizing: content-box; background: var(--jp-layout-color0); }
  .jp-Toolbar, .jp-cell-toolbar { visibility: hidden; }
  * { caret-color: transparent !important; }
"""
NO_TIMELINE = "div:has(> .kvnb-timeline) { display: none; }"
CLOCK = """
  const now = performance.now.bind(performance);
  window.stopped = null;
  performance.now = () => window.stopped ?? now();
"""
PAINTED = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))))"
ARRIVED = """([host, step]) => {
  const [queue, map] = ["queue", "map"].map(kind => host.querySelector(`canvas.kvnb-${kind}`));
  const says = host.querySelector(".kvnb-step"), of = new RegExp(`^step ${step}( |$)`);
  return [queue, map].every(({ dataset }) => dataset.seq === says.dataset.seq) && of.test(says.textContent);
}"""


class Frame(NamedTuple):
    """The board so many milliseconds after it went to ``step``, shown for ``shown`` milliseconds."""

    step: int
    after: int
    shown: int


def frames(steps: int) -> list[Frame]:
    """What the animation of a journal of so many steps is made of."""
    times = (*MOVING, STEP)
    moving = [(after, until - after) for after, until in zip((0, *MOVING), times, strict=True)]
    made = [Frame(0, SETTLED, STEP)]
    for step in range(1, steps + 1):
        made += [Frame(step, after, shown) for after, shown in moving[:-1]]
        made.append(Frame(step, SETTLED, moving[-1][1] if step < steps else LAST))
    return made


def main() -> None:
    """Make all four and the record."""
    tests = ROOT / "tests"
    sys.path[:0] = [str(ROOT), str(tests), str(tests / "browser")]
    from kvnb.journal import jsonl

    journal = jsonl.read(JOURNAL).journal
    made = {}
    with opened(JOURNAL) as (page, notebook):
        for theme in THEMES:
            board = Board(page, notebook, theme, len(journal))
            made[f"board-{theme}.png"] = board.still()
            made[f"steps-{theme}.webp"] = animated(board.film(frames(len(journal))))
    for name, data in made.items():
        (HERE / name).write_bytes(data)
        print(f"{name}: {len(data) / 1e6:.2f} MB")
    record = json.loads(RECORD.read_text("utf-8"))
    record |= {"journal": journal.digest, "still": STILL}
    record["files"] |= {name: sha256(data).hexdigest() for name, data in made.items()}
    RECORD.write_text(json.dumps(record, indent=1) + "\n", "utf-8")


@contextmanager
def opened(journal: Path) -> Iterator[tuple[Any, Any]]:
    """A page of JupyterLab with the dashboard of this journal."""
    from jupyter_pages import NotebookPage, Server, chromium, code
    from playwright.sync_api import sync_playwright

    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = Server(Path(folder))
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        try:
            shutil.copy(journal, server.notebooks)
            server.write("make.ipynb", code("%load_ext kvnb", f"%kvpool load {journal.name};", "%kvpool dashboard"))
            page = browser.new_page(viewport={"width": WIDE, "height": HIGH}, device_scale_factor=SCALE)
            page.add_init_script(CLOCK)
            notebook = NotebookPage(page, server)
            notebook.open("make.ipynb")
            page.evaluate("() => { const { shell } = window.jupyterapp; shell.collapseLeft(); shell.collapseRight(); }")
            notebook.run(0, 1, 2)
            page.get_by_role("button", name="go on", exact=True).click()
            yield page, notebook
        finally:
            browser.close()
            server.close()


class Board:
    """The board on the page, in one theme."""

    def __init__(self, page: Any, notebook: Any, theme: str, steps: int) -> None:
        self.page, self.steps = page, steps
        notebook.command("apputils:change-theme", theme=f"JupyterLab {theme.title()}")
        page.add_style_tag(content=STYLE)
        self.host = page.locator(".kvnb-canvas > div", has=page.locator("canvas.kvnb-map"))
        self.handle = self.host.locator(".noUi-handle")
        self._press("Home", 0)

    def still(self) -> bytes:
        """The whole board at one moment, as a PNG."""
        self._choose("blocks")
        self._go(STILL)
        plot = self.host.locator(f'.kvnb-timeline[data-which="blocks"][data-step="{STILL}"]')
        plot.wait_for()
        self.page.wait_for_timeout(SETTLED)
        return self._taken()

    def film(self, wanted: list[Frame]) -> list[tuple[Any, int]]:
        """Pictures of the board without its timeline, with their milliseconds; all of one size."""
        from PIL import Image

        self._choose("none")
        hidden = self.page.add_style_tag(content=NO_TIMELINE)
        high = 0
        for step in range(self.steps + 1):
            self._go(step)
            high = max(high, self.host.evaluate("host => parseFloat(getComputedStyle(host).height)"))
        size = self.page.add_style_tag(content=f".kvnb-canvas > div {{ height: {high}px; }}")
        taken: list[tuple[Any, int]] = []
        for frame in wanted:
            self._go(frame.step, frame.after)
            picture = Image.open(io.BytesIO(self._taken())).convert("RGB")
            if taken and taken[-1][0].tobytes() == picture.tobytes():
                taken[-1] = (picture, taken[-1][1] + frame.shown)
            else:
                taken.append((picture, frame.shown))
        for tag in (hidden, size):
            tag.evaluate("tag => tag.remove()")
        return taken

    def _taken(self) -> bytes:
        """The board alone, as a PNG."""
        self.host.evaluate("host => host.scrollIntoView()")
        box = self.host.bounding_box()
        clip = {"x": round(box["x"]), "y": round(box["y"]), "width": round(box["width"]), "height": round(box["height"])}
        return bytes(self.page.screenshot(clip=clip))

    def _choose(self, timeline: str) -> None:
        self.host.get_by_role("button", name=timeline, exact=True).click()
        self.page.mouse.move(0, 0)

    def _go(self, step: int, after: int = SETTLED) -> None:
        """Show ``step`` as it is so many milliseconds after it came from the step before."""
        if step < self.step:
            self._press("Home", 0)
        while self.step < step:
            self._press("ArrowRight", self.step + 1)
        self.page.evaluate("time => { window.stopped = time; }", self.began + after)
        self.page.evaluate(PAINTED)

    def _press(self, key: str, step: int) -> None:
        """Move the slider to ``step`` and wait until it is drawn, with the clock stopped as it was when the key was pressed."""
        self.page.evaluate("() => { window.stopped = null; window.stopped = performance.now(); }")
        self.handle.press(key)
        self.page.wait_for_function(ARRIVED, arg=[self.host.element_handle(), step])
        self.began, self.step = self.page.evaluate("window.stopped"), step


def animated(taken: list[tuple[Any, int]]) -> bytes:
    """The frames as one WebP, without loss, for ever again."""
    target = io.BytesIO()
    (first, *rest), shown = zip(*taken, strict=True)
    first.save(
        target, "WEBP", save_all=True, append_images=rest, duration=list(shown), loop=0, lossless=True, quality=75, method=4,
        minimize_size=True,
    )  # fmt: skip
    return target.getvalue()


if __name__ == "__main__":
    main()
