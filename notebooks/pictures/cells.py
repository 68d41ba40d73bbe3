"""Make the picture of README's tour again, from README's lines: ``python notebooks/pictures/cells.py``.

Needs the extra ``test`` and Chromium. JupyterLab runs the lines, a cell each, and the last two that admit a request are taken,
in a light theme and in a dark one. ``made.json`` says from which lines, and the SHA-256 of each file; a test holds the files
to it.
"""

from __future__ import annotations

import json
import sys
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RECORD = HERE / "made.json"
THEMES = ("light", "dark")
SCALE, WIDE, HIGH = 2, 880, 2600
STYLE = """
  .jp-cell-toolbar, .jp-Toolbar, .jp-Collapser { visibility: hidden; }
  .jp-Notebook { padding: 0 !important; }
  .jp-Cell.jp-mod-active, .jp-Cell.jp-mod-selected { background: none !important; }
  * { caret-color: transparent !important; }
"""
EDGE = 8


def lines() -> list[str]:
    """The commands of README's tour, without what is said behind them."""
    readme = (ROOT / "README.md").read_text("utf-8")
    block = readme.split("\n## A tour in ten lines\n")[1].split("```text\n")[1].split("```")[0]
    return [line.split("  ")[0] for line in block.splitlines()]


def shown(commands: list[str]) -> list[int]:
    """Which of them are in the picture."""
    return [place for place, command in enumerate(commands) if command.startswith("%kvpool admit ")][-2:]


def main() -> None:
    """Make both and the record."""
    commands = lines()
    made = {f"tour-{theme}.png": data for theme, data in taken(commands).items()}
    record = json.loads(RECORD.read_text("utf-8"))
    record["tour"] = commands
    for name, data in made.items():
        (HERE / name).write_bytes(data)
        record["files"][name] = sha256(data).hexdigest()
        print(f"{name}: {len(data) / 1e6:.2f} MB")
    RECORD.write_text(json.dumps(record, indent=1) + "\n", "utf-8")


def taken(commands: list[str]) -> dict[str, bytes]:
    """The cells as PNG, a theme each."""
    tests = ROOT / "tests"
    sys.path[:0] = [str(ROOT), str(tests), str(tests / "browser")]
    from jupyter_pages import NotebookPage, Server, chromium, code
    from playwright.sync_api import sync_playwright

    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = Server(Path(folder))
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        try:
            page = browser.new_page(viewport={"width": WIDE, "height": HIGH}, device_scale_factor=SCALE)
            page.set_default_timeout(120_000)
            server.write("tour.ipynb", code(*commands))
            notebook = NotebookPage(page, server)
            notebook.open("tour.ipynb")
            page.evaluate("() => { const { shell } = window.jupyterapp; shell.collapseLeft(); shell.collapseRight(); }")
            notebook.run(*range(len(commands)))
            pictures = {}
            for theme in THEMES:
                notebook.command("apputils:change-theme", theme=f"JupyterLab {theme.title()}")
                page.add_style_tag(content=STYLE)
                page.wait_for_timeout(1500)
                first, last = (notebook.cell(place).bounding_box() for place in shown(commands))
                high = last["y"] + last["height"] - first["y"] + EDGE
                clip = {"x": first["x"], "y": first["y"] - EDGE, "width": first["width"], "height": high}
                pictures[theme] = bytes(page.screenshot(clip={side: round(length) for side, length in clip.items()}))
            return pictures
        finally:
            browser.close()
            server.close()


if __name__ == "__main__":
    main()
