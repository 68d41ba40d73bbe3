"""Pieces of SVG, and the one form in which they survive: an image with its text beside it.

Must not know: what is drawn.

Colours are class names, so that one image has the colours of a light and of a dark page; tiles have their own.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping

from kvnb.views.markup import safe
from kvnb.views.theme import Paint

SANS = "system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif"
MONO = "ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace"


def words(x: float, y: float, text: str, look: str = "", anchor: str = "start") -> str:
    """Plain text at a place; ``look`` are class names."""
    at = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{x:g}" y="{y:g}" class="{look}"{at}>{safe(text)}</text>'


def box(x: float, y: float, wide: float, high: float, look: str, radius: float = 10) -> str:
    """A rounded box."""
    return f'<rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{high:g}" rx="{radius:g}" class="{look}"/>'


def way(points: str, look: str, head: str) -> str:
    """A line with an arrow's head; ``points`` as in ``M0 0H9V9``, round where it turns."""
    return f'<path d="{points}" class="{look}" marker-end="url(#{head})"/>'


def head(name: str, look: str) -> str:
    """The head that arrows of one look share."""
    return (
        f'<marker id="{name}" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="9" markerHeight="9" '
        f'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L10 5L0 10z" class="{look}"/></marker>'
    )


def tile(x: float, y: float, wide: float, high: float, text: str, paint: Paint | None, hashed: bool, ring: bool = False) -> str:
    """A block, as everywhere: fill = owner, corner = it carries a hash, dashed = free and empty."""
    fill = f'fill="{paint.fill}"' if paint else f'class="{"kept" if hashed else "empty"}"'
    parts = [f'<rect x="{x:g}" y="{y:g}" width="{wide:g}" height="{high:g}" rx="5" {fill}/>']
    if hashed:
        mark = f'fill="{paint.ink}"' if paint else 'class="mark"'
        parts.append(f'<path d="M{x + wide - 9:g} {y + 2.5:g}h6.5v6.5z" {mark}/>')
    ink = f' style="fill:{paint.ink}"' if paint else ""
    look = f'x="{x + wide / 2:g}" y="{y + high / 2 + 4:g}" text-anchor="middle"'
    parts.append(f'<text {look} class="{"id" if paint else "id ink"}"{ink}>{safe(text)}</text>')
    if ring:
        parts.append(f'<rect x="{x - 2.5:g}" y="{y - 2.5:g}" width="{wide + 5:g}" height="{high + 5:g}" rx="7" class="ring"/>')
    return "".join(parts)


def sheet(light: Mapping[str, str], dark: Mapping[str, str], rules: str) -> str:
    """A style sheet: ``$name`` in the rules is that colour of a light page, or of a dark one where the reader has one."""

    def filled(colours: Mapping[str, str]) -> str:
        css = rules
        for name in sorted(colours, key=len, reverse=True):
            css = css.replace(f"${name}", colours[name])
        return css

    return f"<style>{filled(light)}@media(prefers-color-scheme:dark){{{filled(dark)}}}</style>"


def image(wide: int, high: int, alt: str, *parts: str) -> str:
    """An ``<img>`` of these parts, as wide as there is room; ``alt`` tells it in a sentence."""
    drawing = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}">'
    data = b64encode(f"{drawing}{''.join(parts)}</svg>".encode()).decode()
    style = f"width:100%;max-width:{wide}px;height:auto"
    return f'<img alt="{safe(alt)}" src="data:image/svg+xml;base64,{data}" style="{style}">'
