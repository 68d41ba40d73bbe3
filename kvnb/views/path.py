"""The path of a step through vLLM's functions: which arrows of the seed's diagram it took, in which order, with which blocks.

Must not know: how the diagram is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from kvnb.core.events import Back, Cleared, Dropped, Front, Hashed, Hit, Took, Unhashed
from kvnb.journal import State, Step
from kvnb.journal.events import Event, Restored
from kvnb.manager.events import Nulled
from kvnb.views.ranges import ranges
from kvnb.views.text import sentence

Arrow = Literal["touch", "get_new_blocks", "evict", "cache_full_blocks", "free_blocks", "kept", "back", "front"]


class Leg(NamedTuple):
    """One arrow that a step took.

    ids
        The blocks that went along; all that were in the map where it was emptied at once.
    says
        What happened to them, in words.
    """

    arrow: Arrow
    ids: tuple[int, ...]
    says: str


_ARROWS: dict[type[Event], Arrow] = {
    Hit: "touch", Took: "get_new_blocks", Unhashed: "evict", Cleared: "evict", Hashed: "cache_full_blocks",
    Dropped: "free_blocks", Back: "back", Front: "front",
}  # fmt: skip


def legs(step: Step | None, state: State) -> list[Leg]:
    """The path of a step, each arrow once, in the order of its first use; ``state`` is the one after it."""
    return [Leg(arrow, ids, _WORDS[arrow](step, state, ids)) for arrow, ids in _moved(step).items()] if step else []


def _moved(step: Step) -> dict[Arrow, tuple[int, ...]]:
    found: dict[Arrow, dict[int, None]] = {}
    for event in step.events:
        arrow, ids = _ARROWS.get(type(event)), getattr(event, "ids", ())
        if arrow and (ids or isinstance(event, Cleared)):
            found.setdefault(arrow, {}).update(dict.fromkeys(ids))
    freed = {**found.get("back", {}), **found.get("front", {})}
    kept = [block_id for block_id in found.get("free_blocks", ()) if block_id not in freed]
    if kept:
        found["kept"] = dict.fromkeys(kept)
    return {arrow: tuple(ids) for arrow, ids in found.items()}


def _touch(step: Step, state: State, ids: Sequence[int]) -> str:
    # With one owner after the hit it had none before: it lay in the free queue.
    plucked = [block_id for block_id in ids if state.ref_cnt[block_id] == 1] if not step.of(Dropped) else []
    return "cache hit, ref_cnt + 1" + (f"; plucked from the free queue: {ranges(plucked)}" if plucked else "")


def _evict(step: Step, state: State, ids: Sequence[int]) -> str:
    if step.of(Cleared):
        return "every hash is dropped, no block moves"
    why = {event.why for event in step.of(Unhashed)}
    hashes = "its hash is" if len(ids) == 1 else "their hashes are"
    if "reuse" in why:
        return f"{hashes} dropped, now that a new owner needs the space"
    return f"{hashes} dropped" + (", nobody computed what should be in there" if "uncomputed" in why else " on command")


def _free(step: Step, state: State, ids: Sequence[int]) -> str:
    left = step.of(Nulled) and step.command.verb not in ("release", "preempt") and not step.command.args.get("fail")
    return "left the window, ref_cnt - 1" if left else "ref_cnt - 1"


def _back(step: Step, state: State, ids: Sequence[int]) -> str:
    hashed = all(state.keys[block_id] is not None for block_id in ids)
    return "ref_cnt == 0, has a hash: to the BACK, kept as cache" if hashed else "ref_cnt == 0: to the BACK, reused last"


_WORDS: dict[Arrow, Callable[[Step, State, Sequence[int]], str]] = {
    "touch": _touch,
    "get_new_blocks": lambda step, state, ids: "popped from the FRONT of the free queue",
    "evict": _evict,
    "cache_full_blocks": lambda step, state, ids: "full: " + ("it enters" if len(ids) == 1 else "they enter") + " the map",
    "free_blocks": _free,
    "kept": lambda step, state, ids: "ref_cnt still above 0: in use by others",
    "back": _back,
    "front": lambda step, state, ids: "ref_cnt == 0, no hash: to the FRONT, reused at once",
}


def path_lines(step: Step | None, state: State) -> list[str]:
    """The path in words, a line an arrow; where no block moved, one line that says so."""
    lines = [f"{FUNCTIONS[leg.arrow]}{_ids(leg.ids)}: {leg.says}" for leg in legs(step, state)]
    if lines or step is None:
        return lines or ["no step yet: every block but block 0 is in the free queue"]
    if step.of(Restored):
        return ["no arrow is taken: undo puts every block back to where it was"]
    return ["no block moves"]


FUNCTIONS: dict[Arrow, str] = {
    "touch": "touch()", "get_new_blocks": "get_new_blocks()", "evict": "evict", "cache_full_blocks": "cache_full_blocks()",
    "free_blocks": "free_blocks()", "kept": "stays", "back": "append", "front": "prepend",
}  # fmt: skip


def _ids(ids: Sequence[int]) -> str:
    return f" {ranges(ids, most=12)}" if ids else ""


def title(step: Step | None) -> str:
    """The step in one sentence."""
    return sentence(step) if step else "the new pool"
