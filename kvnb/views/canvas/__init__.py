"""The block map and the free-queue strip on a canvas, and their static forms.

Must not know: the live pool, the verbs that show them.

``blocks_shown`` and ``queue_shown`` are for an output: static HTML that a live front end draws over. ``BlockMap`` and
``QueueStrip``, in ``widgets``, are the same canvases as widgets, for a dashboard; only these need anywidget.
"""

from kvnb.views.canvas.shown import CanvasShown, blocks_shown, close_all, queue_shown

__all__ = ["CanvasShown", "blocks_shown", "close_all", "queue_shown"]
