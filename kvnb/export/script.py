"""A pool as plain Python: a script that makes it again step by step and checks the digest at the end.

Must not know: notebooks.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvnb.errors import counted, printable
from kvnb.export.python import by_cell, call, check_can_be_made_again, lacks_file, literal, memory_settings, said
from kvnb.journal import Journal, Step
from kvnb.journal.lines import Lines
from kvnb.version import __version__


def script(journal: Journal) -> str:
    """The script, but for the line that seals it. Raises JournalError for a history that cannot be made again so."""
    check_can_be_made_again(journal)
    lines = [*_head(journal), "", "from kvnb import Lab", "", *_pool(journal)]
    for steps in by_cell(journal):
        lines += [*_cell(steps), *(_step(journal, step) for step in steps)]
    return "\n".join([*lines, "", *_end(journal)]) + "\n"


def _head(journal: Journal) -> Iterator[str]:
    behaviour = journal.behaviour
    size = f"{behaviour.num_blocks:,} blocks of {counted(behaviour.block_size, 'token')}"
    yield f"# The pool {printable(journal.name)}: {size}, {counted(len(journal), 'step')}. Exported by kvnb {__version__}."
    yield "# `python FILE`, where kvnb is installed, makes it again and checks the digest at the end, on any machine."
    if journal.forked is not None:
        yield f"# It began as a fork of {printable(journal.forked.pool)} at step {journal.forked.step}."


def _pool(journal: Journal) -> Iterator[str]:
    settings = journal.behaviour.to_dict()
    yield "lab = Lab("
    yield f"    {settings.pop('num_blocks')},"
    yield f"    name={literal(journal.name)},"
    for name, value in {**settings, **memory_settings(journal)}.items():
        if name == "none_hash":
            yield "    # The parent hash of first blocks. Left out, it comes from PYTHONHASHSEED, as in vLLM: another digest."
        yield f"    {name}={literal(value)},{_why(journal, name)}"
    yield ")"


def _why(journal: Journal, setting: str) -> str:
    if setting == "tokenizer" and lacks_file(journal):
        return "  # a file, by its hash: what it made of the texts stands below as tokens"
    if setting == "device" and journal.memory is not None:
        return "  # its memory needs the tokenizer's file" if lacks_file(journal) else "  # any device: the digest is the same"
    return ""


def _cell(steps: list[Step]) -> list[str]:
    cell = steps[0].cell
    return ["", f"# cell [{cell.execution_count}]"] if cell else [""] if steps[0].number == 1 else []


def _step(journal: Journal, step: Step) -> str:
    comment = said(journal, step)
    if step.command.verb == "undo":
        comment = f"takes {_undone(journal, step)} back"
    return f"lab.{call(step.command)}" + (f"  # {comment}" if comment else "")


def _undone(journal: Journal, step: Step) -> str:
    lines: Lines = journal.lines
    taken = lines.line(step.number - 1)[-step.command.args.get("n", 1) :]
    return f"step {taken[0]}" if len(taken) == 1 else f"steps {taken[0]} to {taken[-1]}"


def _end(journal: Journal) -> Iterator[str]:
    yield f'assert lab.digest == "{journal.digest}", f"the digest is {{lab.digest}}"'
    yield 'print(f"{lab.name}: {len(lab.journal)} steps, digest {lab.digest} as recorded")'
