"""What a page does with the news that it gets, in Python."""

from __future__ import annotations

from kvnb.views.canvas.frames import Seen, decode
from kvnb.views.dashboard.feed import News


class Page:
    """Adds frames up as kvnb/views/canvas/js/store.js does."""

    def __init__(self, news: News) -> None:
        self.seq = -1
        self.blocks: dict[int, Seen] = {}
        self.queue = b""
        self.take(news)

    def take(self, news: News) -> None:
        """Lay a frame over what is there; a frame of some blocks must follow the one before."""
        frame = decode(news.blocks)
        if len(frame.blocks) == frame.num_blocks:
            self.blocks = {}
        else:
            assert frame.seq == self.seq + 1, "a page that missed one would have to ask for every block"
        assert frame.seq == news.facts["seq"]
        self.blocks |= frame.blocks
        self.seq, self.queue = frame.seq, news.queue
