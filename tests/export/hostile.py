"""What somebody could put into names, prompts, cells and outputs to make a page do what it should not."""

from __future__ import annotations

from typing import Any

from kvnb import Lab
from kvnb.journal import records
from kvnb.journal.journal import Cell

RAN = "window.kvnbRan=(window.kvnbRan||0)+1"
FAR = "http://127.0.0.1:9/far"
MARKUP = (
    f"<script>{RAN}</script>", f"<img src=x onerror='{RAN}'>", f"<svg onload='{RAN}'><script>{RAN}</script></svg>",
    f"<img src='{FAR}.png'>", f"<iframe src='{FAR}'></iframe>", f"<iframe srcdoc='<script>parent.{RAN}</script>'></iframe>",
    f"<a id=link href='java\tscript:{RAN}'>link</a>", f"<a href='&#106;avascript:{RAN}'>link</a>",
    f"<form action='{FAR}'><button id=sends formaction='javascript:{RAN}'>x</button></form>",
    f"<details open ontoggle='{RAN}'>x</details>", f"<input autofocus onfocus='{RAN}'>", f"<object data='{FAR}'></object>",
    f"<meta http-equiv=refresh content='0;url={FAR}'>", f"<base href='{FAR}/'>", f"<link rel=stylesheet href='{FAR}.css'>",
    f"<style>@import url({FAR}.css); body {{ background: url({FAR}.png) }}</style>",
    f"<div style='position:fixed;inset:0;background:url({FAR}.png)'>cover</div>",
    f"<video src='{FAR}.mp4' onerror='{RAN}'></video>",
    "</script><!--<script>", "--></style></title></textarea>", "]]>", "</div></div></section></main></body></html>",
    f"<math><mtext><table><mglyph><style><img src=x onerror='{RAN}'></style></mglyph></table></mtext></math>",
    f"<noscript><p title=\"</noscript><img src=x onerror='{RAN}'>\"></noscript>", "\x1b[31mred\x1b]8;;javascript:1\x07x\x1b[0m",
    "<script type='application/json' id='kvnb-record'>{}</script>", "<script id=kv-figures type=application/json>[]</script>",
    f"<template><script>{RAN}</script></template>", f"<x onclick='{RAN}' tabindex=1 onfocus='{RAN}' autofocus>",
    "../../../../etc/passwd",
)  # fmt: skip
EVERYTHING = "\n".join(MARKUP)


def hostile_lab() -> Lab:
    """A pool whose name, requests, prompts, salts and adapters are all of that."""
    lab = Lab(2000, block_size=4, name=EVERYTHING, device="none")
    for number, text in enumerate(MARKUP):
        lab.admit(
            f"{text}{number}",
            text + "{x} $y %kvpool '''",
            salt=text.replace("\x00", ""),
            lora=("a" + text.replace("=", ""), text),
        )
    lab.append(f"{MARKUP[0]}0", EVERYTHING)
    lab.undo()
    lab.release(f"{MARKUP[1]}1")
    return lab


def hostile_notebook() -> dict[str, Any]:
    """A notebook that has it in texts, sources, every kind of output, tags, names, a figure; with a record that holds."""
    lab = hostile_lab()
    source = f'"""{EVERYTHING}"""'
    record = records.record(lab.journal, f"{lab.name}#1", 0, True, Cell(1, records.source_hash(source), None))
    text = [line + "\n" for line in EVERYTHING.split("\n")]
    outputs: list[dict[str, Any]] = [
        {"output_type": "display_data", "metadata": {}, "data": {records.MIME: record, "text/html": ""}},
        {"output_type": "stream", "name": "<b>", "text": text},
        {"output_type": "error", "ename": MARKUP[0], "evalue": MARKUP[1], "traceback": text},
        *({"output_type": "display_data", "metadata": {}, "data": data} for data in _bundles()),
    ]
    code = {
        "cell_type": "code", "id": '"><script>1</script>', "execution_count": 1, "source": source, "outputs": outputs,
        "metadata": {"tags": ['"><b>', EVERYTHING]},
    }  # fmt: skip
    attached = {"x.png": {"image/png": f'"><script>{RAN}</script>'}}
    words = {"cell_type": "markdown", "id": "w", "metadata": {}, "source": f"# {MARKUP[0]} {MARKUP[1]}\n\n{_markdown()}"}
    raw = {"cell_type": "raw", "id": "r", "metadata": {"raw_mimetype": "text/html"}, "source": EVERYTHING}
    language = {"name": "python", "version": MARKUP[0], "pygments_lexer": MARKUP[1]}
    return {
        "nbformat": 4, "nbformat_minor": 5, "metadata": {"language_info": language, "title": MARKUP[0]},
        "cells": [words, {**words, "id": "a", "attachments": attached, "source": "![a](attachment:x.png)"}, code, raw],
    }  # fmt: skip


def _markdown() -> str:
    links = "\n\n".join((
        f"[link](javascript:{RAN.replace(' ', '')})", f"![image]({FAR}.png)", f"![passwd](../../../../etc/passwd '{MARKUP[0]}')",
        "<javascript:1>", "![a](attachment:none.png)", f"```mermaid\n{EVERYTHING}\n```", f"```{MARKUP[0]}\nx\n```",
        "$\\href{javascript:1}{x}$",
    ))  # fmt: skip
    return f"{links}\n\n" + "\n\n".join(MARKUP)


def _bundles() -> list[dict[str, Any]]:
    figure = {
        "data": [{"type": "scatter", "y": [1, 2], "text": list(MARKUP[:2]), "mode": "markers+text", "name": MARKUP[0]}],
        "layout": {
            "title": {"text": f"<a href='javascript:{RAN}'>title</a>{EVERYTHING}"},
            "images": [{"source": f"{FAR}.png", "sizex": 1, "sizey": 1}],
            "annotations": [{"text": f"<a href='{FAR}'>{MARKUP[1]}</a>", "x": 1, "y": 1}],
        },
        "config": {"plotlyServerURL": FAR, "displaylogo": True},
    }  # fmt: skip
    return [
        {"text/html": EVERYTHING, "text/plain": EVERYTHING},
        *({"text/html": text} for text in MARKUP),
        {"text/markdown": _markdown()},
        {"image/svg+xml": f"<svg xmlns='http://www.w3.org/2000/svg' onload='{RAN}'>{MARKUP[0]}<image href='{FAR}.png'/></svg>"},
        {"image/png": f"'><script>{RAN}</script>"},
        {"text/latex": EVERYTHING},
        {"application/javascript": RAN, "text/plain": "a script"},
        {"application/vnd.jupyter.widget-view+json": {"model_id": MARKUP[0]}},
        {"application/vnd.plotly.v1+json": figure, "text/html": f"<p>still</p>{EVERYTHING}"},
    ]
