"""A page as a PDF, through a headless Chromium.

Must not know: what the page shows.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from kvnb.errors import JournalError, MissingPackage
from kvnb.export.files import PDF_MARK

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
TIMEOUT = 180
"""Seconds."""


def printed(page: bytes) -> bytes:
    """The PDF of an HTML page; its bytes have the time in them. Raises MissingPackage without a browser, JournalError."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise MissingPackage("a PDF needs Chromium or Chrome, and there is none: install one, or print the HTML report")
    with tempfile.TemporaryDirectory(prefix="kvnb-") as folder:
        source, target = Path(folder, "report.html"), Path(folder, "report.pdf")
        source.write_bytes(page)
        command = [
            browser, "--headless", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync",
            "--no-pdf-header-footer", f"--user-data-dir={folder}/profile", f"--print-to-pdf={target}", source.as_uri(),
        ]  # fmt: skip
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            command.insert(1, "--no-sandbox")  # as root it does not start otherwise; the page's own policy lets nothing run
        try:
            done = subprocess.run(command, capture_output=True, timeout=TIMEOUT, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise JournalError(f"{browser} could not print the report ({type(error).__name__}): print the HTML report") from error
        if done.returncode or not target.is_file():
            raise JournalError(f"{browser} could not print the report (exit {done.returncode}): print the HTML report")
        return target.read_bytes() + PDF_MARK
