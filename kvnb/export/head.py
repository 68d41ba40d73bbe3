"""The head of a page: title, whether it holds, settings and digests, how to check it, what is odd.

Must not know: cells and their outputs.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from kvnb.errors import printable
from kvnb.journal import Journal
from kvnb.journal.stories import Finding
from kvnb.journal.verification import Checked, Verification
from kvnb.views.text import size_text
from kvnb.views.verdicts import difference_text
from kvnb.views.words import count, short

RULES = "vLLM 0.32"
"""Whose pool these rules are."""
MOST_OPEN = 4
"""So many pools stand in the head; more are a click away."""
MOST_HEADINGS = 60
_HEADING = re.compile(r'<h([23])[^>]* id="([^"]*)"[^>]*>(.*?)</h[23]>', re.DOTALL)
_TAG = re.compile(r"<[^>]*>")


def plain(text: str) -> str:
    """Text for inside an element."""
    return escape(printable(text))


def title(kind: str, name: str, made: Iterable[str]) -> str:
    """The first lines: what kind of page, its name, one line of facts."""
    facts = " · ".join(plain(fact) for fact in made if fact)
    return f'<p class="kv-kind">{plain(kind)}</p>\n<h1>{plain(name)}</h1>\n<p class="kv-made">{facts}</p>'


def says(good: bool, sentence: str, points: Sequence[str] = ()) -> str:
    """A sentence with a mark before it, and under it points as HTML."""
    mark, kind = ("✓", "") if good else ("✗", " kv-no")
    items = f"<ul>{''.join(f'<li>{point}</li>' for point in points)}</ul>" if points else ""
    return f'<div class="kv-says{kind}"><p><b>{mark}</b> {plain(sentence)}</p>{items}</div>'


def to_cell(place: int, words: str) -> str:
    """A link to a cell."""
    return f'<a href="#kv-cell-{place}">{plain(words)}</a>'


def verdict(verification: Verification) -> str:
    """Whether every step does again what it says, and if not, why."""
    if verification.holds:
        steps = sum(len(checked.journal) for checked in verification.journals)
        pools = count(len(verification.journals), "pool")
        return says(True, f"{count(steps, 'step')} of {pools}, run again when this page was made: all do the same.")
    points = [_finding(found) for found in _all_findings(verification) if found.fails]
    for checked in verification.journals:
        if checked.verdict.difference is not None:
            difference = difference_text(checked.journal, checked.verdict.difference)
            lines = "\n".join(plain(line) for line in difference.split("\n"))
            points.append(f"{plain(checked.journal_id)}: <pre>{lines}</pre>")
    return says(False, "This does not verify.", points)


def notes(verification: Verification) -> str:
    """What is odd and no fault, closed."""
    points = [f"<li>{_finding(found)}</li>" for found in _all_findings(verification) if not found.fails]
    return f"<details><summary>{count(len(points), 'note')}</summary><ul>{''.join(points)}</ul></details>" if points else ""


def _all_findings(verification: Verification) -> Iterator[Finding]:
    yield from verification.findings
    for checked in verification.journals:
        yield from checked.findings


def _finding(finding: Finding) -> str:
    return to_cell(finding.cells[0], finding.says) if finding.cells else plain(finding.says)


def pools(named: Sequence[tuple[str, Journal]]) -> str:
    """A table of pools: name as HTML, settings, steps, digest; of many it is closed."""
    rows = "".join(_pool(name, journal) for name, journal in named)
    heads = "".join(f"<th>{name}</th>" for name in ("pool", "settings", "steps", "digest"))
    table = f'<table class="kv-pools"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>' if rows else ""
    if len(named) <= MOST_OPEN:
        return table
    return f"<details><summary>{count(len(named), 'pool')}: settings, steps, digests</summary>{table}</details>"


def checked_pools(journals: Iterable[Checked]) -> str:
    """``pools`` of what was checked, each with the way to its first cell."""
    return pools([(to_cell(checked.cells[0].place, short(checked.journal.name)), checked.journal) for checked in journals])


def _pool(name: str, journal: Journal) -> str:
    settings = [size_text(journal.behaviour)]
    if journal.memory is not None:
        settings.append(f"memory in {journal.memory.get('dtype')}")
    if journal.forked is not None:
        settings.append(f"forked from {journal.forked.pool} at step {journal.forked.step}")
    cells = (f"<b>{name}</b>", plain(", ".join(settings)), f"{len(journal):,}")
    digest = f'<td class="kv-digest"><code>{plain(journal.digest)}</code></td>'
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}{digest}</tr>"


def how_to_verify(file: str) -> str:
    """What a stranger types."""
    typed = shlex.quote(f"./{file}" if file.startswith("-") else file)
    return (
        f'<p class="kv-check">To check it yourself: <code>pip install kvnb</code>, then <code>kvnb verify {plain(typed)}</code>. '
        "It takes the recorded commands out of this file, runs each again on a fresh pool, and compares what it does. "
        "What else stands on this page, text and pictures, is not compared.</p>"
    )


def contents(body: str) -> str:
    """The headings in ``body``, which is clean, as links; closed."""
    found = _HEADING.findall(body)[:MOST_HEADINGS]
    if len(found) < 3:
        return ""
    items = (f'<li class="kv-level-{level}"><a href="#{name}">{_TAG.sub("", says)}</a></li>' for level, name, says in found)
    return f'<details class="kv-contents"><summary>Contents</summary><ul>{"".join(items)}</ul></details>'
