"""A dashboard as it stands on a page: what it says, what it draws, what can be clicked; and the messages that it costs."""

from __future__ import annotations

import ast
import json
import re
from datetime import datetime
from typing import Any, NamedTuple

from jupyter_pages import PANEL, READY, RUN, NotebookPage

CANVASES = "canvas.kvnb-map, canvas.kvnb-queue, canvas.kvnb-requests"
DRAWN = """host => {
  const seq = host.querySelector('.kvnb-step')?.dataset.seq, drawn = [...host.querySelectorAll('CANVASES')];
  return seq && drawn.length === 3 && drawn.every(({ dataset }) => dataset.seq === seq && dataset.moving !== 'true');
}""".replace("CANVASES", CANVASES)
ASK = """async expression => {
  const kernel = PANEL.sessionContext.session.kernel;
  const asked = kernel.requestExecute({ code: '', silent: true, store_history: false, user_expressions: { it: expression } });
  const { it } = (await asked.done).content.user_expressions;
  if (it.status !== 'ok') throw new Error(it.evalue);
  return it.data['text/plain'];
}""".replace("PANEL", PANEL)
TYPE = """([index, source]) => {
  const { model } = PANEL.content.widgets[index];
  model.sharedModel.setSource(source);
  model.outputs.clear();
}""".replace("PANEL", PANEL)
WATCH = """index => {
  window.seen = [];
  const look = () => {
    const { status } = PANEL.sessionContext.session.kernel;
    for (const { textContent } of document.querySelectorAll('.jp-Notebook .jp-Cell')[index].querySelectorAll('.kvnb-step')) {
      const seen = [textContent.split(' · ')[0], status], last = window.seen.at(-1);
      if (textContent && (last?.[0] !== seen[0] || last?.[1] !== seen[1])) window.seen.push(seen);
    }
  };
  new MutationObserver(look).observe(document.body, { childList: true, characterData: true, subtree: true });
}""".replace("PANEL", PANEL)
LAB = "get_ipython()._kvnb_extension.magics.session.lab()"


class Board:
    """The dashboard somewhere on the page: in the output of a cell, or in a side panel."""

    def __init__(self, notebook: NotebookPage, host: Any) -> None:
        self.page, self.host = notebook.page, host

    @property
    def drawn(self) -> Board:
        """All its canvases show what the last message told."""
        self.host.locator(".kvnb-step").wait_for()
        self.host.locator(".kvnb-step").scroll_into_view_if_needed()
        self.page.wait_for_function(DRAWN, arg=self.host.element_handle())
        return self

    def at(self, step: int, where: str = " ·") -> Board:
        """It shows this step; ``where``: the present, or what it says of the past."""
        said = self.host.locator(".kvnb-step", has_text=re.compile(f"^step {step:,}{where}"))
        try:
            said.wait_for()
        except Exception as error:
            stands = self.slider.get_attribute("aria-valuenow")
            raise AssertionError(f"{self.text('step')!r}, not step {step}; the slider is at {stands}") from error
        return self.drawn

    def text(self, part: str) -> str:
        """What a part of it says: ``step``, ``says``, ``gauges``, ``clicked``."""
        return str(self.host.locator(f".kvnb-{part}").inner_text())

    def canvas(self, kind: str) -> Any:
        """One of the pictures: ``map``, ``queue``, ``requests``."""
        return self.host.locator(f"canvas.kvnb-{kind}")

    def tells(self, kind: str) -> str:
        """What a picture tells those who do not see it."""
        return str(self.canvas(kind).get_attribute("aria-label"))

    def button(self, word: str) -> Any:
        return self.host.get_by_role("button", name=word, exact=True)

    def click(self, verb: str, name: str | None = None, text: str | None = None, tokens: int | None = None) -> str:
        """Fill the fields and click; what is said to that."""
        for found, value in (("request", name), ("text", text)):
            if value is not None:
                self.host.get_by_placeholder(found, exact=True).fill(value)
        if tokens is not None:
            self.host.locator("input[type=number]").fill(str(tokens))
        said = self.host.locator(".kvnb-clicked")
        said.evaluate("node => { node.textContent = ''; }")
        self.button(verb).click()
        self.page.wait_for_function("node => node.textContent", arg=said.element_handle())
        return str(said.inner_text())

    def timeline(self, until: int, **data: object) -> Any:
        """The timeline, once it goes to this step; ``data`` are other marks that it has by then."""
        marks = {"until": until, **data}
        plot = self.host.locator(".kvnb-timeline")
        plot.scroll_into_view_if_needed()
        fits = "([plot, marks]) => Object.entries(marks).every(([name, value]) => plot.dataset[name] === value)"
        wanted = {name: str(value) for name, value in marks.items()}
        self.page.wait_for_function(fits, arg=[plot.element_handle(), wanted])
        return plot

    @property
    def slider(self) -> Any:
        """The slider's handle, focused."""
        found = self.host.locator(".noUi-handle")
        found.focus()
        return found

    def slid(self, step: int) -> Board:
        """The slider, which is told less often than the rest, stands at this step."""
        stands = "([handle, step]) => Number(handle.getAttribute('aria-valuenow')) === step"
        self.page.wait_for_function(stands, arg=[self.host.locator(".noUi-handle").element_handle(), step])
        return self


def board(notebook: NotebookPage, index: int) -> Board:
    """The dashboard below a cell, drawn."""
    notebook.cell(index).scroll_into_view_if_needed()
    return Board(notebook, notebook.cell(index).locator(".kvnb-canvas")).drawn


def docked(notebook: NotebookPage) -> Board:
    """The dashboard in the side panel, drawn."""
    return Board(notebook, notebook.page.locator(".jp-LinkedOutputView .kvnb-canvas, .jp-Sidecar .kvnb-canvas")).drawn


def do(notebook: NotebookPage, index: int, source: str) -> str:
    """Type this into a cell and run it; the text below it."""
    notebook.page.evaluate(TYPE, [index, source])
    notebook.run(index)
    return notebook.output(index)


def begin(notebook: NotebookPage, index: int, source: str) -> None:
    """Type this into a cell and run it, without waiting for its end."""
    notebook.page.evaluate(TYPE, [index, source])
    notebook.page.evaluate(RUN.replace("await app.commands", "app.commands"), index)


def ask(notebook: NotebookPage, expression: str) -> Any:
    """The value of an expression in the kernel."""
    return ast.literal_eval(notebook.page.evaluate(ASK, expression))


def ready(notebook: NotebookPage) -> None:
    notebook.page.wait_for_function(READY)


class Message(NamedTuple):
    """A message of the kernel: its kind, when it was sent, how large it is, what it is about."""

    kind: str
    date: datetime
    size: int
    content: dict[str, Any]

    @property
    def state(self) -> dict[str, Any]:
        """The traits that a widget's message sets; those of bytes are only named."""
        data = self.content.get("data", {})
        return {**data.get("state", {}), **{path[0]: None for path in data.get("buffer_paths", [])}}


class Messages:
    """What comes over a page's websockets, from now on."""

    def __init__(self, notebook: NotebookPage) -> None:
        self.all: list[Message] = []
        notebook.page.on("websocket", lambda socket: socket.on("framereceived", self._take))

    def _take(self, frame: bytes | str) -> None:
        # Jupyter's binary form: so many offsets, then the parts, where the second is the header, the fifth the content.
        if isinstance(frame, str):
            return
        count = int.from_bytes(frame[:8], "little")
        at = [int.from_bytes(frame[8 * place : 8 * place + 8], "little") for place in range(1, count + 1)]
        header, content = (json.loads(frame[at[place] : at[place + 1]]) for place in (1, 4))
        date = datetime.fromisoformat(header["date"])
        self.all.append(Message(header["msg_type"], date, len(frame), content))

    def comms(self) -> list[Message]:
        """Those of widgets."""
        return [message for message in self.all if message.kind == "comm_msg"]

    def most_in_a_second(self) -> int:
        """How many messages of widgets the busiest second had, wherever it begins."""
        dates = sorted(message.date for message in self.comms())
        return max((sum(0 <= (other - date).total_seconds() < 1 for other in dates) for date in dates), default=0)


def numbers(text: str) -> list[int]:
    return [int(digits.replace(",", "")) for digits in re.findall(r"\d[\d,]*", text)]
