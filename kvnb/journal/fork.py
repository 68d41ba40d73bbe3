"""What if: the commands of a history run again under other settings, as a history of its own.

Must not know: memory, files, how settings are typed.

A command that the fork refuses is recorded as refused, and the commands of its request that follow are skipped, but for its
release: what the request holds by then is given back when the original gives it back. A text is cut into tokens anew where the
tokenizer is another one; tokens stay what they are. A prefill of all that was left stays one of all that is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from kvnb.core.events import Hashed
from kvnb.errors import CommandError, JournalError, KvnbError, counted, named, one_line
from kvnb.journal.events import Event
from kvnb.journal.execution import Execution
from kvnb.journal.forked import Forked, Left, spans
from kvnb.journal.journal import Cell, Journal, Step
from kvnb.manager.behaviour import Behaviour
from kvnb.manager.command import Command
from kvnb.manager.events import Tokens

Evictions = Literal["ask", "keep", "skip"]
"""What becomes of a command that names blocks, which under other settings hold something else."""

_NAMES_BLOCKS = ("evict", "corrupt")

Cut = Callable[[str, bool], Mapping[str, Any]]
"""Gives the canonical prompt that a text is: itself, or tokens; whether a request begins with it."""

Check = Callable[[Command, Sequence[int], int], None]
"""Raises a KvnbError for a command that the fork's model cannot do, given its tokens and how many stand before them."""


def fork(
    journal: Journal,
    at: int,
    into: Journal,
    line: Iterable[int] | None = None,
    evictions: Evictions = "ask",
    cut: Cut = lambda text, begins: {"text": text},
    check: Check = lambda command, tokens, before: None,
    cell: Cell | None = None,
) -> None:
    """Run the steps that are in effect after step ``at`` of ``journal`` under the behaviour of ``into``, which gets them.

    into
        A journal without a step; its ``forked`` says afterwards what was refused and skipped. After an error it is of no use.
    line
        The numbers of these steps, from whoever counts them on the way.
    Raises CommandError when a command names blocks and ``evictions`` asks, JournalError for a journal that cannot be run.
    """
    if evictions == "ask" and into.behaviour != journal.behaviour:
        _ask(journal, at)
    run = _Fork(journal.behaviour, into, evictions, cut, check, cell)
    for number in journal.lineage(at) if line is None else line:
        run.take(journal.steps[number - 1])
    digest = journal.steps[at - 1].digest if at else journal.first_digest
    changed = _changed(journal.behaviour, into.behaviour)
    left = tuple(run.refused), tuple(run.skipped)
    into.forked = Forked(journal.name, at, digest, changed, spans(run.done), *left, run.differs)


def words(command: Command, limit: int = 60) -> str:
    """A command without its tokens: ``admit r0``, ``release r0 r1``."""
    what = [*command.args.get("names", ()), *map(str, command.args.get("ids", ()))]
    what += [command.args["name"]] if "name" in command.args else []
    says = " ".join([command.verb, *(named(str(name)) for name in what)])
    return says if len(says) <= limit else says[: limit - 3] + "..."


def outcome(events: Iterable[Event]) -> list[Event]:
    """What a step did, apart from the hashes' own values."""
    return [event._replace(keys=()) if isinstance(event, Hashed) else event for event in events]


def _ask(journal: Journal, at: int) -> None:
    found = [number for number in journal.lineage(at) if journal.steps[number - 1].command.verb in _NAMES_BLOCKS]
    if found:
        more = f", and {counted(len(found) - 1, 'step')} more" if len(found) > 1 else ""
        command = journal.steps[found[0] - 1].command
        what, again = words(command), "evict them" if command.verb == "evict" else "do it"
        raise CommandError(
            f"step {found[0]} is `{what}`{more}: under other settings other tokens may be in these blocks; "
            f"add --keep-evictions to {again} all the same, or --skip-evictions to leave that out"
        )


def _changed(was: Behaviour, now: Behaviour) -> dict[str, Any]:
    before = was.to_dict()
    return {name: value for name, value in now.to_dict().items() if value != before[name]}


class _Fork:
    """The fork as far as it has come.

    done, refused, skipped
        The original's numbers of what was done, and what was not.
    differs
        See ``Forked``.
    """

    def __init__(
        self,
        was: Behaviour,
        into: Journal,
        evictions: Evictions,
        cut: Cut,
        check: Check,
        cell: Cell | None,
    ) -> None:
        self.into, self.cell, self.cut, self.check = into, cell, cut, check
        self.execution = Execution(into.behaviour)
        self.skips_evictions = evictions == "skip" and was != into.behaviour
        self.cuts = was.tokenizer != into.behaviour.tokenizer
        # The requests of which a command was refused, and at which step.
        self.lost: dict[str, int] = {}
        self.done: list[int] = []
        self.refused: list[Left] = []
        self.skipped: list[Left] = []
        self.differs = 0

    def take(self, step: Step) -> None:
        """Do a step of the original, or note why not. Raises JournalError for one that is no command."""
        try:
            command = self._adapted(step)
            if isinstance(command, str):
                self.skipped.append(Left(step.number, words(step.command), command))
                self._note_difference(step, None)
            else:
                self._do(step, command)
            for name in step.command.args["names"] if step.command.verb == "release" else ():
                self.lost.pop(name, None)
        except (TypeError, ValueError, LookupError, AttributeError) as error:
            raise JournalError(f"step {step.number} is no command that can be run: {one_line(str(error))}") from error

    def _do(self, step: Step, command: Command) -> None:
        try:
            engine = self.execution.engine
            self.check(command, engine.tokens_of(command), engine.num_before(command))
            apply = self.execution.plan(command)
        except KvnbError as error:
            self.refused.append(Left(step.number, words(step.command), str(error)))
            self.lost |= {name: step.number for name in [command.args.get("name")] if name is not None}
            self._note_difference(step, None)
            return
        command, _ = self.execution.carry_out(command, apply)
        # Nobody clicked the fork's steps; that a model made the tokens stays true.
        origin = {key: value for key, value in (step.origin or {}).items() if key != "clicked"}
        self.into.steps.append(self.into.next_step(command, self.execution.events, self.cell, origin or None))
        self.done.append(step.number)
        self._note_difference(step, self.into.steps[-1])

    def _note_difference(self, was: Step, now: Step | None) -> None:
        if not self.differs and (now is None or outcome(was.events) != outcome(now.events)):
            self.differs = was.number

    def _adapted(self, step: Step) -> Command | str:
        """The command as the fork has it, or why it is skipped."""
        verb, args = step.command
        if verb in _NAMES_BLOCKS and self.skips_evictions:
            return "it names blocks, which hold something else under other settings"
        if verb == "release":
            return self._release(args)
        if args.get("name") in self.lost:
            return f"its request was refused at step {self.lost[args['name']]}"
        if verb == "prefill" and any(event.scheduled == event.n for event in step.of(Tokens)):
            left = self._left(args["name"])
            return Command(verb, {**args, "n": left}) if left else "nothing is left to prefill"
        return Command(verb, self._recut(args, verb == "admit")) if self.cuts else step.command

    def _release(self, args: Mapping[str, Any]) -> Command | str:
        there = [name for name in args["names"] if name not in self.lost or name in self.execution.engine.scheduler.requests]
        if not there:
            return f"its request was refused at step {self.lost[args['names'][0]]}"
        return Command("release", {**args, "names": there})

    def _left(self, name: str) -> int:
        """Tokens of a request's prompt that have no slots yet."""
        request = self.execution.engine.scheduler.find(name)
        return request.num_tokens - request.num_computed_tokens

    def _recut(self, args: Mapping[str, Any], begins: bool = False) -> dict[str, Any]:
        """The arguments with each text cut by the fork's tokenizer, at its place."""
        found: dict[str, Any] = {}
        for key, value in args.items():
            if key == "text":
                found |= self.cut(value, begins)
            else:
                found[key] = self._recut(value) if key == "draft" else value
        return found
