"""Make README's picture of the house again, from the house: ``python notebooks/pictures/layers.py``.

The layers are those of ``pyproject.toml``, what a room is for is the first sentence of its docstring, what it imports is read in
its files. Two lines run through them: the way of a command down, and the way of its events up. A test makes the picture and
compares it with the files beside this one, ``layers-light.svg`` and ``layers-dark.svg``.

The standard library is enough to make it (Python 3.11 or newer), with kvnb's own colours.
"""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from functools import cache
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import tomllib

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT))

from kvnb.views.theme import DARK, LIGHT, REQUESTS, Ground  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

DOWN = ("magics", "commands", "session", "lab", "journal", "manager", "core")
"""A command's way: read, checked, planned, applied."""
UP = ("core", "manager", "journal", "tensors", "live", "views", "results")
"""Its events' way: told, written down, followed by the memory, published, drawn, given back."""
KINDS = {
    "takes your commands": ("magics", "cli", "commands", "session", "export", "lab", "prompts", "arguments", "quiz"),
    "draws": ("results", "views", "live"),
    "owns the memory": ("memory", "models", "tensors"),
    "remembers": ("journal",),
    "decides": ("manager", "core"),
}
"""What a room does; one that is not listed is grey."""
TINTS = dict(zip(KINDS, (REQUESTS[3], REQUESTS[1], REQUESTS[2], REQUESTS[7], REQUESTS[0]), strict=True))
TINT = {LIGHT.name: 0.16, DARK.name: 0.24}
GROUNDS = {"light": LIGHT, "dark": DARK}

WIDE, SIDE, LANE, GAP, PAD, LINE = 948, 66, 26, 5, 10, 16
LEFT, RIGHT = SIDE, WIDE - SIDE
NAME, LETTER, SMALL = 100, 6.7, 6.1
SANS = "-apple-system,BlinkMacSystemFont,'Segoe UI',Helvetica,Arial,'DejaVu Sans',sans-serif"
MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"


class Room(NamedTuple):
    """A package or module of kvnb: what it is for, and which packages of others it uses."""

    name: str
    says: str
    uses: tuple[str, ...]


class Box(NamedTuple):
    """A room and where it stands: what it says in lines, and beside or below it the lines of what it uses."""

    room: Room
    x: float
    y: float
    wide: float
    high: float
    lines: tuple[str, ...]
    uses: tuple[str, ...]
    beside: bool

    @property
    def middle(self) -> float:
        """Half way down."""
        return self.y + self.high / 2


@cache
def layers() -> list[list[Room]]:
    """The layers, the highest first, and the rooms of each."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    (listed,) = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    return [[room(name.strip().removeprefix("kvnb.")) for name in layer.split("|")] for layer in listed]


def room(name: str) -> Room:
    """What the files of a room say."""
    place = ROOT / "kvnb" / name
    files = sorted(place.rglob("*.py")) or [place.with_suffix(".py")]
    head = ast.get_docstring(ast.parse(files[0].read_text("utf-8"))) or ""
    first = re.split(r"(?<=[.!?])\s", head.replace("``", "").replace("\n", " "))[0]
    uses = {package for file in files for package in imported(ast.parse(file.read_text("utf-8")))}
    return Room(name, first.removesuffix("."), tuple(sorted(uses - sys.stdlib_module_names - {"kvnb"}, key=str.lower)))


def imported(node: ast.AST) -> Iterator[str]:
    """The packages that are imported when the code runs, wherever in it that happens."""
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    if isinstance(node, ast.Import):
        yield from (alias.name.partition(".")[0] for alias in node.names)
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield node.module.partition(".")[0]
    for child in ast.iter_child_nodes(node):
        yield from imported(child)


def boxes() -> list[Box]:
    """The rooms, a layer a row."""
    placed: list[Box] = []
    y = float(GAP)
    for rooms in layers():
        row = list(in_row(rooms, y))
        high = max(box.high for box in row)
        placed += [box._replace(high=high) for box in row]
        y += high + GAP
    return placed


def in_row(rooms: list[Room], y: float) -> Iterator[Box]:
    """The rooms of one layer side by side; a room that has the row alone has its imports beside what it is for."""
    wide = (RIGHT - LEFT - GAP * (len(rooms) - 1)) / len(rooms)
    beside = len(rooms) == 1
    for place, one in enumerate(rooms):
        uses = lined(", ".join(one.uses), 34)
        taken = PAD + SMALL * max(map(len, uses), default=0) if beside else 0
        lines = lined(one.says, int((wide - NAME - 2 * PAD - taken) / LETTER))
        rows = max(len(lines), len(uses)) if beside else len(lines) + len(uses)
        yield Box(one, LEFT + place * (wide + GAP), y, wide, 2 * PAD + LINE * rows - 2, lines, uses, beside)


def lined(text: str, most: int) -> tuple[str, ...]:
    """The text in as few lines as go, of about one length."""
    few = len(textwrap.wrap(text, most))
    while most > 1 and len(textwrap.wrap(text, most - 1)) == few:
        most -= 1
    return tuple(textwrap.wrap(text, most))


def picture(theme: str) -> str:
    """The whole picture, as SVG."""
    of, placed = GROUNDS[theme], boxes()
    bottom = placed[-1].y + placed[-1].high
    by_name = {box.room.name: box for box in placed}
    high = bottom + 34
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {high:g}" width="{WIDE}" height="{high:g}"'
            f' font-family="{SANS}" font-size="13">',
            "<title>The rooms of kvnb in layers: imports point downwards only</title>",
            *(part for box in placed for part in drawn(box, of)),
            *way([by_name[name] for name in DOWN], LEFT - LANE, of, "a command goes down"),
            *way([by_name[name] for name in UP], RIGHT + LANE, of, "its events come up"),
            *legend(bottom + 24, of),
            "</svg>",
            "",
        ]
    )


def drawn(box: Box, of: Ground) -> Iterator[str]:
    """One room: its name, what it is for, and quietly what it uses of others."""
    kind = next((kind for kind, names in KINDS.items() if box.room.name in names), None)
    fill = f'fill="{TINTS[kind].fill}" fill-opacity="{TINT[of.name]}"' if kind else f'fill="{of.empty}"'
    yield f'<rect x="{box.x:g}" y="{box.y:g}" width="{box.wide:g}" height="{box.high:g}" rx="6" {fill}/>'
    x, y = box.x + PAD, box.y + PAD + 11
    yield words(x, y, box.room.name, of.ink, f'font-family="{MONO}" font-weight="700"')
    for number, line in enumerate(box.lines):
        yield words(x + NAME, y + number * LINE, line, of.ink)
    quiet = 'font-size="11.5" text-anchor="end"' if box.beside else 'font-size="11.5"'
    at, below = (box.x + box.wide - PAD, 0) if box.beside else (x + NAME, len(box.lines))
    for number, line in enumerate(box.uses):
        yield words(at, y + (number + below) * LINE, line, of.quiet, quiet)


def way(stops: list[Box], x: float, of: Ground, says: str) -> Iterator[str]:
    """A line with a stop at each room that it goes through, arrows on its way, and its name along it."""
    outside = -1 if x < LEFT else 1
    middles = [box.middle for box in stops]
    yield f'<path d="M{x:g} {middles[0]:g}V{middles[-1]:g}" stroke="{of.ink}" stroke-width="2.5"/>'
    for start, end in pairwise(middles):
        tip = (start + end) / 2 + (5 if end > start else -5)
        back = tip - (9 if end > start else -9)
        yield f'<path d="M{x:g} {tip:g}L{x - 5:g} {back:g}H{x + 5:g}Z" fill="{of.ink}"/>'
    for box in stops:
        edge = box.x if outside < 0 else box.x + box.wide
        yield f'<path d="M{x:g} {box.middle:g}H{edge:g}" stroke="{of.ink}" stroke-width="1.5"/>'
        yield f'<circle cx="{x:g}" cy="{box.middle:g}" r="5" fill="{of.paper}" stroke="{of.ink}" stroke-width="2.5"/>'
    at, middle = x + outside * 20, (middles[0] + middles[-1]) / 2
    turned = f'text-anchor="middle" font-weight="700" transform="rotate({outside * 90} {at:g} {middle:g})"'
    yield words(at, middle + 4, says, of.ink, turned)


def legend(y: float, of: Ground) -> Iterator[str]:
    """What the colours say, in a line."""
    x = float(LEFT)
    for kind, paint in TINTS.items():
        yield f'<rect x="{x:g}" y="{y - 11:g}" width="14" height="14" rx="4" fill="{paint.fill}" fill-opacity=".4"/>'
        yield words(x + 20, y, kind, of.quiet, 'font-size="12"')
        x += 42 + 6.6 * len(kind)
    yield words(RIGHT, y, "small: the packages of others that it imports", of.quiet, 'font-size="12" text-anchor="end"')


def words(x: float, y: float, says: str, colour: str, how: str = "") -> str:
    """A line of text."""
    return f'<text x="{x:g}" y="{y:g}" fill="{colour}"{how and " " + how}>{escape(says)}</text>'


def main() -> None:
    """Write both pictures."""
    for theme in GROUNDS:
        (HERE / f"layers-{theme}.svg").write_text(picture(theme), "utf-8")


if __name__ == "__main__":
    main()
