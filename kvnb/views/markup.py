"""HTML in the form that JupyterLab keeps when it does not trust a notebook: few tags, inline styles, no attribute else.

Must not know: blocks, requests, steps.

Lab's sanitizer drops <style>, <svg>, classes' rules, var(), ``aria-*`` and ``data-*``; text keeps the notebook's own colour
and font, so that light and dark both work, and quiet text is that colour thinned.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from kvnb.errors import printable
from kvnb.views.theme import LINE, Paint

QUIET = "opacity:.72"
SMALL = "font-size:11px"
MINUS, TIMES, TO = "\N{MINUS SIGN}", "\N{MULTIPLICATION SIGN}", "\N{EN DASH}"


def safe(text: str) -> str:
    """Text of a user's, for inside an element: control characters as escapes, markup as entities."""
    return escape(printable(text))


def element(tag: str, style: str, *content: str) -> str:
    """``<tag style="...">content</tag>``; the content is markup already."""
    return f'<{tag} style="{style}">{"".join(content)}</{tag}>' if style else f"<{tag}>{''.join(content)}</{tag}>"


def div(style: str, *content: str) -> str:
    """A block of markup."""
    return element("div", style, *content)


def span(style: str, *content: str) -> str:
    """A piece of a line."""
    return element("span", style, *content)


def card(*parts: str) -> str:
    """A whole picture. Tabular figures are for where they survive; the default fonts have them anyway."""
    return div("max-width:900px;font-size:13px;line-height:1.4;font-variant-numeric:tabular-nums;padding:2px 0 4px 0", *parts)


def quiet(*content: str) -> str:
    """A piece of a line that can be read last."""
    return span(QUIET, *content)


def foot(*parts: str) -> str:
    """The one quiet line below a picture; parts are plain text."""
    return div(f"margin-top:10px;font-size:12px;{QUIET}", " · ".join(safe(part) for part in parts if part))


def chip(text: str, paint: Paint) -> str:
    """A name in its colour."""
    style = f"display:inline-block;border-radius:4px;padding:0 6px;background:{paint.fill};color:{paint.ink}"
    return element("b", style, safe(text))


def row(label: str, below: str, *content: str) -> str:
    """A line of a picture: at the left what it is, in two lines of markup, then the thing itself."""
    left = f"<b>{label}</b>" + (f"<br>{span(f'{SMALL};{QUIET}', below)}" if below else "")
    style = "flex:0 0 108px;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;font-size:12px;line-height:15px"
    return div("display:flex;margin-top:10px", div(style, left), " ", *content)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of markup, read from the left."""
    cell, line = "text-align:left;padding:3px 18px 3px 0", f"border-bottom:1px solid {LINE}"
    head = "".join(element("th", f"{cell};font-size:11px", safe(name)) for name in heads)
    body = "".join(element("tr", line, *(element("td", cell, value) for value in values)) for values in rows)
    return element(
        "table",
        "margin:0;border-collapse:collapse;font-size:13px",
        f"<thead>{element('tr', line, head)}</thead><tbody>{body}</tbody>",
    )
