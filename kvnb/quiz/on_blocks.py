"""Questions on tables, hits, the queue and the map: how the pool works.

Must not know: the other questions.
"""

from __future__ import annotations

from itertools import accumulate

from kvnb.core.events import Back, Front, Hit, Took, Unhashed
from kvnb.quiz.answers import NAME, NUMBER, ORDER, SET, YES_NO
from kvnb.quiz.items import Question, Slip
from kvnb.quiz.scenes import Scene, Story


def _held(scene: Scene) -> list[int]:
    """The blocks in all tables, a shared one as often as it stands in one."""
    return [block_id for name in scene.after.requests for block_id in scene.after.block_table(name)]


def _shared(scene: Scene) -> list[int]:
    """The blocks that stand in more than one table."""
    return [block_id for block_id, owners in scene.after.state.owners.items() if len(owners) > 1]


SHARED = Question(
    number=1,
    title="Shared blocks: how many do two equal requests hold?",
    asks="`b` has the same 10 tokens as `a`. How many blocks do they hold together?",
    hint="Cut the 10 tokens into blocks of 4. Which of them are full?",
    solution="Blocks 1 and 2 are full and stand in both tables. The last one is not full, so each has its own: 3 and 4.",
    story=Story(("admit a ABCDEFGHIJ",), ("admit b ABCDEFGHIJ",)),
    kind=NUMBER,
    answer=lambda scene: float(len(set(_held(scene)))),
    slips=(
        Slip(
            lambda scene: float(len(_held(scene))), "That counts shared blocks twice: a full block with the same tokens is hit."
        ),
        Slip(
            lambda scene: float(len(scene.after.block_table("a"))),
            "Then `b` would share the last block too. It has 2 tokens of 4, and only a full block has a hash and can be found.",
        ),
        Slip(
            lambda scene: float(len({0, *_held(scene)})),
            "Block 0 is not among them: the null block stands in a table only where no memory is needed.",
        ),
        Slip(
            lambda scene: float(len(_shared(scene))),
            "So many they share. Each also has a last block of its own, which is not full.",
        ),
    ),
    points=lambda scene: scene.before.block_table("a"),
)


def _loser(scene: Scene) -> str:
    return next(str(step.command.args["name"]) for step in scene.asked if step.of(Unhashed))


def _runs_out(scene: Scene, blocks: int) -> str:
    """The first request that needs more than so many blocks can give to all of them together."""
    needs = accumulate(sum(len(event.ids) for event in step.of(Took)) for step in scene.asked)
    return next(str(step.command.args["name"]) for step, need in zip(scene.asked, needs, strict=True) if need > blocks)


def _free_and_empty(scene: Scene) -> int:
    return len(scene.queue) - scene.state.num_free_cached


LAZY = Question(
    number=2,
    title="Lazy eviction: who is the first to cost the cache something?",
    asks=(
        "`s`, `t` and `u` arrive; they need 4, 4 and 1 blocks and begin otherwise than `a`. Which of them is the first to "
        "take a block that loses its hash?"
    ),
    hint="How many blocks stand in the queue without a hash?",
    solution=(
        "Eight blocks carry no hash, and `s` and `t` take just these. `u` has to take block 2, which loses its hash at "
        "that moment and not before."
    ),
    story=Story(("admit a ABCDEFGHIJ", "release a"), (f"admit s {'s' * 16}", f"admit t {'t' * 16}", "admit u u")),
    kind=NAME,
    answer=_loser,
    slips=(
        Slip(
            lambda scene: scene.names[0], "Nothing is lost when a request ends: its full blocks stay in the queue, with a hash."
        ),
        Slip(
            lambda scene: _runs_out(scene, 0),
            (
                "Nothing is evicted to make room. A block loses its hash only when it is taken, and at the front stand blocks "
                "without."
            ),
        ),
        Slip(
            lambda scene: _runs_out(scene, _free_and_empty(scene) - 1),
            "Count the blocks without a hash again: the last block of `a` was not full, so it is one of them.",
        ),
    ),
    points=lambda scene: [block_id for step in scene.asked for event in step.of(Unhashed) for block_id in event.ids],
)


def _hit(scene: Scene) -> list[int]:
    return [block_id for step in scene.asked for event in step.of(Hit) for block_id in event.ids]


MIDDLE = Question(
    number=3,
    title="From the middle: what would a hit cost in a deque?",
    asks=(
        "`b` will hit blocks 1 and 2, which are free. Say the queue were a `deque` and gave its blocks from the FRONT "
        "only: how many other blocks would have to come out before block 1?"
    ),
    hint="Find block 1 in the queue, and count what stands before it.",
    solution=(
        "In a pool of 100,000 blocks it may be 99,000, and they would all have to go back. In the linked list a block knows "
        "its two neighbours: they are joined, and it is out, wherever it stands."
    ),
    story=Story(("admit a ABCDEFGHi", "admit z VWXYZ", "release a z"), ("admit b ABCDEFGHxy",)),
    kind=NUMBER,
    answer=lambda scene: float(scene.queue.index(_hit(scene)[0])),
    slips=(
        Slip(
            lambda scene: float(scene.queue.index(_hit(scene)[0]) + 1),
            "That is the place of block 1, counted from 1. Before it stands one block fewer.",
        ),
        Slip(lambda scene: float(scene.queue.index(_hit(scene)[1])), "That is right for block 2, which is nearer to the FRONT."),
        Slip(
            lambda scene: float(len(scene.queue) - 1 - scene.queue.index(_hit(scene)[0])),
            "That counts from the BACK. Blocks are taken from the FRONT, on the left.",
        ),
        Slip(lambda scene: 0.0, "Block 1 is not at the FRONT: a hit takes the block that has the hash, wherever it stands."),
    ),
    points=_hit,
)


def _put(scene: Scene, *kinds: type[Front] | type[Back]) -> tuple[int, ...]:
    """The blocks that came back to the queue at these ends, in order."""
    return tuple(block_id for kind in kinds for step in scene.asked for event in step.of(kind) for block_id in event.ids)


def _released(scene: Scene) -> tuple[int, ...]:
    return scene.before.block_table("r0")


FRONT_OR_BACK = Question(
    number=4,
    title="Front or back: the free queue after a release",
    asks="`r0` ends. What is the free queue then, front first?",
    hint="Which of its blocks does `r1` still hold? Of the others: which has no hash? They come last block first.",
    solution=(
        "Block 4 is not full and has no hash: to the FRONT. Blocks 3 and 2 have one: to the BACK, the deeper one first. "
        "Block 1 goes nowhere, `r1` holds it."
    ),
    story=Story(("admit r0 ABCDEFGHIJKLMN", "admit r1 ABCDEFxx"), ("release r0",)),
    kind=ORDER,
    answer=lambda scene: scene.after.free_queue,
    slips=(
        Slip(
            lambda scene: scene.under(free_to="back").free_queue,
            (
                "That is what `--free-to back` does, the older rule. Block 4 is not full, so nobody can ever hit it: today "
                "such a block goes to the FRONT."
            ),
        ),
        Slip(
            lambda scene: scene.under(free_order="forward").free_queue,
            (
                "That is what `--free-order forward` does. A request gives its last block back first, so the deepest is "
                "nearer to the FRONT."
            ),
        ),
        Slip(
            lambda scene: (*scene.after.free_queue, *_shared_before(scene)),
            "Block 1 is not free: `r1` holds it too. Its ref_cnt goes from 2 to 1.",
        ),
        Slip(
            lambda scene: (*_put(scene, Back), *scene.queue, *_put(scene, Front)),
            "The ends are changed over: what has a hash goes to the BACK, where it is reused last.",
        ),
        Slip(
            lambda scene: _put(scene, Front, Back),
            "Those are the blocks that come back, in the right order. Where do the others stand that were free before?",
        ),
    ),
    points=_released,
)


def _shared_before(scene: Scene) -> list[int]:
    return [block_id for block_id in _released(scene) if scene.state.ref_cnt[block_id] > 1]


def _from_cache(scene: Scene) -> float:
    return float(scene.after.state.requests["b"].hits)


KNOWN_WHOLE = Question(
    number=5,
    title="A prompt that is known whole: how much of it is a hit?",
    asks=(
        "`b` has the prompt that `a` had, 8 tokens or two whole blocks, and both are in the cache. How many of its tokens "
        "come from there?"
    ),
    hint="To say what comes next, the model has to compute at least the last token.",
    solution=(
        "The last token is always computed, so at most 7 of 8 could be hit; and only whole blocks are. Block 1 is hit, "
        "and the second block is computed once more, into block 3."
    ),
    story=Story(("admit a ABCDEFGH", "release a"), ("admit b ABCDEFGH",)),
    kind=NUMBER,
    answer=_from_cache,
    slips=(
        Slip(
            lambda scene: float(scene.under(full_hit=True).state.requests["b"].hits),
            (
                "That is what `--full-hit` does. In vLLM the last token of a prompt is always computed, or there would be no "
                "scores for the next one."
            ),
        ),
        Slip(
            lambda scene: float(scene.after.state.requests["b"].num_tokens - 1),
            "The last token is left out, right. But only whole blocks are found.",
        ),
        Slip(
            lambda scene: float(scene.under(prefix_caching=False).state.requests["b"].hits),
            "Blocks 1 and 2 are free and carry a hash, so they can be found: eviction is lazy.",
        ),
    ),
    points=lambda scene: scene.before.cached,
)


def _second(scene: Scene) -> int:
    return scene.before.block_table("a")[-1]


def _copies(scene: Scene) -> frozenset[int]:
    key = scene.after.state.keys[_second(scene)]
    return frozenset(scene.after.state.copies[key]) if key else frozenset()


COPIES = Question(
    number=6,
    title="Copies: which blocks carry one hash?",
    asks=(
        "Three requests run at once with the same prompt of two whole blocks. Now `b` and `c` end. Which blocks carry the "
        "hash of block 2, block 2 included?"
    ),
    hint=(
        "A table only grows: the number of a block in it is never replaced by another. And a block that is freed keeps its hash."
    ),
    solution=(
        "Each request computed the second block for itself, and the copies are not merged. Blocks 3 and 4 are free now, "
        "at the BACK, and can be hit until somebody is given their memory."
    ),
    story=Story(("admit a ABCDEFGH", "admit b ABCDEFGH", "admit c ABCDEFGH"), ("release b c",)),
    kind=SET,
    answer=_copies,
    slips=(
        Slip(
            lambda scene: frozenset({_second(scene)}),
            (
                "Then the copies would have been merged, or forgotten when their owners ended. Neither is so: tables only "
                "grow, and a freed block keeps its hash."
            ),
        ),
        Slip(
            lambda scene: _copies(scene) - {_second(scene)},
            "Those are the copies, and block 2 carries the hash as well.",
        ),
        Slip(
            lambda scene: scene.after.cached,
            "Block 1 is full too, but other tokens are in it: it has a hash of its own, and all three share the one block.",
        ),
    ),
    points=lambda scene: sorted(scene.before.cached),
)


def _shares(scene: Scene) -> bool:
    return bool(_hit(scene))


SCHEDULED = Question(
    number=7,
    title="Before it is computed: can a block be shared?",
    asks=(
        "With `--defer`, `a` is scheduled and not computed yet: nothing is in its blocks. Now `b` arrives, which begins "
        "with the same two blocks. Does it share them?"
    ),
    hint="When does a block get its hash: when its tokens are scheduled, or when they are computed?",
    solution=(
        "The hash comes with the scheduling. That is safe since the GPU does its steps in order: the step that writes a "
        "block is done before one that reads it."
    ),
    story=Story(("admit a ABCDEFGHI --defer",), ("admit b ABCDEFGHxy --defer",)),
    kind=YES_NO,
    answer=_shares,
    slips=(
        Slip(
            lambda scene: not _shares(scene),
            (
                "A block gets its hash when it is full, and it counts as full when its tokens are scheduled. Which blocks "
                "carry one?"
            ),
        ),
    ),
    points=lambda scene: sorted(scene.before.cached),
)

ON_BLOCKS = (SHARED, LAZY, MIDDLE, FRONT_OR_BACK, KNOWN_WHOLE, COPIES, SCHEDULED)
