"""What a command gives back: its numbers as attributes, its sentence as text, its picture as HTML.

Must not know: IPython. Views are imported only when a result is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kvnb.core.events import Hit, Ids, Took, Unhashed
from kvnb.journal import State, Step
from kvnb.manager.events import Looked, Tokens

if TYPE_CHECKING:
    from kvnb.lab import Lab


class StepResult:
    """One finished step of ``lab``. Every field is read from the step's events, so loaded journals give the same.

    block_table
        The table of the command's request after the step; empty when it holds no block (any more).
    num_forward_tokens
        How many tokens went through the model for it (without memory: would have); what a hit gave did not.
    """

    def __init__(self, lab: Lab, step: Step, block_table: Ids, num_forward_tokens: int = 0) -> None:
        self.lab = lab
        self.step = step
        self.block_table = block_table
        self.num_forward_tokens = num_forward_tokens

    @property
    def number(self) -> int:
        """The step's number, from 1."""
        return self.step.number

    @property
    def num_tokens(self) -> int:
        """Tokens that the request has after an admit or append; 0 for other commands."""
        return sum(event.n for event in self.step.of(Tokens))

    @property
    def hit_blocks(self) -> Ids:
        """Ids shared from the cache."""
        return self._ids(Hit)

    @property
    def num_hit_tokens(self) -> int:
        """How many tokens the cache gave."""
        return sum(event.hits for event in self.step.of(Looked))

    @property
    def new_blocks(self) -> Ids:
        """Ids taken from the front of the free queue."""
        return self._ids(Took)

    @property
    def evicted(self) -> Ids:
        """Ids that lost the hash of what was in them; a block that was never computed had nothing to lose."""
        lost = [event for event in self.step.of(Unhashed) if event.why != "uncomputed"]
        return tuple(block_id for event in lost for block_id in event.ids)

    @property
    def digest(self) -> str:
        """Hex digest of the journal up to this step."""
        return self.step.digest

    @property
    def state(self) -> State:
        """The pool's state after this step, folded from the journal; for looking only."""
        return self.lab.state if self.number == len(self.lab.journal) else self.lab.journal.state_at(self.number)

    def to_dict(self) -> Mapping[str, Any]:
        """The step as plain JSON values."""
        from kvnb.journal.jsonl import step_dict

        return step_dict(self.step)

    def _ids(self, kind: type[Hit] | type[Took]) -> Ids:
        return tuple(block_id for event in self.step.of(kind) for block_id in event.ids)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        from kvnb.views.shown import step_shown

        return step_shown(self)._repr_mimebundle_()

    def __repr__(self) -> str:
        from kvnb.views.text import step_text

        return step_text(self.step, self.state)


class Generated:
    """What the attached model made: one step of the journal a token.

    steps
        Each an ``append`` of the token that the model made.
    tokens, text
        All of them, and what they say.
    block_table
        The request's table after the last.
    finish_reason
        ``stop``: the last token ends what the model says; ``length``: as many as were asked for (vLLM's words).
    """

    def __init__(
        self,
        lab: Lab,
        steps: Sequence[Step],
        block_table: Ids,
        write: Callable[[list[int]], str],
        finish_reason: str = "length",
    ) -> None:
        self.lab = lab
        self.finish_reason = finish_reason
        self.steps = tuple(steps)
        self.block_table = block_table
        self.tokens: Ids = tuple(token for step in steps for token in step.command.args["tokens"])
        self.text = write(list(self.tokens))

    @property
    def name(self) -> str:
        """The request."""
        return str(self.steps[-1].command.args["name"])

    @property
    def digest(self) -> str:
        """Hex digest of the journal up to the last of these steps."""
        return self.steps[-1].digest

    @property
    def num_forward_tokens(self) -> int:
        """How many tokens went through the model: each once."""
        return len(self.tokens)

    @property
    def state(self) -> State:
        """The pool's state after the last of these steps; for looking only."""
        return self.lab.journal.state_at(self.steps[-1].number)

    def of(self, kind: type[Hit] | type[Took] | type[Unhashed]) -> Ids:
        """The ids of one kind of event, over all these steps."""
        return tuple(block_id for step in self.steps for event in step.of(kind) for block_id in event.ids)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        from kvnb.views.shown import generated_shown

        return generated_shown(self)._repr_mimebundle_()

    def __repr__(self) -> str:
        from kvnb.views.shown import generated_shown

        return generated_shown(self).text


class Decoded:
    """What the attached model made for several requests together.

    steps
        Of the journal: an ``append`` a token, a ``step`` a pass, and who was preempted and resumed.
    tokens, text
        By request.
    finish_reason
        By request, as in ``Generated``; None where the pool had no room to go on.
    num_passes
        Forward passes, each over all that were scheduled.
    """

    def __init__(
        self,
        lab: Lab,
        steps: Sequence[Step],
        tokens: Mapping[str, Sequence[int]],
        finish_reason: Mapping[str, str | None],
        num_passes: int,
        write: Callable[[list[int]], str],
    ) -> None:
        self.lab = lab
        self.steps = tuple(steps)
        self.tokens = {name: tuple(some) for name, some in tokens.items()}
        self.text = {name: write(list(some)) for name, some in tokens.items()}
        self.finish_reason = dict(finish_reason)
        self.num_passes = num_passes

    @property
    def digest(self) -> str:
        """Hex digest of the journal up to the last of these steps."""
        return self.steps[-1].digest if self.steps else self.lab.digest

    @property
    def preempted(self) -> tuple[str, ...]:
        """Who was preempted, in that order; one name may stand there several times."""
        return tuple(str(step.command.args["name"]) for step in self.steps if step.command.verb == "preempt")

    @property
    def state(self) -> State:
        """The pool's state after the last of these steps; for looking only."""
        return self.lab.journal.state_at(self.steps[-1].number) if self.steps else self.lab.state

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        from kvnb.views.shown import decoded_shown

        return decoded_shown(self)._repr_mimebundle_()

    def __repr__(self) -> str:
        from kvnb.views.shown import decoded_shown

        return decoded_shown(self).text
