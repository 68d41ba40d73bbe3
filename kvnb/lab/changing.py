"""Every command that changes a Lab's pool: what was handed in is made canonical, then it becomes a step of the journal.

Must not know: IPython, tensors, how a pool is made, and how anything is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from kvnb.arguments import cache_keys, request_name, sampling, whole
from kvnb.errors import CommandError, SettingError, named
from kvnb.journal.journal import Cell, Step
from kvnb.lab.decoding import Decoding
from kvnb.lab.looking import LabLooks
from kvnb.manager.command import Command
from kvnb.prompts import Tokenizer, prompt_of, read_text
from kvnb.results import Decoded, Generated, StepResult
from kvnb.views.progress import progress

if TYPE_CHECKING:
    from kvnb.lab.lab import Lab

_origin: ContextVar[dict[str, Any] | None] = ContextVar("kvnb_origin", default=None)
"""The origin of the steps that this thread runs: a click may come on a thread of its own while a cell runs."""

Messages = Sequence[Mapping[str, str]]
"""A conversation: ``[{"role": "user", "content": "..."}]``."""


class LabChanges(LabLooks):
    """The half of a Lab that changes its pool; see ``Lab``."""

    _tokenizer: Tokenizer
    cell: Cell | None

    @property
    def _lab(self) -> Lab:
        return cast("Lab", self)

    @property
    def eos_token_ids(self) -> tuple[int, ...]:
        """The tokens with which the model ends what it says; none for ``tiny``."""
        return self.memory.checkpoint.eos_token_ids if self.memory.checkpoint else ()

    def admit(
        self,
        name: str,
        text: str | None = None,
        *,
        tokens: Iterable[int] | None = None,
        file: str | Path | None = None,
        chat: bool | Messages = False,
        salt: str | None = None,
        lora: str | tuple[str, str] | None = None,
        chunk: int | None = None,
        defer: bool = False,
        fail: bool = False,
    ) -> StepResult:
        """Start a request, or without a prompt resume a preempted one.

        chat
            True: the text (or the file's) is a conversation, typed as ``user: ...``, and becomes what the model's own chat
            template makes of it; or the messages themselves.
        salt, lora
            Keep its blocks apart from equal tokens under another salt or adapter (a name, or a name and a path).
        chunk
            Only the first so many uncached tokens now; ``prefill`` schedules the rest.
        defer
            Schedule without computing; ``step``, or the next command that computes, runs the forward pass.
        fail
            The forward pass fails on purpose: its hashes are dropped, the request is preempted.
        Raises RequestError, UnknownName, OutOfBlocks, NeverFits or CommandError.
        """
        name = request_name(name)
        prompt = {**self._prompt(text, tokens, file, chat), **cache_keys(salt, lora)}
        if "text" not in prompt and "tokens" not in prompt:
            self._check_can_resume(name, bool(prompt))
        if chunk is not None:
            prompt["chunk"] = whole("chunk", chunk)
        return self._change("admit", name=name, **prompt, **_pass(defer, fail))

    def prefill(self, name: str, n: int | None = None, *, defer: bool = False, fail: bool = False) -> StepResult:
        """Schedule the next ``n`` tokens of a prompt admitted in chunks; by default all that is left. The rest as ``admit``."""
        request = self._recorder.engine.scheduler.find(request_name(name))
        left = request.num_tokens - request.num_computed_tokens
        return self._change("prefill", name=name, n=left if n is None else whole("n", n), **_pass(defer, fail))

    def append(
        self,
        name: str,
        text: str | None = None,
        *,
        tokens: Iterable[int] | None = None,
        draft: str | Iterable[int] | None = None,
        defer: bool = False,
        fail: bool = False,
    ) -> StepResult:
        """Give a running request more tokens, and with ``draft`` slots for tokens that may be rejected. The rest as ``admit``."""
        name = request_name(name)
        prompt = prompt_of(self._tokenizer, text, tokens)
        if not prompt:
            raise CommandError(f"nothing to append to {named(name)}: give a text or tokens")
        if draft == "":
            draft = None
        if isinstance(draft, str):
            prompt["draft"] = prompt_of(self._tokenizer, draft, None)
        elif draft is not None:
            prompt["draft"] = prompt_of(self._tokenizer, None, draft)
        return self._change("append", name=name, **prompt, **_pass(defer, fail))

    def step(self, *, fail: bool = False) -> StepResult:
        """One forward pass over all that was scheduled with ``defer``, in order. Raises RequestError when there is nothing."""
        return self._change("step", **_pass(False, fail))

    def generate(self, name: str, k: int, *, temperature: float = 0.0, seed: int = 0, ignore_eos: bool = False) -> Generated:
        """At most ``k`` decode steps of a running request, each an ``append`` in the journal; all of them fit, or none is made.

        temperature
            0: the most probable token. Above: drawn with ``seed``, which gives the same tokens every time.
        ignore_eos
            Go on behind a token with which a checkpoint's model ends what it says.
        Raises as ``append``, and SettingError for a pool without memory.
        """
        name, k = request_name(name), whole("k", k)
        worker, scheduler = self._memory("generate"), self._recorder.engine.scheduler
        scheduler.check_decode(name, k)
        worker.check_tokens((), scheduler.find(name).num_tokens + k)
        how, steps = sampling(temperature, seed), []
        ends = () if ignore_eos else self.eos_token_ids
        with progress(range(k), "generate") as counted:
            for _ in counted:
                steps.append(self._decode_step(name, how))
                if steps[-1].command.args["tokens"][0] in ends:
                    break
        reason = "stop" if steps[-1].command.args["tokens"][-1] in ends else "length"
        return Generated(self._lab, steps, self.manager.block_table(name), self._tokenizer.text, reason)

    def decode(
        self,
        k: int,
        *names: str,
        temperature: float = 0.0,
        seed: int = 0,
        ignore_eos: bool = False,
        release: bool = False,
    ) -> Decoded:
        """At most ``k`` tokens for each of several requests, all together: one packed forward pass gives each its next.

        When blocks lack, the newest of them is preempted, and resumed as soon as there is room, as vLLM's scheduler does.

        names
            By default all requests of the pool, preempted ones too.
        release
            End each request when it has what it is to make, so that others get its blocks.
        The rest as ``generate``. Each round is an ``append`` a request, put off, and a ``step``.
        """
        self._memory("decode")
        how, ends = sampling(temperature, seed), () if ignore_eos else self.eos_token_ids
        wanted = [request_name(name) for name in names] or list(self.requests)
        return Decoding(self._lab, wanted, whole("k", k), how, ends, release).run()

    def _decode_step(self, name: str, how: Mapping[str, Any], defer: bool = False) -> Step:
        """Append the next token that the model makes: its step says so."""
        # Nobody else appends between the look at the logits and the step.
        with self._recorder.at_rest:
            worker, request = self._memory("a model"), self._recorder.engine.scheduler.find(name)
            args = {"name": name, "tokens": [worker.next_token(name, request.num_tokens, **how)], **_pass(defer, False)}
            origin = {"model": worker.model.name, **how, **(_origin.get() or {})}
            return self._recorder.run(Command("append", args), self.cell, origin)

    def reweight(self, seed: int) -> StepResult:
        """Change the model's weights in place, as a training loop does between steps; what the cache holds is then wrong.

        The next token of a running request was decided before, by the weights that computed its last token.
        Raises SettingError for a pool without memory.
        """
        self._memory("reweight").model.check_reweight()
        return self._change("reweight", seed=whole("seed", seed))

    def accept(self, name: str, k: int) -> StepResult:
        """Make the first ``k`` drafts tokens of the request and drop the others. Raises UnknownName or RequestError."""
        return self._change("accept", name=request_name(name), k=whole("k", k))

    def release(self, *names: str, all: bool = False) -> StepResult:
        """End requests; ``all`` of them, in the order of their admission. Raises UnknownName or RequestError."""
        if all and names:
            raise CommandError("give names or all, not both")
        return self._change("release", names=[request_name(name) for name in (self.requests if all else names)])

    def preempt(self, name: str) -> StepResult:
        """Take a running request's blocks away; it keeps its tokens. Raises UnknownName or RequestError."""
        return self._change("preempt", name=request_name(name))

    def evict(self, *ids: int) -> StepResult:
        """Drop the hashes of these blocks. Raises UnknownName for block 0 and ids out of range."""
        return self._change("evict", ids=[whole("the block id", block_id) for block_id in ids])

    def reset(self) -> StepResult:
        """Drop the whole prefix cache. Raises ResetRefused while a request holds a block."""
        return self._change("reset")

    def corrupt(self, name: str, block: int, other: int) -> StepResult:
        """Let the worker read block ``other`` where the table of a request says ``block``: the fault that must never happen.

        Pool, hashes and the manager's table know nothing of it; ``prove``, ``check`` and what the model says do. ``undo`` or
        the end of the request takes it away. Raises UnknownName, RequestError, SettingError for a pool without memory.
        """
        self._memory("corrupt")
        blocks = {"block": whole("the block id", block), "other": whole("the other block id", other)}
        return self._change("corrupt", name=request_name(name), **blocks)

    def undo(self, n: int = 1) -> StepResult:
        """Go back ``n`` steps; the journal only grows, by a step that says so. Raises JournalError when there are fewer."""
        return StepResult(self._lab, self._recorder.undo(self.cell, _origin.get(), whole("n", n)), ())

    def _change(self, verb: str, **args: Any) -> StepResult:
        step = self._recorder.run(Command(verb, args), self.cell, _origin.get())
        computed = self._recorder.execution.last_pass_tokens
        return StepResult(self._lab, step, self.manager.block_table(args.get("name", "")), computed)

    def _prompt(
        self, text: str | None, tokens: Iterable[int] | None, file: str | Path | None, chat: bool | Messages
    ) -> dict[str, Any]:
        if chat is False:
            return prompt_of(self._tokenizer, text, tokens, file, begins=True)
        if tokens is not None or (chat is not True and (text is not None or file is not None)):
            raise CommandError("a conversation is a text, a file, or messages: give one of them, and no tokens")
        if chat is True and text is None and file is None:
            raise CommandError("a conversation is missing: give a text such as 'user: Hello'")
        messages = chat if chat is not True else text if text is not None else read_text(cast("str | Path", file))
        return self._tokenizer.prompt(self._conversation(messages))

    def _conversation(self, messages: str | Messages) -> str:
        """What the model's chat template makes of it. Raises CommandError, and SettingError where there is none."""
        if self.memory.checkpoint is None:
            raise SettingError(f"the model {named(self.memory.model)} has no chat template: make the pool with --model PATH")
        from kvnb.models.chat import checked, messages_of, render

        return render(self.memory.checkpoint, messages_of(messages) if isinstance(messages, str) else checked(messages))

    def _check_can_resume(self, name: str, has_keys: bool) -> None:
        if name not in self.requests:
            raise CommandError(f"{named(name)} needs a prompt: only a preempted request is admitted without one")
        if has_keys:
            raise CommandError(f"{named(name)} keeps the salt and adapter of its admission: leave them out to resume it")

    @contextmanager
    def clicked(self) -> Iterator[None]:
        """What runs inside was clicked, not typed: its steps say so, outside the digest."""
        before = _origin.set({"clicked": True})
        try:
            yield
        finally:
            _origin.reset(before)


def _pass(defer: bool, fail: bool) -> dict[str, bool]:
    return {name: True for name, given in (("defer", defer), ("fail", fail)) if given}
