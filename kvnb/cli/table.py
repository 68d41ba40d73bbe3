"""The shell's commands: a few of its own, and from the table of verbs those that look at a pool.

A look takes a journal file in the place of a pool: ``%kvpool show queue --at 3`` is ``kvnb show FILE queue --at 3``.

Must not know: how a command does its work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from kvnb.cli import completion, files, scripts
from kvnb.cli.output import Output
from kvnb.commands.grammar import Word
from kvnb.commands.help import by_kind, verb_help
from kvnb.commands.parse import HELP, find_verb, parse, wants_help
from kvnb.commands.table import VERBS
from kvnb.commands.verb import Arg, Verb, name, step_or_name, whole
from kvnb.errors import CommandError, one_line

KINDS = {
    "manages": "scripts, files and reports",
    "looks": "looks at a journal file, and changes nothing",
}
NOTEBOOK_ONLY = ("dashboard", "dock")
OF_A_SESSION = ("quiz",)

_FILE = Arg("file", "a journal file, made by save or --log", name, required=True, suggest="file")
_JSON = Arg("json", "one JSON object a line in place of text", option=True)
_FORCE = Arg("force", "overwrite a file that kvnb has not written", option=True)


def _new_file(option: str, says: str, short: str = "") -> Arg:
    return Arg(option, says, name, option=True, suggest="file", metavar="FILE", short=short)


def _complete(out: Output, shell: str) -> int:
    out.print(completion.SCRIPTS[shell](list(COMMANDS.values())))
    return 0


_OWN = (
    Verb(
        "run", "manages", "run a script, one command of %kvpool a line, up to its first error",
        (
            Arg("script", "a file, or - for standard input", name, required=True, suggest="file"),
            _new_file("log", "a file that gets every step of the script's first pool"),
            _FORCE, _JSON,
        ),
        scripts.run_file, ("run walk.kvpool", "run walk.kvpool --log run.jsonl", "run - --json"),
    ),
    Verb(
        "verify", "manages", "run what files say again and compare every step: journals, executed notebooks, reports",
        (Arg("files", ".jsonl, .ipynb or .html", name, many=True, required=True, suggest="file", metavar="FILE"), _JSON),
        files.verify, ("verify run.jsonl", "verify lesson.ipynb report.html --json"),
    ),
    replace(VERBS["replay"], args=(_FILE, _JSON), run=files.replay, examples=("replay run.jsonl",)),
    Verb(
        "export", "manages", "leave a journal's pool behind: .py a script, .ipynb a notebook, .html a page",
        (
            Arg("journal", "a journal file", name, required=True, suggest="file"),
            Arg("file", "the new file; its suffix says what it becomes", name, required=True, suggest="file"),
            _FORCE, _JSON,
        ),
        files.export, ("export run.jsonl run.py", "export run.jsonl run.html"),
    ),
    Verb(
        "report", "manages", "make one page of an executed notebook that opens offline and can be verified",
        (
            Arg("notebook", "an .ipynb", name, required=True, suggest="file"),
            _new_file("output", "the report; without it, beside the notebook", "-o"),
            Arg("execute", "run the notebook first, in a kernel of its own", option=True),
            Arg(
                "parameter", "a value for the cell that is tagged parameters; with --execute, as often as needed", name,
                option=True, many=True, metavar="NAME VALUE", short="-p", words=2,
            ),
            Arg("pdf", "a PDF, through headless Chromium", option=True),
            _FORCE, _JSON,
        ),
        files.report,
        (
            "report lesson.ipynb", "report lesson.ipynb -o lesson.html --force",
            "report lesson.ipynb --execute -p num_blocks 21 -p block_size 16",
        ),
    ),
    Verb(
        "completion", "manages", "print a script that completes kvnb's commands in a shell",
        (Arg("shell", "which one", name, required=True, suggest=tuple(completion.SCRIPTS)),),
        _complete, ("completion bash", "completion zsh", "completion fish"),
    ),
)  # fmt: skip
_NOT_OF_TEXT = ("pool", "by", "dark")
"""Arguments that say nothing here: what pool there is the file says, and text has no colours."""


def _on_file(verb: Verb) -> Verb:
    args = (_FILE, *(arg for arg in verb.args if arg.name not in _NOT_OF_TEXT), _JSON)
    examples = tuple(" ".join([verb.name, "run.jsonl", *example.split()[1:]]) for example in verb.examples)
    return replace(verb, args=args, run=partial(files.look, verb), examples=examples)


def _log(verb: Verb) -> Verb:
    return replace(verb, help="the journal as a table, a row a step or a row an event", run=files.log)


def _diff(verb: Verb) -> Verb:
    args = (
        replace(_FILE, help="a journal file"),
        Arg("a", "a step's number, 0 is the new pool; or another journal file", step_or_name, required=True, suggest="file"),
        Arg("b", "another step's number", whole),
        _JSON,
    )
    examples = ("diff run.jsonl 2 3", "diff run.jsonl older.jsonl")
    return replace(
        verb,
        help="what changed from step A to step B, or two journals side by side",
        args=args,
        run=files.diff,
        examples=examples,
    )


def _timeline(verb: Verb) -> Verb:
    return replace(verb, help="the history, a line a step: the free queue's order, usage, each block's life, what prefills cost")


def _prove(verb: Verb) -> Verb:
    model = Arg("model", "where its model is now: a folder or a GGUF file", name, option=True, suggest="file")
    return replace(verb, args=(*verb.args[:-1], model, verb.args[-1]))


_OTHERWISE: dict[str, Callable[[Verb], Verb]] = {"log": _log, "diff": _diff, "timeline": _timeline, "prove": _prove}
_LOOKS = tuple(
    _OTHERWISE.get(verb.name, replace)(_on_file(verb))
    for verb in VERBS.values()
    if verb.kind == "looks" and verb.name not in (*NOTEBOOK_ONLY, *OF_A_SESSION)
)

COMMANDS: dict[str, Verb] = {command.name: command for command in (*_OWN, *_LOOKS)}
"""Name to command, in the order in which help lists them."""
_KNOWN = {**COMMANDS, **{name: verb for name, verb in VERBS.items() if name not in COMMANDS}}


def run(words: Sequence[str]) -> int:
    """Run one command and give its exit code. Raises a KvnbError."""
    if not words or words[0] in (*HELP, "help"):
        Output().print(command_help(words[1]) if len(words) > 1 else overview())
        return 0 if words else CommandError.exit_code
    rest = [Word(word) for word in words[1:]]
    if wants_help(rest):
        Output().print(command_help(words[0]))
        return 0
    command = _find(words[0])
    given = parse(command, rest)
    return int(command.run(Output(given.pop("json", False)), **given))


def _find(word: str) -> Verb:
    if word.startswith("-"):
        raise CommandError(f"{one_line(word)} is no command: options stand after it, and kvnb -h lists the commands")
    command = find_verb(word, _KNOWN)
    if word in NOTEBOOK_ONLY:
        raise CommandError(f"{word} needs a notebook: type %kvpool {word} FILE there")
    if word not in COMMANDS:
        raise CommandError(f"a shell keeps no pool for {word}: write `{command.examples[0]}` into a script, and kvnb run it")
    return command


def command_help(word: str) -> str:
    """Everything about one command, or about a verb of scripts. Raises CommandError for what is neither."""
    if word in COMMANDS:
        return verb_help(COMMANDS[word], "kvnb")
    return verb_help(find_verb(word, _KNOWN))


def overview() -> str:
    """All commands, a line each."""
    others = [verb for verb in VERBS if verb not in COMMANDS]
    return "\n".join(
        [
            "kvnb COMMAND ... runs, verifies and shows pools of KV-cache blocks; in a notebook, %load_ext kvnb brings %kvpool.",
            *by_kind(COMMANDS.values(), KINDS),
            "",
            "A script also has, one a line:",
            *_filled(others),
            "",
            "kvnb COMMAND -h explains one, with examples; kvnb --version says which kvnb this is.",
            "Exit codes: 0; 1 an error, or it does not hold; 2 wrong usage, or a file that cannot be read.",
        ]
    )


def _filled(words: Sequence[str], width: int = 100) -> list[str]:
    lines = [" "]
    for word in words:
        if len(lines[-1]) + len(word) > width:
            lines.append(" ")
        lines[-1] += f" {word}"
    return lines
