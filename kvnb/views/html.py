"""Every picture by its name: static HTML that survives a notebook which is reopened, not trusted, printed.

Must not know: how any of them is drawn.
"""

from kvnb.views.cards import state_html, step_html
from kvnb.views.looks import (
    block_html,
    check_html,
    pools_html,
    request_html,
    text_html,
    usage_html,
)

__all__ = [
    "block_html",
    "check_html",
    "pools_html",
    "request_html",
    "state_html",
    "step_html",
    "text_html",
    "usage_html",
]
