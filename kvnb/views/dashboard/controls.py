"""What is clicked: the commands with their fields, the slider over the steps, the choice of a timeline.

Must not know: journals, pools, what a click does. Needs ipywidgets.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from threading import get_ident
from typing import Any

import ipywidgets as widgets  # type: ignore[import-untyped]

from kvnb.views.dashboard.lines import VERBS, Fields

TIMELINES = ("queue", "usage", "blocks")
"""Those that are offered: what there is of a pool's blocks. Others are looked at by their verb."""
HELP = {
    "admit": "Start the request with the text as its prompt; without a text a preempted one resumes",
    "append": "Give the request more tokens: the text",
    "generate": "Let the model make so many tokens",
    "release": "End the request: its blocks go back to the free queue",
    "preempt": "Take the request's blocks away; it keeps its tokens",
    "reset": "Drop the whole prefix cache; no request may hold a block",
    "undo": "Go back one step; the journal keeps both",
}
NAMED = 200
"""So many requests are offered in the field."""
INTERVAL = 500
"""Milliseconds that a step stays when steps are played."""
NOW = sys.maxsize
"""Beyond every step: the present, however far the slider is behind the pool."""


class Controls:
    """The widgets.

    ``clicked`` gets a verb and the fields, ``moved`` a step or ``NOW``, ``chosen`` the name of a timeline or "" for none;
    ``go_on`` is called when a pool that is only looked at is to be driven after all. ``which`` is the timeline chosen at first.
    """

    def __init__(
        self, clicked: Callable[[str, Fields], object], moved: Callable[[int], object], chosen: Callable[[str], object],
        go_on: Callable[[], object], which: str = "",
    ) -> None:  # fmt: skip
        self._quiet = 0
        self._moved = moved
        self.name = widgets.Combobox(placeholder="request", layout=_room("120px"))
        self.text = widgets.Text(placeholder="text", layout=_room("200px", grow=True))
        self.count = widgets.BoundedIntText(1, min=1, max=100_000, layout=_room("64px"), tooltip="tokens to generate")
        self.buttons = {verb: _button(verb, HELP[verb]) for verb in VERBS}
        for verb, button in self.buttons.items():
            button.on_click(lambda _, verb=verb: clicked(verb, self.fields))
        self.slider = widgets.IntSlider(0, min=0, max=0, readout=False, layout=_room("160px", grow=True))
        self.play = widgets.Play(0, min=0, max=0, interval=INTERVAL, show_repeat=False)
        self.now = _button("now", "Follow the pool again")
        self.now.on_click(lambda _: moved(NOW))
        self.slider.observe(self._slid, "value")
        self._link = widgets.jsdlink((self.play, "value"), (self.slider, "value"))
        self.choose = widgets.ToggleButtons(
            options=[*zip(TIMELINES, TIMELINES, strict=True), ("none", "")], value=which, style={"button_width": "72px"}
        )
        self.choose.observe(lambda change: chosen(change["new"]), "value")
        self.go_on = _button("go on", "Let the buttons change this pool")
        self.go_on.on_click(lambda _: go_on())
        self.commands = _row([self.go_on, self.name, self.text, *self._verbs()])
        self.travel = _row([self.play, self.slider, self.now])

    def _verbs(self) -> list[widgets.Widget]:
        row: list[widgets.Widget] = list(self.buttons.values())
        row.insert(VERBS.index("generate") + 1, self.count)
        return row

    @property
    def fields(self) -> Fields:
        """What stands in the fields now."""
        return Fields(self.name.value.strip(), self.text.value, self.count.value)

    @property
    def parts(self) -> dict[str, str]:
        """The model ids of what a board puts between its pictures."""
        return {name: getattr(self, name).model_id for name in ("commands", "travel", "choose")}

    def stand_at(self, step: int, steps: int) -> None:
        """Put the slider at ``step`` of ``steps``: a message for the slider and one for what plays."""
        # Only what this thread sets is no wish of anybody's: the page may move the slider at the same time.
        self._quiet = get_ident()
        try:
            for widget in (self.slider, self.play):
                _place(widget, step, steps)
        finally:
            self._quiet = 0

    def offer(self, names: Iterable[str]) -> None:
        """Offer these requests in the field, but for names that no message can carry."""
        options = tuple(filter(_is_sent, names))
        if options != self.name.options:
            self.name.options = options

    def empty(self) -> None:
        """Forget what was filled in and offered."""
        self.name.value = self.text.value = ""
        self.count.value = 1
        self.offer(())

    def allow(self, verbs: Iterable[str], held: bool = False) -> None:
        """Let these be clicked, and no others; ``held``: one click lets them all."""
        allowed = frozenset(verbs)
        for verb, button in self.buttons.items():
            button.disabled = verb not in allowed
        for field in (self.name, self.text):
            field.disabled = not allowed
        self.count.disabled = "generate" not in allowed
        self.go_on.layout.display = "" if held else "none"

    def close(self) -> None:
        """Free every widget, with its layout and its style: ipywidgets keeps what is not closed."""
        for widget in (
            self._link,
            self.play,
            self.slider,
            self.now,
            self.choose,
            self.travel,
            *self.commands.children,
            self.commands,
        ):
            close(widget)

    def _slid(self, change: dict[str, Any]) -> None:
        if self._quiet != get_ident():
            self._moved(NOW if change["new"] == self.slider.max else change["new"])


def close(widget: widgets.Widget) -> None:
    """Free a widget, with its layout and its style."""
    for part in ("layout", "style"):
        if widget.has_trait(part):
            getattr(widget, part).close()
    widget.close()


def _is_sent(name: str) -> bool:
    """Half a character is a name from Python, and no JSON."""
    return not any("\ud800" <= letter <= "\udfff" for letter in name)


def _place(widget: Any, step: int, steps: int) -> None:
    with widget.hold_sync():
        widget.max = max(steps, widget.value)
        widget.value = step
        widget.max = steps


def _row(children: list[widgets.Widget]) -> widgets.Box:
    return widgets.Box(children, layout={"display": "flex", "flex_flow": "row wrap", "align_items": "center", "grid_gap": "2px"})


def _room(wide: str, grow: bool = False) -> dict[str, str]:
    return {"width": wide, "flex": f"{int(grow)} 1 {wide}", "min_width": "60px"}


def _button(word: str, tooltip: str) -> widgets.Button:
    return widgets.Button(description=word, tooltip=tooltip, layout={"width": "auto"})
