"""The quiz as text and as HTML: the list, a question with its story, a verdict with the queue that it points at.

Must not know: how answers are judged.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kvnb.errors import printable
from kvnb.journal import State
from kvnb.lab import Lab
from kvnb.quiz.items import Challenge, Item, Question, Task
from kvnb.quiz.judging import Verdict
from kvnb.quiz.questions import ITEMS
from kvnb.quiz.scenes import Scene, Story
from kvnb.views import text
from kvnb.views.cards import queue_row, request_rows
from kvnb.views.markup import QUIET, card, div, element, foot, quiet, row, safe, table
from kvnb.views.shown import Shown
from kvnb.views.theme import painter
from kvnb.views.tiles import Brush, Marks
from kvnb.views.words import short

# --- the list ------------------------------------------------------------------------------------------------

_HOW = "%kvpool quiz N asks, quiz N ANSWER answers; quiz N --hint and quiz N --solution help"


def list_shown(done: Collection[int]) -> Shown:
    """All questions; those that were answered are ticked."""
    head = f"{len(done)} of {len(ITEMS)} answered"
    lines = [f"{'*' if number in done else ' '} {number:>2}  {item.title}" for number, item in ITEMS.items()]
    rows = [("✓" if number in done else "", str(number), safe(item.title)) for number, item in ITEMS.items()]
    markup = card(div("font-size:14px", f"<b>quiz</b> {quiet(head)}"), table(("", "", ""), rows), foot(_HOW))
    return Shown(
        "\n".join([f"quiz: {head} (*)" if done else f"quiz: {head}", *lines, f"  {_HOW}"]),
        markup,
        tuple(n for n in ITEMS if n in done),
    )


# --- a question ----------------------------------------------------------------------------------------------


def item_shown(item: Item) -> Shown:
    """The question with its story as far as it has come; hint and solution are folded in its HTML."""
    if isinstance(item, Question | Task):
        return _story_shown(item, item.story)
    assert isinstance(item, Challenge)
    how = f"build it, then: `%kvpool quiz {item.number} --pool NAME`"
    plain = "\n".join([f"{item.number}. {item.title}", f"  {item.asks}", f"  {how}"])
    return Shown(plain, card(_head(item, ""), _asks(item), _how(how), *_folded(item)), item)


def _story_shown(item: Question | Task, story: Story) -> Shown:
    scene = Scene(story)
    size, state = text.size_text(scene.before.behaviour), scene.state
    takes = (
        f"{item.kind.takes}, such as `%kvpool quiz {item.number} {item.kind.example}`"
        if isinstance(item, Question)
        else f"a command behind `%kvpool quiz {item.number}`"
    )
    plain = [f"{item.number}. {item.title} ({size})"]
    plain += _numbered(story.lines, 1)
    plain += [*_indented(text.tables_text(state)), f"  {text.queue_text(state)}"]
    plain += ["  then:", *_numbered(story.then, len(story.lines) + 1)] if story.then else []
    plain += [f"  {item.asks}", f"  the answer: {takes}"]
    pictures = [_steps("story", story.lines, 1), *_pictures(scene.before, ()), _steps("then", story.then, len(story.lines) + 1)]
    return Shown(
        "\n".join(plain), card(_head(item, size), *pictures, _asks(item), _how(f"the answer: {takes}"), *_folded(item)), item
    )


def _numbered(lines: Iterable[str], first: int) -> list[str]:
    return [f"  {number}. {line}" for number, line in enumerate(lines, first)]


def _indented(lines: str) -> list[str]:
    return [f"  {line}" for line in lines.split("\n")]


def _head(item: Item, size: str) -> str:
    return div("font-size:14px", f"<b>{item.number}. {prose(item.title)}</b> ", quiet(safe(size)))


def _asks(item: Item) -> str:
    return div("font-size:14px;margin-top:12px", prose(item.asks))


def _how(says: str) -> str:
    return div(f"margin-top:4px;font-size:12px;{QUIET}", prose(says))


def _steps(label: str, lines: tuple[str, ...], first: int) -> str:
    commands = (div("font-family:monospace;overflow-wrap:anywhere", safe(line.strip())) for line in _numbered(lines, first))
    return row(label, "", div("min-width:0", *commands)) if lines else ""


def _folded(item: Item) -> list[str]:
    return [_fold("hint", prose(item.hint)), _fold("solution", _solution(item))]


def _fold(what: str, content: str) -> str:
    return element(
        "details", "margin-top:4px", element("summary", f"{QUIET};font-size:12px", what), div("margin:2px 0 0 14px", content)
    )


def prose(says: str) -> str:
    """A sentence as markup: what stands in backticks is code."""
    return "".join(element("code", "", safe(part)) if place % 2 else safe(part) for place, part in enumerate(says.split("`")))


# --- pictures ------------------------------------------------------------------------------------------------


def _pictures(lab: Lab, ids: Iterable[int]) -> list[str]:
    """The free queue and the tables, the blocks in question ringed."""
    brush = Brush(painter(lab.journal), Marks(hit=frozenset(ids)))
    return [queue_row(lab.state, brush), *request_rows(lab.state, brush)]


def pointed_text(state: State, ids: Collection[int]) -> list[str]:
    """The free queue as a line, and below it a line that points at those of ``ids`` that are in it."""
    line = f"  {text.queue_text(state)}"
    words = line.split(": ", 1)[1].split(" ")
    under = [
        "^" * len(word) if word.rstrip("*").isdecimal() and int(word.rstrip("*")) in ids else " " * len(word) for word in words
    ]
    pointer = " " * (len(line) - len(" ".join(words))) + " ".join(under)
    return [line, *[pointer.rstrip()] * bool(pointer.strip())]


# --- verdicts ------------------------------------------------------------------------------------------------


def verdict_shown(verdict: Verdict) -> Shown:
    """Whether an answer is right, why, and the queue that shows it."""
    item, state = verdict.item, verdict.lab.state
    word = "right" if verdict.right else "not yet"
    given = f": {verdict.given}" if verdict.given else ""
    says = f"{verdict.says} {item.solution}" if verdict.right and isinstance(item, Challenge) else verdict.says
    more = "" if verdict.right else f"quiz {item.number} --hint helps"
    plain = [f"{item.number}. {word}{printable(given)}", f"  {says}"]
    plain += [*_indented(text.tables_text(state)), *pointed_text(state, verdict.ids), *[f"  {more}"] * bool(more)]
    head = div("font-size:14px", f"{item.number}. <b>{'✓' if verdict.right else '✗'} {word}</b>{safe(short(given))}")
    ringed = "ringed: the blocks in question" if verdict.ids else ""
    markup = card(head, div("margin-top:4px", prose(says)), *_pictures(verdict.lab, verdict.ids), foot(ringed, more))
    return Shown("\n".join(plain), markup, verdict)


def hint_shown(item: Item) -> Shown:
    """The hint."""
    return Shown(f"{item.number}. hint: {item.hint}", card(f"{item.number}. <b>hint</b>: {prose(item.hint)}"), item)


def solution_shown(item: Item) -> Shown:
    """The answer, why it is so, and for a question on a story the queue afterwards."""
    answer, lab, ids = _outcome(item)
    plain = [f"{item.number}. solution{': ' * bool(answer)}{answer}", f"  {item.solution}"]
    if lab is not None:
        plain += [*_indented(text.tables_text(lab.state)), *pointed_text(lab.state, ids)]
    return Shown("\n".join(plain), card(f"{item.number}. <b>solution</b>: ", _solution(item)), item)


def _solution(item: Item) -> str:
    answer, lab, ids = _outcome(item)
    head = f"<b>{safe(answer)}</b><br>" if answer else ""
    return head + prose(item.solution) + "".join(_pictures(lab, ids) if lab is not None else [])


def _outcome(item: Item) -> tuple[str, Lab | None, Collection[int]]:
    """The answer as it is typed, and the pool that shows it with the blocks to look at."""
    if isinstance(item, Challenge):
        return "", None, ()
    assert isinstance(item, Question | Task)
    scene = Scene(item.story)
    points = tuple(item.points(scene))
    if isinstance(item, Task):
        return item.sample, scene.instead(item.sample), points
    assert isinstance(item, Question)
    return item.kind.write(item.answer(scene)), scene.after, points
