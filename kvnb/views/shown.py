"""A thing that shows itself: text for a terminal, HTML for a notebook, and the object behind it.

Must not know: how the two forms are made (``text`` and ``html`` do), nor the live pool.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from kvnb.journal import Journal, State
from kvnb.journal.contents import contents
from kvnb.views import contents as slots
from kvnb.views import decoded, diagram, diffs, generated, html, memory, page, proofs, request_tables, text, trees
from kvnb.views.compare import compare
from kvnb.views.contents import Contents

if TYPE_CHECKING:
    from kvnb.lab import Lab
    from kvnb.results import Decoded, Generated, StepResult
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
    said = (result.text, state, result.finish_reason)
    plain = generated.generated_text(result.steps, *said)
    return Shown(plain, generated.generated_html(journal, result.steps, *said), result, journal)


def decoded_shown(result: Decoded) -> Shown:
    """Tokens that the model made for several requests, with the state after the last."""
    said = {
        name: decoded.Said(len(tokens), result.text[name], result.finish_reason[name]) for name, tokens in result.tokens.items()
    }
    what = (result.steps, said, result.num_passes, result.state)
    return Shown(decoded.decoded_text(*what), decoded.decoded_html(result.lab.journal, *what), result, result.lab.journal)


def proof_shown(lab: Lab, proof: Proof) -> Shown:
    """A request computed again without a cache."""
    tokenizer = lab.behaviour.tokenizer
    return Shown(proofs.proof_text(proof, tokenizer), proofs.proof_html(lab.journal, proof, tokenizer), proof, lab.journal)


class Moment(NamedTuple):
    """A pool after some step: what every part of it is drawn from."""

    lab: Lab
    journal: Journal
    state: State
    step: int

    @classmethod
    def of(cls, lab: Lab, step: int | None = None) -> Moment:
        """The pool after ``step``, by default now. Raises UnknownName for a step that is not there."""
        journal = lab.journal
        step = len(journal) if step is None else step
        return cls(lab, journal, journal.state_at(step), step)

    @property
    def is_now(self) -> bool:
        """Whether the memory is that of this moment."""
        return self.step == len(self.journal)


def state_shown(lab: Lab) -> Shown:
    """The pool as it is now."""
    return pool_shown(Moment.of(lab))


def pool_shown(at: Moment) -> Shown:
    """The whole pool."""
    return at_shown(at.journal, at.state, at.step)


def block_shown(at: Moment, block_id: int) -> Shown:
    """One block and what is in its slots. Raises UnknownName when there is none of that id."""
    says, block = text.block_text(at.state, block_id), at.lab.pool.blocks[block_id]
    if block_id == 0:
        return Shown(says, html.block_html(at.state, block_id), block, at.journal)
    held = _contents(at, [block_id])[block_id]
    plain = "\n".join([says, *slots.block_lines(held, at.journal.behaviour.tokenizer)])
    return Shown(plain, memory.slots_html(at.journal, at.state, block_id, held), block, at.journal)


def request_shown(at: Moment, name: str) -> Shown:
    """One request, block by block. Raises UnknownName when it is not there."""
    plain = text.request_text(at.state, name, at.journal.behaviour.block_size)
    return Shown(plain, html.request_html(at.journal, at.state, name, at.step), at.state.requests[name], at.journal)


def blocks_shown(at: Moment) -> Shown:
    """Every block; in a live notebook on a canvas."""
    from kvnb.views.canvas import shown as canvas

    return canvas.blocks_shown(at.journal, at.state, at.step)


def queue_shown(at: Moment) -> Shown:
    """The free queue, front to back; in a live notebook on a canvas."""
    from kvnb.views.canvas import shown as canvas

    shown = canvas.queue_shown(at.journal, at.state, at.step)
    shown.value = tuple(at.state.queue)
    return shown


def tables_shown(at: Moment) -> Shown:
    """The requests, those that share blocks together."""
    tables = {name: tuple(request.table) for name, request in at.state.requests.items()}
    plain = request_tables.requests_text(at.journal, at.state)
    return Shown(plain, request_tables.requests_html(at.journal, at.state), tables, at.journal)


def map_shown(at: Moment) -> Shown:
    """The prefix cache as the tree of its prefixes."""
    copies = {key: tuple(ids) for key, ids in at.state.copies.items()}
    plain = trees.tree_text(at.journal, at.state, at.step)
    return Shown(plain, trees.tree_html(at.journal, at.state, at.step), copies, at.journal)


def diagram_shown(at: Moment) -> Shown:
    """The pool's parts, and the way of the last step through them."""
    last = at.journal.steps[at.step - 1] if at.step else None
    plain = diagram.diagram_text(at.journal, last, at.state)
    return Shown(plain, diagram.diagram_html(at.journal, last, at.state), last)


def diff_shown(lab: Lab, a: int, b: int) -> Shown:
    """What changed between two steps. Raises UnknownName for a step that is not there."""
    found = compare(lab.journal.state_at(a), lab.journal.state_at(b))
    return Shown(diffs.diff_text(lab.journal, a, b), diffs.diff_html(lab.journal, a, b), found, lab.journal)


def pools_shown(a: Lab, b: Lab) -> Shown:
    """Two pools side by side, and both timelines in one figure."""
    from kvnb.views.figures import pair_shown

    return pair_shown.PairShown(a.journal, b.journal)


def timeline_shown(lab: Lab, which: str, **options: Any) -> Shown:
    """The history as a figure, an image and text; see ``kvnb.views.figures``."""
    from kvnb.views.figures import timeline

    return timeline.timeline_shown(lab.journal, which, **options)


def contents_shown(at: Moment) -> Shown:
    """What is in the slots of every block; of a large pool the first ones."""
    blocks = _contents(at, range(1, min(at.state.num_blocks, slots.MANY + 1)))
    more = at.state.num_blocks - 1 - len(blocks)
    left_out = f"\n  ... {more:,} more blocks: show block ID" if more else ""
    plain = slots.map_text(blocks) + left_out
    markup = memory.map_html(at.journal, at.state, blocks) + html.text_html(left_out.strip())
    return Shown(plain, markup, blocks, at.journal)


def _contents(at: Moment, ids: Iterable[int]) -> dict[int, Contents]:
    # The memory is that of now: of the past it is known who wrote what, not what the numbers were.
    worker = at.lab.worker if at.is_now else None
    found = contents(at.journal, ids, at.step)
    return {block_id: Contents(slots, worker.store.k_norms(block_id) if worker else None) for block_id, slots in found.items()}


def at_shown(journal: Journal, state: State, step: int) -> Shown:
    """The pool after some step."""
    return Shown(text.state_text(journal, state, step), html.state_html(journal, state, step), state, journal)


def note_shown(plain: str, value: Any = None) -> Shown:
    """Text that needs no picture."""
    return Shown(plain, html.text_html(plain), value)
