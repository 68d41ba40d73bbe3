"""A thing that shows itself: text for a terminal, HTML for a notebook, and the object behind it.

Must not know: how the two forms are made (``text`` and ``html`` do), nor the live pool.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kvnb.journal import Journal, State
from kvnb.journal.contents import contents
from kvnb.views import contents as slots
from kvnb.views import diagram, diffs, generated, html, memory, page, proofs, request_tables, text, trees
from kvnb.views.compare import compare
from kvnb.views.contents import Contents

if TYPE_CHECKING:
    from kvnb.lab import Lab
    from kvnb.results import Generated, StepResult
    from kvnb.tensors.prove import Proof


class Shown:
    """Text and HTML of one look at a pool; ``value`` is what was looked at, ``journal`` the pool's whose tiles it has."""

    journal: Journal | None = None

    def __init__(self, plain: str, markup: str, value: Any = None, journal: Journal | None = None) -> None:
        self.journal = journal
        self.text = plain
        self.html = markup
        self.value = value

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": self.text, "text/html": page.in_pool(self.html, self.journal)}

    def __repr__(self) -> str:
        return self.text


def step_shown(result: StepResult) -> Shown:
    """A finished step, with the state after it."""
    journal, state = result.lab.journal, result.state
    return Shown(text.step_text(result.step, state), html.step_html(journal, result.step, state), result, journal)


def generated_shown(result: Generated) -> Shown:
    """Tokens that the model made, with the state after the last."""
    journal, state = result.lab.journal, result.state
    plain = generated.generated_text(result.steps, result.text, state)
    return Shown(plain, generated.generated_html(journal, result.steps, result.text, state), result, journal)


def proof_shown(lab: Lab, proof: Proof) -> Shown:
    """A request computed again without a cache."""
    tokenizer = lab.behaviour.tokenizer
    return Shown(proofs.proof_text(proof, tokenizer), proofs.proof_html(lab.journal, proof, tokenizer), proof, lab.journal)


def block_shown(lab: Lab, block_id: int) -> Shown:
    """One block and what is in its slots. Raises UnknownName when there is none of that id."""
    says = text.block_text(lab.state, block_id)
    if block_id == 0:
        return Shown(says, html.block_html(lab.state, block_id), lab.pool.blocks[block_id])
    block = _contents(lab, [block_id])[block_id]
    plain = "\n".join([says, *slots.block_lines(block, lab.behaviour.tokenizer)])
    return Shown(plain, memory.slots_html(lab.journal, lab.state, block_id, block), lab.pool.blocks[block_id])


def blocks_shown(lab: Lab) -> Shown:
    """Every block; in a live notebook on a canvas."""
    from kvnb.views.canvas import shown as canvas

    return canvas.blocks_shown(lab.journal, lab.state, len(lab.journal))


def queue_shown(lab: Lab) -> Shown:
    """The free queue, front to back; in a live notebook on a canvas."""
    from kvnb.views.canvas import shown as canvas

    shown = canvas.queue_shown(lab.journal, lab.state, len(lab.journal))
    shown.value = lab.free_queue
    return shown


def tables_shown(lab: Lab) -> Shown:
    """The requests, those that share blocks together."""
    tables = {request: lab.block_table(request) for request in lab.requests}
    journal, state = lab.journal, lab.state
    return Shown(request_tables.requests_text(journal, state), request_tables.requests_html(journal, state), tables)


def map_shown(lab: Lab) -> Shown:
    """The prefix cache as the tree of its prefixes."""
    copies = {key: tuple(ids) for key, ids in lab.state.copies.items()}
    return Shown(trees.tree_text(lab.journal, lab.state), trees.tree_html(lab.journal, lab.state), copies)


def diagram_shown(lab: Lab) -> Shown:
    """The pool's parts, and the way of the last step through them."""
    journal, state = lab.journal, lab.state
    last = journal.steps[-1] if journal.steps else None
    return Shown(diagram.diagram_text(journal, last, state), diagram.diagram_html(journal, last, state), last)


def diff_shown(lab: Lab, a: int, b: int) -> Shown:
    """What changed between two steps. Raises UnknownName for a step that is not there."""
    found = compare(lab.journal.state_at(a), lab.journal.state_at(b))
    return Shown(diffs.diff_text(lab.journal, a, b), diffs.diff_html(lab.journal, a, b), found, lab.journal)


def timeline_shown(lab: Lab, which: str, **options: Any) -> Shown:
    """The history as a figure, an image and text; see ``kvnb.views.figures``."""
    from kvnb.views.figures import timeline

    return timeline.timeline_shown(lab.journal, which, **options)


def contents_shown(lab: Lab) -> Shown:
    """What is in the slots of every block; of a large pool the first ones."""
    blocks = _contents(lab, range(1, min(lab.behaviour.num_blocks, slots.MANY + 1)))
    more = lab.behaviour.num_blocks - 1 - len(blocks)
    left_out = f"\n  ... {more:,} more blocks: show block ID" if more else ""
    plain = slots.map_text(blocks) + left_out
    return Shown(plain, memory.map_html(lab.journal, lab.state, blocks) + html.text_html(left_out.strip()), blocks)


def _contents(lab: Lab, ids: Iterable[int]) -> dict[int, Contents]:
    worker = lab.worker
    found = contents(lab.journal, ids)
    return {block_id: Contents(slots, worker.store.k_norms(block_id) if worker else None) for block_id, slots in found.items()}


def state_shown(lab: Lab) -> Shown:
    """The pool as it is now."""
    return at_shown(lab.journal, lab.state, len(lab.journal))


def at_shown(journal: Journal, state: State, step: int) -> Shown:
    """The pool after some step."""
    return Shown(text.state_text(journal, state, step), html.state_html(journal, state, step), state, journal)


def note_shown(plain: str, value: Any = None) -> Shown:
    """Text that needs no picture."""
    return Shown(plain, html.text_html(plain), value)
