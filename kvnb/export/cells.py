"""The cells of a notebook as HTML: text, code in colours, outputs in their still form, figures to be drawn.

Must not know: the page round them. Everything that a notebook's author, or a user of the pool, wrote is cleaned here.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from html import escape
from typing import Any

from kvnb.errors import MissingPackage
from kvnb.export.clean import Images, clean, no_images
from kvnb.export.page import Figures
from kvnb.journal import records
from kvnb.views.figures.timeline import MIME as PLOTLY

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_TITLE = re.compile(r"\s*# +(.+?)\s*#*\s*(?:\n|\Z)")
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*\Z")


def text_of(value: Any) -> str:
    """A text of a notebook, which may be written as a list of lines."""
    return "".join(map(str, value)) if isinstance(value, list) else str(value)


def title_of(notebook: Mapping[str, Any]) -> str:
    """The heading that the first cell begins with; "" when it begins otherwise."""
    first = next(iter(notebook["cells"]), None)
    found = _TITLE.match(text_of(first["source"])) if first is not None and first["cell_type"] == "markdown" else None
    return found.group(1) if found else ""


class Cells:
    """Draws the cells of one notebook.

    images
        What gives the images that texts name, and that stand beside the notebook.
    Raises MissingPackage without nbconvert, whose readers of Markdown and of ANSI colours these are.
    """

    def __init__(self, notebook: Mapping[str, Any], figures: Figures, images: Images = no_images) -> None:
        self._notebook = notebook
        self._figures = figures
        self._images = images
        self._filters = _Filters(notebook)

    def html(self) -> str:
        """All of them."""
        return "\n".join(self._cell(place, cell) for place, cell in enumerate(self._notebook["cells"], 1))

    def _cell(self, place: int, cell: Mapping[str, Any]) -> str:
        draw = {"markdown": self._text, "code": self._code}.get(cell["cell_type"], self._raw)
        failed = any(output.get("output_type") == "error" for output in cell.get("outputs", ()))
        kind = " kv-failed" if failed else ""
        return f'<section class="kv-cell{kind}" id="kv-cell-{place}">{draw(place, cell)}</section>'

    def _text(self, place: int, cell: Mapping[str, Any]) -> str:
        source = text_of(cell["source"])
        if place == 1 and title_of(self._notebook):
            source = _TITLE.sub("", source, count=1)
        return f'<div class="kv-text">{clean(self._filters.markdown(source, _attached(cell)), self._images)}</div>'

    def _raw(self, place: int, cell: Mapping[str, Any]) -> str:
        return f'<div class="kv-text"><pre>{_plain(text_of(cell["source"]))}</pre></div>'

    def _code(self, place: int, cell: Mapping[str, Any]) -> str:
        number = cell.get("execution_count")
        count = f'<span class="kv-count">[{number if isinstance(number, int) else " "}]</span>'
        source = f'<div class="kv-source">{count}{self._filters.code(text_of(cell["source"]))}</div>'
        outputs = "".join(self._outputs(cell))
        tags, jupyter = _tags(cell), cell.get("metadata", {}).get("jupyter", {})
        if "remove-input" in tags or not text_of(cell["source"]).strip():
            source = ""
        elif "hide-input" in tags or (isinstance(jupyter, Mapping) and jupyter.get("source_hidden")):
            source = f'<details class="kv-hidden"><summary>code</summary>{source}</details>'
        return source + ("" if "remove-output" in tags else outputs)

    def _outputs(self, cell: Mapping[str, Any]) -> Iterator[str]:
        for output in cell.get("outputs", ()):
            drawn = self._output(output)
            if drawn:
                yield f'<div class="kv-output">{drawn}</div>'

    def _output(self, output: Mapping[str, Any]) -> str:
        kind = output.get("output_type")
        if kind == "stream":
            name = " kv-stderr" if output.get("name") == "stderr" else ""
            return f'<pre class="kv-stream{name}">{self._filters.ansi(text_of(output.get("text", "")))}</pre>'
        if kind == "error":
            lines = output.get("traceback") or [f"{output.get('ename')}: {output.get('evalue')}"]
            return f'<pre class="kv-error">{self._filters.ansi(chr(10).join(map(str, lines)))}</pre>'
        data = output.get("data")
        return self._data(data) if isinstance(data, Mapping) else ""

    def _data(self, data: Mapping[str, Any]) -> str:
        if PLOTLY in data:
            still = {kind: value for kind, value in data.items() if kind != PLOTLY}
            return self._figures.place(data[PLOTLY], self._still(still))
        return self._still(data)

    def _still(self, data: Mapping[str, Any]) -> str:
        if text_of(data.get("text/html", "")).strip():
            return clean(text_of(data["text/html"]), self._images)
        if "text/markdown" in data:
            return f'<div class="kv-text">{clean(self._filters.markdown(text_of(data["text/markdown"])), self._images)}</div>'
        if "image/svg+xml" in data:
            return _image("image/svg+xml", b64encode(text_of(data["image/svg+xml"]).encode("utf-8", "replace")).decode())
        for kind in _IMAGES:
            if kind in data and _BASE64.match(text_of(data[kind])):
                return _image(kind, text_of(data[kind]))
        for kind in ("text/latex", "text/plain"):
            if kind in data and "text/html" not in data:
                return f"<pre>{self._filters.ansi(text_of(data[kind]))}</pre>"
        return "" if records.MIME in data or not data else _unshown(data)


def _unshown(data: Mapping[str, Any]) -> str:
    kinds = ", ".join(str(kind) for kind in data if kind != "text/html")
    return f'<p class="kv-note">An output that only a running notebook shows ({_plain(kinds[:80])}).</p>' if kinds else ""


def _tags(cell: Mapping[str, Any]) -> list[Any]:
    tags = cell.get("metadata", {}).get("tags", [])
    return tags if isinstance(tags, list) else []


def _image(kind: str, data: str) -> str:
    return f'<img alt="" src="data:{kind};base64,{escape("".join(data.split()))}">'


def _attached(cell: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """The images that a cell has in itself, by name."""
    found: dict[str, dict[str, str]] = {}
    attachments = cell.get("attachments")
    for name, bundle in attachments.items() if isinstance(attachments, Mapping) else ():
        for kind, data in bundle.items() if isinstance(bundle, Mapping) else ():
            if kind in _IMAGES:
                found.setdefault(name, {})[kind] = "".join(text_of(data).split())
    return found


def _plain(text: str) -> str:
    return escape(_CONTROL.sub("\ufffd", text))


class _Filters:
    """nbconvert's readers: Markdown, code, ANSI colours."""

    def __init__(self, notebook: Mapping[str, Any]) -> None:
        try:
            from nbconvert.filters.ansi import ansi2html
            from nbconvert.filters.highlight import Highlight2HTML
            from nbconvert.filters.markdown_mistune import InvalidNotebook, IPythonRenderer, MarkdownWithMath
        except ImportError as error:
            raise MissingPackage.named("nbconvert", "a report of a notebook") from error
        self._refused = InvalidNotebook
        language = notebook.get("metadata", {}).get("language_info", {})
        is_python = not isinstance(language, Mapping) or language.get("name", "python") == "python"
        self._ansi: Any = ansi2html
        maker: Any = Highlight2HTML
        self.code: Callable[[str], str] = maker(pygments_lexer="ipython3" if is_python else "text")
        self._renderer: Any = IPythonRenderer
        self._reader: Any = MarkdownWithMath

    def markdown(self, source: str, attached: dict[str, dict[str, str]] | None = None) -> str:
        """Markdown as HTML, which may still have anything in it."""
        renderer = self._renderer(escape=False, anchor_link_text="", attachments=attached or {})
        try:
            return str(self._reader(renderer=renderer).render(source))
        except self._refused:  # it names an attachment that is not there
            return f"<pre>{escape(source)}</pre>"

    def ansi(self, text: str) -> str:
        """Text with colours for a terminal, as safe HTML."""
        return _CONTROL.sub("", str(self._ansi(text)))
