"""The magics ``%kvpool`` and ``%%kvpool``, and the defaults that ``%config KVPool`` sets.

Must not know: verbs.
"""

from __future__ import annotations

from collections.abc import Callable
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

from IPython.core.interactiveshell import ExecutionResult, InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, magics_class, needs_local_scope, no_var_expand
from IPython.display import display
from traitlets import Bool, Enum, Int, TraitError, Unicode, observe, validate

from kvnb.core.policy import FREE_RULES
from kvnb.errors import CommandError, SettingError, one_line
from kvnb.magics.statements import bare_calls
from kvnb.manager.behaviour import FREE_ORDERS
from kvnb.manager.hash_functions import HASH_FUNCTIONS
from kvnb.prompts import get_tokenizer
from kvnb.session import DEFAULTS, Session
from kvnb.tensors.shapes import DEVICES, DTYPES

if TYPE_CHECKING:
    from kvnb.commands import Outcome
    from kvnb.commands.grammar import Word
    from kvnb.commands.run import Evaluate


@magics_class
class KVPool(Magics):
    """The pools of this shell. Its settings are the defaults of ``%kvpool new``: ``%config KVPool.block_size = 16``."""

    block_size = Int(DEFAULTS["block_size"], min=1, help="Tokens a block; vLLM's own default is 16.").tag(config=True)
    prefix_caching = Bool(DEFAULTS["prefix_caching"], help="Whether blocks are hashed and can be hit.").tag(config=True)
    free_to = Enum(list(FREE_RULES), DEFAULTS["free_to"], help="Where freed blocks go.").tag(config=True)
    free_order = Enum(FREE_ORDERS, DEFAULTS["free_order"], help="Which block of a request is freed first.").tag(config=True)
    full_hit = Bool(DEFAULTS["full_hit"], help="Whether a lookup may hit the whole prompt.").tag(config=True)
    sliding_window = Int(DEFAULTS["sliding_window"], min=2, allow_none=True, help="Tokens a layer looks back.").tag(config=True)
    hash = Enum(list(HASH_FUNCTIONS), DEFAULTS["hash"], help="The hash function.").tag(config=True)
    tokenizer = Unicode(
        DEFAULTS["tokenizer"], allow_none=True,
        help="chars, bytes or the path of a tokenizer.json; None: bytes where a model reads them, else chars.",
    ).tag(config=True)  # fmt: skip
    device = Enum(DEVICES, DEFAULTS["device"], help="Where the blocks' memory is; none: block ids only.").tag(config=True)
    dtype = Enum(list(DTYPES), DEFAULTS["dtype"], help="What K and V are kept in.").tag(config=True)

    def __init__(self, shell: InteractiveShell) -> None:
        self.session = Session()
        self._loading: tuple[ExecutionResult | None, frozenset[tuple[Any, ...]]] = (None, frozenset())
        _forget_refused(shell)
        super().__init__(shell=shell)
        self.session.defaults.update({name: getattr(self, name) for name in DEFAULTS})

    @validate("tokenizer")
    def _known_tokenizer(self, proposal: Any) -> str | None:
        try:
            get_tokenizer(proposal["value"] or "bytes")
        except SettingError as error:
            raise TraitError(str(error)) from error
        return proposal["value"]  # type: ignore[no-any-return]

    @observe(*DEFAULTS)
    def _new_default(self, change: Any) -> None:
        self.session.defaults[change["name"]] = change["new"]

    @needs_local_scope
    @no_var_expand
    @line_cell_magic
    def kvpool(self, line: str, cell: str | None = None, local_ns: dict[str, Any] | None = None) -> Any:
        """Run a command on a pool of KV-cache blocks, in a cell a script of them; ``%kvpool -h`` lists the verbs."""
        from kvnb.commands import Outcome, run_line, run_script
        from kvnb.commands.grammar import split
        from kvnb.commands.run import run_words

        evaluate = self._evaluator(local_ns or {})
        if cell is None:
            return self._given_back(self._show(run_line(self.session, line, evaluate)), line)
        words, silent = split(line)
        into, words = _take_into(words)
        if words:
            result = self._show(Outcome(run_words(self.session, words, evaluate, self._body(cell)), silent))
        else:
            result = [self._show(Outcome(o.result, o.silent or silent)) for o in run_script(self.session, cell, evaluate)]
        if into:
            self._shell.user_ns[into] = result
        return self._given_back(result, line, cell)

    def loaded_in(self, running: ExecutionResult) -> None:
        """The cell that loads the extension was read before ``BareMagic`` was there: its bare magics give nothing back."""
        if running.info is not None:
            source = self._shell.transform_cell(str(running.info.raw_cell))  # type: ignore[no-untyped-call]
            self._loading = (running, bare_calls(source))

    def _given_back(self, result: Any, *args: Any) -> Any:
        running, bare = self._loading
        return None if running is self._shell.displayhook.exec_result and args in bare else result

    @property
    def _shell(self) -> InteractiveShell:
        assert self.shell is not None, "the magics belong to a shell"
        return self.shell

    def _body(self, cell: str) -> str:
        """The cell's body as it was typed; ``cell`` is what IPython made of it."""
        # A body that looks like a pasted session has lost its `>>>` by now, but not in the cell that is running.
        running = self._shell.displayhook.exec_result
        first, _, typed = running.info.raw_cell.partition("\n") if running is not None else ("", "", "")
        # IPython ends every cell with a newline that nobody typed.
        return (typed if first.startswith("%%kvpool") else cell).removesuffix("\n")

    def _show(self, outcome: Outcome) -> Any:
        if not outcome.silent:
            display(outcome.result)  # type: ignore[no-untyped-call]
        return outcome.result

    def _evaluator(self, local_ns: dict[str, Any]) -> Evaluate:
        namespace: Callable[[], dict[str, Any]] = lambda: {**self._shell.user_ns, **local_ns}  # noqa: E731
        return lambda source: eval(source, namespace())


def _forget_refused(shell: InteractiveShell) -> None:
    """Drop settings that ``%config`` refused: IPython keeps them all the same, and they would stop the next load."""
    kept = shell.config.get("KVPool", {})
    for name, value in list(kept.items()):
        trait = KVPool.class_traits().get(name)
        try:
            if trait is not None:
                trait._validate(shell, value)
            if name == "tokenizer" and value is not None:
                get_tokenizer(value)
        except (TraitError, SettingError):
            del kept[name]


def _take_into(words: list[Word]) -> tuple[str | None, list[Word]]:
    """``--into NAME`` at the beginning or end of a cell's first line. Raises CommandError for what is no variable name."""
    for place, word in enumerate(words):
        option, equals, target = word.text.partition("=")
        if word.bare and option == "--into":
            after = place + 1 if equals else place + 2
            target = target if equals else "".join(word.text for word in words[place + 1 : place + 2])
            if not target.isidentifier() or iskeyword(target):
                raise CommandError(f"--into needs the name of a variable, {one_line(target)} is none")
            return target, [*words[:place], *words[after:]]
    return None, words


def _help() -> str:
    """Help made from the table of verbs, which nobody needs before they ask."""
    from kvnb.commands import VERBS
    from kvnb.commands.help import overview

    return f"{overview()}\n\n" + "\n".join(f"  %kvpool {verb.usage}" for verb in VERBS.values())


KVPool.kvpool.getdoc = _help  # type: ignore[union-attr]  # what IPython asks for `%kvpool?`
