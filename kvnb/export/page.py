"""One HTML file that needs nothing else: style, figures with plotly once, a policy that lets nothing else run or load.

Must not know: what the page says. Its parts arrive as HTML that is safe already.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kvnb.errors import printable
from kvnb.export.files import PAGE_MARK
from kvnb.version import __version__
from kvnb.views.figures.timeline import CONFIG

HERE = Path(__file__).resolve().parent


class Figures:
    """The plotly figures of a page, in their order."""

    def __init__(self) -> None:
        self.drawn: list[dict[str, Any]] = []

    def place(self, figure: Any, still: str) -> str:
        """Where the figure is drawn, with its still form ``still``, which is safe HTML; without plotly, that alone."""
        if not isinstance(figure, Mapping) or not isinstance(figure.get("data"), Sequence) or find_spec("plotly") is None:
            return still
        layout = figure.get("layout") if isinstance(figure.get("layout"), Mapping) else {}
        self.drawn.append({"data": figure["data"], "layout": _offline(layout), "config": {**CONFIG, "responsive": True}})
        plot = f'<div class="kv-plot" data-figure="{len(self.drawn) - 1}"></div>'
        return f'<div class="kv-figure">{plot}<div class="kv-still">{still}</div></div>'


def _offline(layout: Any) -> dict[str, Any]:
    """A layout without images from elsewhere; of what else plotly would fetch, the page's policy lets nothing through."""
    kept = dict(layout)
    images = kept.pop("images", None)
    if isinstance(images, Sequence):
        local = [image for image in images if isinstance(image, Mapping) and str(image.get("source", "")).startswith("data:")]
        kept |= {"images": local} if local else {}
    return kept


def in_script(text: str) -> str:
    """JSON for a script element: nothing in it can end the element."""
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def page(title: str, head: str, body: str, figures: Figures, record: str) -> str:
    """The file. ``head`` and ``body`` are safe HTML, ``record`` the element with what is verified."""
    scripts = [_plotly(), _asset("page.js")] if figures.drawn else []
    drawn = in_script(json.dumps(figures.drawn, sort_keys=True, separators=(",", ":"))) if figures.drawn else ""
    data = f'<script type="application/json" id="kv-figures">{drawn}</script>\n' if drawn else ""
    return "".join([
        PAGE_MARK,
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n',
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(scripts)}">\n',
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
        f'<meta name="referrer" content="no-referrer">\n<meta name="generator" content="kvnb {__version__}">\n',
        f"<title>{escape(printable(title))}</title>\n<style>\n{_asset('page.css')}</style>\n</head>\n",
        f'<body>\n<div class="kv-page">\n<header class="kv-head">\n{head}\n</header>\n<main>\n{body}\n</main>\n</div>\n',
        data, record, "\n", *(f"<script>{script}</script>\n" for script in scripts),
        "</body>\n</html>\n",
    ])  # fmt: skip


def _policy(scripts: Sequence[str]) -> str:
    """Nothing but these scripts runs, and nothing is fetched from anywhere."""
    sources = " ".join(f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts) or "'none'"
    return (
        f"default-src 'none'; script-src {sources}; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


@lru_cache
def _asset(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


@lru_cache
def _plotly() -> str:
    from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]

    # In a script element these would begin or end something; inside a string, where alone they stand, this is the same.
    script: str = get_plotlyjs()
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")
