"""The timelines as small SVG images, for pages without scripts: on their own paper, and told in grey print too.

Must not know: plotly, the live pool.
"""

from kvnb.views.figures.static.blocks import blocks_svg
from kvnb.views.figures.static.prefill import prefill_svg
from kvnb.views.figures.static.queue import queue_svg
from kvnb.views.figures.static.usage import usage_svg

__all__ = ["blocks_svg", "prefill_svg", "queue_svg", "usage_svg"]
