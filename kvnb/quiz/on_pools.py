"""A command to be typed, and states to be built in a pool of one's own.

Must not know: the other questions.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvnb.core.events import Cleared, Hashed, Hit, Unhashed
from kvnb.journal import Journal, State, Step
from kvnb.lab import Lab
from kvnb.manager.events import Looked
from kvnb.quiz.items import Challenge, Detour, Found, Task
from kvnb.quiz.on_rules import ARRIVE, R2, first_cached, lost
from kvnb.quiz.scenes import Story
from kvnb.views.words import count


def _verb(lab: Lab) -> str:
    return lab.journal.steps[-1].command.verb


EVICT_IT = Task(
    number=8,
    title="One command: cost the cache block 5",
    asks="Type one command, without `evict`, after which block 5 has lost its hash. One such as `admit NAME TEXT`.",
    hint="Blocks are taken from the FRONT. How many must be taken until it is the turn of block 5?",
    solution=(
        "It needed two blocks, and the first was the last one without a hash. So block 5 was handed to a new owner, and "
        "only then did the cache lose something."
    ),
    story=Story((*ARRIVE, R2)),
    sample="admit r3 zzzzzzzz",
    done=lambda scene, lab: _verb(lab) not in ("evict", "reset") and first_cached(scene) in lost(lab),
    detours=(
        Detour(
            lambda scene, lab: _verb(lab) == "evict", "`evict` takes a hash off by hand. Find a request that needs the space."
        ),
        Detour(
            lambda scene, lab: first_cached(scene) in {i for e in lab.journal.steps[-1].of(Hit) for i in e.ids},
            "That is a hit: block 5 was plucked from the queue and keeps its hash.",
        ),
        Detour(
            lambda scene, lab: len(lab.free_queue) == len(scene.queue) - 1,
            "It needed one block and took the one at the FRONT, which has no hash. Block 5 is next.",
        ),
        Detour(
            lambda scene, lab: len(lab.free_queue) >= len(scene.queue),
            "It took no block. A hash is lost when a block gets a new owner.",
        ),
    ),
    points=lambda scene: [first_cached(scene)],
)


# --- states to be built --------------------------------------------------------------------------------------


def _played(journal: Journal) -> Iterator[tuple[Step, State]]:
    """The steps that are in effect, each with the state after it; the state goes on with the next."""
    state = State(journal.behaviour.num_blocks)
    for number in journal.lineage():
        step = journal.steps[number - 1]
        for event in step.events:
            state.apply(event)
        yield step, state


def _two_copies(lab: Lab) -> Found:
    for ids in lab.state.copies.values():
        if len(ids) > 1:
            return Found(True, "One hash, several blocks. A lookup gives the first that was entered.", tuple(ids))
    hashes = len(lab.state.copies)
    if not hashes:
        return Found(False, "No block carries a hash yet.")
    return Found(False, f"{count(hashes, 'hash', 'hashes')}, each carried by one block.")


COPY = Challenge(
    number=15,
    title="Build it: two blocks under one hash",
    asks="Bring a pool to a state in which two blocks carry the same hash.",
    hint="Two requests at once, with one prompt that ends with a full block.",
    solution=(
        "`admit a ABCDEFGH`, `admit b ABCDEFGH`: the last token is always computed, so `b` computes the second block once "
        "more, into a block of its own. Tables only grow, and the two are not merged."
    ),
    looks=_two_copies,
    sample=("admit a ABCDEFGH", "admit b ABCDEFGH"),
)


def _free_is_cached(lab: Lab) -> Found:
    state = lab.state
    free, cached = len(state.queue), state.num_free_cached
    if not free:
        return Found(False, "No block is free, and usage is 1. At least one must be free, and cached.")
    empty = tuple(block_id for block_id in state.queue if state.keys[block_id] is None)[:16]
    if empty:
        return Found(False, f"{count(free, 'block')} free, {free - cached} without a hash.", empty)
    says = f"Usage is {state.usage:.2f}, and no empty block is left: of {free} free, {cached} cached."
    return Found(True, f"{says} Free is not empty.", tuple(state.queue)[:16])


NOT_EMPTY = Challenge(
    number=16,
    title="Build it: free blocks, and none of them empty",
    asks="Bring a pool to a state in which blocks are free and every free block carries a hash. What is the usage?",
    hint="Requests whose last block is full leave no block without a hash. Or let a running request take the empty ones.",
    solution=(
        "`admit a`, forty letters, fills ten blocks of four; `release a`: all are free, all are cached, and usage is 0. "
        "Usage says what requests hold, not how full the cache is."
    ),
    looks=_free_is_cached,
    sample=(f"admit a {'ABCDEFGHIJ' * 4}", "release a"),
)


def _last_before_first(lab: Lab) -> Found:
    carried: dict[int, str] = {}
    roots: dict[str, str] = {}
    gone: dict[str, int] = {}
    for step, state in _played(lab.journal):
        gone |= _reused(step, carried)
        roots |= _new_roots(step, state)
    now = lab.state.copies
    for key, block_id in gone.items():
        first = roots.get(key, key)
        if key not in now and first != key and first in now:
            root = next(iter(now[first]))
            return Found(
                True, f"Block {block_id} lost its hash, block {root} has its own: whoever begins so still hits it.", (root,)
            )
    if not gone:
        return Found(False, "No cached block has been handed to another request yet.")
    return Found(False, "Cached blocks have been handed to other requests, but none of them behind a first block that is kept.")


def _reused(step: Step, carried: dict[int, str]) -> dict[str, int]:
    """Keys that this step lost to a new owner, with their blocks; ``carried``, block to key, goes on with the step."""
    gone: dict[str, int] = {}
    for event in step.events:
        if isinstance(event, Hashed):
            carried.update(zip(event.ids, event.keys, strict=True))
        elif isinstance(event, Cleared):
            carried.clear()
        elif isinstance(event, Unhashed):
            lost_now = {carried.pop(block_id): block_id for block_id in event.ids}
            gone |= lost_now if event.why == "reuse" else {}
    return gone


def _new_roots(step: Step, state: State) -> dict[str, str]:
    """Keys that this step entered, each with the key of the first block of its request."""
    request = state.requests.get(step.command.args.get("name", ""))
    first = state.keys[request.table[0]] if request and request.table else None
    return {key: first for event in step.of(Hashed) for key in event.keys} if first else {}


LAST_NOT_FIRST = Challenge(
    number=17,
    title="Build it: the last block evicted, the first kept",
    asks=(
        "Bring a pool to a state in which a request's last full block was evicted by another request, and its first one "
        "was not. (Not by `evict`.)"
    ),
    hint="End a request of two full blocks. Then let one come that needs one block more than are empty.",
    solution=(
        "`admit a ABCDEFGH`, `release a`, then nine blocks: eight are empty, the ninth is block 2. Last block first is "
        "why it stands before block 1."
    ),
    looks=_last_before_first,
    sample=("admit a ABCDEFGH", "release a", f"admit big {'z' * 36}"),
)


def _known_whole(lab: Lab) -> Found:
    found: Found | None = None
    for step, state in _played(lab.journal):
        for look in step.of(Looked):
            table = state.requests[look.name].table
            key = state.keys[table[-1]] if table and look.n % lab.behaviour.block_size == 0 else None
            if key and (look.hits == look.n or (len(state.copies[key]) > 1 and look.n - look.hits == lab.behaviour.block_size)):
                found = Found(True, f"Step {step.number}: {look.hits} of {look.n} tokens came from the cache.", tuple(table))
    return found or Found(False, "No request has come yet whose whole prompt was in the cache, to the end of a full block.")


WHOLE = Challenge(
    number=18,
    title="Build it: a prompt that is known whole",
    asks="Bring a pool to a state in which a request came whose whole prompt was in the cache. How much of it was a hit?",
    hint="The same prompt twice, and it ends with a full block.",
    solution=(
        "`admit a ABCDEFGH`, `release a`, `admit b ABCDEFGH`: 4 of 8 tokens. All but the last block: the last token is "
        "computed, and its block with it. (With `--full-hit`, the rule of the seed's program, all 8.)"
    ),
    looks=_known_whole,
    sample=("admit a ABCDEFGH", "release a", "admit b ABCDEFGH"),
)

TO_BUILD = (COPY, NOT_EMPTY, LAST_NOT_FIRST, WHOLE)
