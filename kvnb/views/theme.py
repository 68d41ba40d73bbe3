"""The colours, all of them: requests, moments, lines; and the ink that can be read on each fill.

Must not know: what is drawn with them.

The first five are Okabe and Ito's (their sky blue and vermilion are kept for moments); the other three are the
ones farthest from all of these to normal and to colour-blind eyes. Colour never tells a state alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import islice
from typing import NamedTuple
from zlib import crc32

from kvnb.journal import Journal

BLACK, WHITE = "#000", "#fff"


class Paint(NamedTuple):
    """A fill and the ink for text on it, both as hex."""

    fill: str
    ink: str


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2) of ``#rgb`` or ``#rrggbb``."""
    digits = colour[1:] if len(colour) == 7 else "".join(c * 2 for c in colour[1:])
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    red, green, blue = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Contrast ratio (WCAG 2), from 1 to 21; text wants 4.5."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def paint(fill: str) -> Paint:
    """``fill`` with black or white on it, whichever reads better."""
    return Paint(fill, max(WHITE, BLACK, key=lambda ink: contrast(ink, fill)))


REQUESTS = tuple(map(paint, ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#F0E442", "#7D2914", "#8A3FD1", "#A7D17D")))
OWNED = paint("#5F5F5F")
"""A block that is in use, where it does not matter by whom."""
SHARED = paint("#B0B0B0")
"""The second owner's part of such a block."""
LOST = paint("#D55E00")
"""Just lost its hash; also an equation that does not hold."""
HIT = "#56B4E9"
"""The ring round a block that was just hit."""
RAMP = tuple(map(paint, ("#CFE3F1", "#9CC5E0", "#5FA2CC", "#2B80B4", "#075C94", "#0A3D62")))
"""From small to large: one hue, each darker than the one before, so that it is read in grey print too."""
EDGE = "#808080"
LINE = "rgba(128,128,128,.35)"
FAINT = "rgba(128,128,128,.18)"


class Ground(NamedTuple):
    """What a picture stands on, and what is drawn on it where no request is meant.

    ink, quiet
        Text, and text that can be read last.
    line, faint
        A line that is followed, and one that only guides.
    used, stripe, kept, empty
        Blocks by kind where it does not matter whose: in use, the stripes of a shared one, free and cached, free and empty.
    ratio
        The hit ratio.
    saved
        Tokens that came from the cache; beside ``used``, which stands for those that were computed.
    """

    name: str
    paper: str
    ink: str
    quiet: str
    line: str
    faint: str
    used: str
    stripe: str
    kept: str
    empty: str
    ratio: str
    saved: str


LIGHT = Ground(
    "kvnb", WHITE, "#1C1E22", "#5B626B", "#A3A9B1", "#ECEEF1", "#5F5F5F", "#D6D6D6", "#C3C8CF", "#F3F4F6", "#0072B2", HIT
)
DARK = Ground(
    "kvnb_dark", "#111", "#E9EBEE", "#A2A8B0", "#686F78", "#23272C", "#9B9B9B", "#3A3A3A", "#4B525B", "#1C1F24", HIT, "#0072B2"
)

Painter = Callable[[str], Paint]
"""From a request's name to its colour."""

_READ = 2000


def painter(journal: Journal | None) -> Painter:
    """Colours for the requests of a journal, handed out in the order of their first admission.

    A request gets the colour that has been unused for longest, and keeps it, so that it is the same in every
    picture. Only the first steps of a journal are read for that: a request that comes later in a long one has a
    colour by the sum of its name. Without a journal every request is grey.
    """
    if journal is None:
        return lambda name: OWNED
    colours = _handed_out(journal)
    return lambda name: colours.get(name) or REQUESTS[_sum(name) % len(REQUESTS)]


def _handed_out(journal: Journal) -> dict[str, Paint]:
    colours: dict[str, Paint] = {}
    waiting, gone = list(REQUESTS), set[str]()
    for step in islice(journal.steps, _READ):
        verb, args = step.command
        if verb == "admit" and (args["name"] not in colours or args["name"] in gone):
            colours[args["name"]] = _next_colour(colours, waiting, args["name"])
            gone.discard(args["name"])
        for name in args["names"] if verb == "release" else ():
            if name in colours and name not in gone:
                gone.add(name)
                waiting += [colours[name]] * (colours[name] not in waiting)
    return colours


def _next_colour(colours: dict[str, Paint], waiting: list[Paint], name: str) -> Paint:
    """The one that ``name`` had before, if nobody else has it now; else the one unused for longest."""
    if colours.get(name) in waiting:
        waiting.remove(colours[name])
        return colours[name]
    return waiting.pop(0) if waiting else REQUESTS[len(colours) % len(REQUESTS)]


@lru_cache(maxsize=4096)
def _sum(name: str) -> int:
    return crc32(name.encode("utf-8", "surrogatepass"))
