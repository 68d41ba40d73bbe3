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
from kvnb.quiz.scenes import Scene
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
    plain = "\n".join([f"quiz: {head} (*)" if done else f"quiz: {head}", *lines, f"  {_HOW}"])
    return Shown(plain, markup, tuple(number for number in ITEMS if number in done))


# --- a question ----------------------------------------------------------------------------------------------


def item_shown(item: Item) -> Shown:
    """The question with its story as far as it has come; hint and solution are folded in its HTML."""
    title, size = f"{item.number}. {item.title}", ""
    plain, body = [f"  {item.asks}"], [_asks(item)]
    if isinstance(item, Question | Task):
        lab = Scene(item.story).before
        size = text.size_text(lab.behaviour)
        plain, body = _story_text(item, lab.state), _story(item, item.story.lines, lab, ())
    markup = card(div("font-size:14px", f"<b>{safe(title)}</b> ", quiet(safe(size))), *body, _how(item), *_folded(item))
    return Shown("\n".join([title + f" ({size})" * bool(size), *plain, f"  {how(item)}"]), markup, item)


def how(item: Item) -> str:
    """How it is answered."""
    typed = f"%kvpool quiz {item.number}"
    if isinstance(item, Question):
        return f"the answer: {item.kind.takes}, such as `{typed} {item.kind.example}`"
    return f"the answer: a command behind `{typed}`" if isinstance(item, Task) else f"build it, then: `{typed} --pool NAME`"


def _story_text(item: Question | Task, state: State) -> list[str]:
    lines = [*_numbered(item.story.lines, 1), *_indented(text.tables_text(state)), f"  {text.queue_text(state)}"]
    lines += ["  then:", *_numbered(item.story.then, len(item.story.lines) + 1)] if item.story.then else []
    return [*lines, f"  {item.asks}"]


def _story(item: Question | Task, lines: tuple[str, ...], lab: Lab, ids: Iterable[int]) -> list[str]:
    """The question's card without its head and foot: what has happened, the pool, what happens then, what is asked."""
    return [_steps("story", lines, 1), *_pictures(lab, ids), _steps("then", item.story.then, len(lines) + 1), _asks(item)]


def _numbered(lines: Iterable[str], first: int) -> list[str]:
    return [f"  {number}. {line}" for number, line in enumerate(lines, first)]


def _indented(lines: str) -> list[str]:
    return [f"  {line}" for line in lines.split("\n")]


def _asks(item: Item) -> str:
    return div("font-size:14px;margin-top:12px", prose(item.asks))


def _how(item: Item) -> str:
    return div(f"margin-top:4px;font-size:12px;{QUIET}", prose(how(item)))


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
    """Whether an answer is right, and why: with the queue that shows it, or else with the question once more."""
    item = verdict.item
    given = f": {verdict.given}" if verdict.given else ""
    head = f"{item.number}. {'right' if verdict.right else 'not yet'}"
    tick = f"{item.number}. {'✓ right' if verdict.right else '✗ not yet'}"
    says = f"{verdict.says} {item.solution}" if verdict.right and isinstance(item, Challenge) else verdict.says
    plain = [head + printable(given), f"  {item.asks}", f"  {says}", *_indented(text.tables_text(verdict.lab.state))]
    plain += [*pointed_text(verdict.lab.state, verdict.ids), *[f"  quiz {item.number} --hint helps"] * (not verdict.right)]
    top = [div("font-size:14px", f"<b>{tick}</b>{safe(short(given))}")]
    top += [div(f"margin-top:4px;{QUIET}", prose(item.asks))] * verdict.right + [div("margin-top:4px", prose(says))]
    return Shown("\n".join(plain), card(*top, *_below(verdict)), verdict)


def _below(verdict: Verdict) -> list[str]:
    """The pictures of a verdict, and the question, which the answer has taken from the page."""
    item, lab, ids = verdict.item, verdict.lab, verdict.ids
    ringed = foot("ringed: the blocks in question") if ids else ""
    if verdict.right:
        return [*_pictures(lab, ids), ringed]
    if isinstance(item, Question | Task):
        # A command that was not refused has happened too.
        lines = (*item.story.lines, *[verdict.given] * (len(lab.journal) > len(item.story.lines)))
        return [*_story(item, lines, lab, ids), ringed, *_folded(item)[:1]]
    return [*_pictures(lab, ids), _asks(item), ringed, *_folded(item)]


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
