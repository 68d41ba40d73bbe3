"""Records put together: per journal the steps in order, from the new pool on, and what is odd about where they stand.

A journal's name repeats when the kernel is started again, so steps are joined by their digests: the records of a name are a
tree of steps, and each way from a header to a last step is one history.

Must not know: whether a pool would do the same, and files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from kvnb.errors import counted, printable
from kvnb.journal.journal import Journal, Step
from kvnb.journal.jsonl import journal_from
from kvnb.journal.notebook_file import CellRun
from kvnb.journal.records import Record, is_clicked


class Finding(NamedTuple):
    """Something that a reader should know; ``says`` is a sentence without its full stop.

    kind
        ``gap``, ``headless``, ``changed``, ``stale``, ``taken out``; or ``order``, ``kernels``, ``rerun``, ``clicked``,
        ``copied``, ``unnumbered``, ``not run``, ``torn``.
    fails
        Whether the file does not hold because of it.
    cells, steps
        The places of the cells it speaks of, and the first and last step, where it speaks of any.
    """

    kind: str
    says: str
    fails: bool = False
    cells: tuple[int, ...] = ()
    steps: tuple[int, int] | None = None


class Story(NamedTuple):
    """One history: the journal that the records add up to, the cells in the order of their steps, what is odd."""

    journal_id: str
    journal: Journal
    cells: tuple[CellRun, ...]
    findings: tuple[Finding, ...]


class Source(NamedTuple):
    """A record and the cell it stands in."""

    cell: CellRun
    record: Record

    @property
    def number(self) -> int | None:
        """The number of the cell's run."""
        return self.record.cell.execution_count if self.record.cell else None


class _Node(NamedTuple):
    """A step, the digest before it, the records that tell of it."""

    step: Step
    previous: str
    sources: list[Source]


class _Tree:
    """The steps in the records of one journal name, by digest."""

    def __init__(self, journal_id: str) -> None:
        self.journal_id = journal_id
        self.headers: dict[str, list[Source]] = {}
        self.nodes: dict[str, _Node] = {}
        self.after: dict[str, list[str]] = {}
        self.sources: list[Source] = []

    def add(self, source: Source) -> None:
        """Add a record's steps. A digest enters once, with one digest before it: the ways from a header are no circles."""
        self.sources.append(source)
        record, previous = source.record, source.record.previous
        if record.header is not None:
            self.headers.setdefault(previous, []).append(source)
        for step in record.steps:
            if step.digest in self.nodes:
                self.nodes[step.digest].sources.append(source)
            else:
                self.nodes[step.digest] = _Node(step, previous, [source])
                self.after.setdefault(previous, []).append(step.digest)
            previous = step.digest

    def knows(self, digest: str) -> bool:
        """Whether a header or a step gives it."""
        return digest in self.headers or digest in self.nodes

    def histories(self) -> Iterator[tuple[str, list[_Node]]]:
        """From each header every way to a step that no other follows; the header's digest and the steps of the way."""
        for root in self.headers:
            for leaf in [root] if root not in self.after else self._leaves(root):
                way = []
                while leaf != root:
                    way.append(self.nodes[leaf])
                    leaf = self.nodes[leaf].previous
                yield root, way[::-1]

    def _leaves(self, root: str) -> Iterator[str]:
        waiting = [root]
        while waiting:
            digest = waiting.pop()
            following = self.after.get(digest, [])
            if not following:
                yield digest
            # The first in the notebook comes first.
            waiting += [other for other in reversed(following) if other not in self.headers]


def stories(cells: Sequence[CellRun]) -> tuple[list[Story], list[Finding]]:
    """The histories that the records of ``cells`` tell, in the order of the notebook, and what is odd between them."""
    trees: dict[str, _Tree] = {}
    for cell in cells:
        for record in cell.records:
            trees.setdefault(record.journal, _Tree(record.journal)).add(Source(cell, record))
    findings = _adopt(trees)
    told: list[Story] = []
    for tree in trees.values():
        ways = list(tree.histories())
        told += [_story(tree, root, way) for root, way in ways]
        findings += [*_lost(tree, [len(way) for _, way in ways]), *_copied(tree)]
    return told, findings


def _adopt(trees: dict[str, _Tree]) -> list[Finding]:
    """Steps of a journal whose header is gone follow those of another of the same pool: its cell ran once more since."""
    findings = []
    for tree in [tree for tree in trees.values() if not tree.headers]:
        begins = [source.record.previous for source in tree.sources]
        pool = tree.sources[0].record.pool
        for other in trees.values():
            if other.headers and other.sources[0].record.pool == pool and any(map(other.knows, begins)):
                del trees[tree.journal_id]
                for source in tree.sources:
                    other.add(source)
                says = f"the steps of {_named(tree)} in {_in_cells(tree.sources)} follow those of {_named(other)}"
                findings.append(Finding("kernels", f"{says}: they are of an earlier run", cells=_places(tree.sources)))
                break
    return findings


# --- one history ---------------------------------------------------------------------------------------------


def _story(tree: _Tree, root: str, way: Sequence[_Node]) -> Story:
    told = _told_by(tree.headers[root], way)
    header: Mapping[str, Any] = tree.headers[root][0].record.header or {}
    journal = journal_from(header, _named(tree))
    journal.steps.extend(node.step._replace(number=number) for number, node in enumerate(way, 1))
    runs = [source for source, _ in groupby(told)]
    findings = [*_misnumbered(tree, way), *_order(tree, runs), *_clicked(tree, journal)]
    return Story(tree.journal_id, journal, tuple(cell for cell, _ in groupby(run.cell for run in runs)), tuple(findings))


def _told_by(headers: Sequence[Source], way: Sequence[_Node]) -> list[Source]:
    """For the header and each step the record that tells of it; of several the one that told of the step before, or the first."""
    first = way[0].sources[0].cell.place if way else headers[0].cell.place
    told = [([source for source in headers if source.cell.place <= first] or list(headers))[-1]]
    for node in way:
        told.append(next((source for source in node.sources if source is told[-1]), node.sources[0]))
    return told


def _misnumbered(tree: _Tree, way: Sequence[_Node]) -> Iterator[Finding]:
    for number, node in enumerate(way, 1):
        if node.step.number != number:
            cell = node.sources[0].cell
            says = f"{cell} calls step {number} of {_named(tree)} step {node.step.number}: its record was changed"
            yield Finding("changed", says, True, (cell.place,), (number, number))
            return


def _order(tree: _Tree, runs: Sequence[Source]) -> Iterator[Finding]:
    for before, after in pairwise(runs):
        places = (before.cell.place, after.cell.place)
        if places[0] > places[1]:
            says = f"{after.cell} ran after {before.cell}, which stands below it"
            yield Finding("order", f"{_named(tree)}: {says}", cells=places)
        numbers = before.number, after.number
        if None not in numbers and places[0] != places[1] and numbers[0] >= numbers[1]:  # type: ignore[operator]
            says = f"{after.cell} goes on from {before.cell}, but ran before it: the kernel was started again"
            yield Finding("kernels", f"{_named(tree)}: {says}, or the pool made again", cells=places)


def _clicked(tree: _Tree, journal: Journal) -> Iterator[Finding]:
    for clicked, group in groupby(journal.steps, is_clicked):
        if clicked:
            numbers = [step.number for step in group]
            steps = numbers[0], numbers[-1]
            yield Finding("clicked", f"{_named(tree)}: {_steps(*steps)} clicked, not made by a cell", steps=steps)


# --- what is between them ------------------------------------------------------------------------------------


def _lost(tree: _Tree, lengths: Sequence[int]) -> Iterator[Finding]:
    """Steps that follow none: what comes before them is in no cell."""
    for node in tree.nodes.values():
        if not tree.knows(node.previous):
            yield _gap(tree, node, lengths)


def _gap(tree: _Tree, node: _Node, lengths: Sequence[int]) -> Finding:
    number, cell = node.step.number, node.sources[0].cell
    if not tree.headers:
        says = f"{_named(tree)}: its pool was made in no cell, so that its steps in {_in_cells(tree.sources)} cannot be checked"
        return Finding("headless", says, True, _places(tree.sources))
    shorter = [length for length in lengths if length < number - 1]
    if not shorter:
        says = f"{_named(tree)}: step {number} in {cell} does not follow what the other cells did: it is of another run"
        return Finding("gap", f"{says}, whose steps before it are in no cell", True, (cell.place,), (1, number - 1))
    first = max(shorter) + 1
    says = f"{_named(tree)}: {_steps(first, number - 1)} in no cell, so that what follows in {cell} cannot be checked"
    return Finding("gap", says, True, (cell.place,), (first, number - 1))


def _copied(tree: _Tree) -> Iterator[Finding]:
    twice = ((node.step.number, _places(node.sources)) for node in tree.nodes.values() if len(node.sources) > 1)
    for places, group in groupby(twice, key=lambda pair: pair[1]):
        numbers = [number for number, _ in group]
        says = f"{_named(tree)}: {_steps(numbers[0], numbers[-1])} in cells {' and '.join(map(str, places))}"
        yield Finding("copied", f"{says}: a copy, or the same done again", cells=places, steps=(numbers[0], numbers[-1]))


def _named(tree: _Tree) -> str:
    return printable(tree.journal_id)


def _places(sources: Iterable[Source]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(source.cell.place for source in sources))


def _in_cells(sources: Sequence[Source]) -> str:
    cells = list(dict.fromkeys(str(source.cell) for source in sources))
    return cells[0] if len(cells) == 1 else f"{counted(len(cells), 'cell')} from {cells[0]} on"


def _steps(first: int, last: int) -> str:
    return f"step {first} is" if first == last else f"steps {first}-{last} are"
