"""Questions on the rules of the free queue: the older ones, usage, and what is lost when.

Must not know: the other questions.
"""

from __future__ import annotations

from kvnb.core.events import Unhashed
from kvnb.lab import Lab
from kvnb.quiz.answers import NUMBER, SET, Kind
from kvnb.quiz.items import Question, Slip
from kvnb.quiz.scenes import Scene, Story

ARRIVE = ("admit r0 ABCDEFGHIJKLMNO", "admit r1 ABCDEFGHIJxxxx", "release r0", "release r1")
R2 = f"admit r2 ABCDEFGHIJKL{'y' * 17}"
OLDER = {"free_to": "back"}


def lost(lab: Lab) -> frozenset[int]:
    """The blocks that lost their hash in the last step."""
    return frozenset(block_id for event in lab.journal.steps[-1].of(Unhashed) for block_id in event.ids)


def first_cached(scene: Scene) -> int:
    """The first block of the queue that carries a hash."""
    return next(block_id for block_id in scene.queue if block_id in scene.before.cached)


def _unhashed_behind(scene: Scene) -> frozenset[int]:
    """The blocks without a hash that stand behind one with a hash."""
    behind = scene.queue[scene.queue.index(first_cached(scene)) :]
    return frozenset(behind) - scene.before.cached


KIND_STORY = Question(
    number=9,
    title="The older rule: what does r2 evict?",
    asks=(
        "Here every freed block goes to the BACK, as vLLM once had it. `r2` begins like `r0` and needs five new blocks. "
        "Which blocks lose their hash?"
    ),
    hint="Hits come out of the queue first. What stands at its FRONT then?",
    solution=(
        "A trick question. `r2` hits 1, 2 and 3, and five blocks without a hash are in front. But look at block 6: nobody can "
        "ever hit it, and it stood behind block 3."
    ),
    story=Story(ARRIVE, (R2,), OLDER),
    kind=SET,
    answer=lambda scene: lost(scene.after),
    slips=(
        Slip(
            lambda scene: frozenset({first_cached(scene)}),
            "That is the first cached block from the FRONT, but `r2` hits it: it is plucked from the queue and keeps its hash.",
        ),
        Slip(_unhashed_behind, "That block has no hash that it could lose: it was not full."),
        Slip(
            lambda scene: lost(scene.instead(R2, "admit r3 zzzzzzzz")),
            "That is the one that `r3` will evict. For `r2` there are blocks enough before it.",
        ),
    ),
    points=lambda scene: [first_cached(scene), *_unhashed_behind(scene)],
)

STRANGER = Question(
    number=10,
    title="The older rule: what does a stranger evict?",
    asks=(
        "The same queue under the older rule. Instead of `r2` a stranger comes, who begins like nobody and needs six "
        "blocks. Which blocks lose their hash?"
    ),
    hint="It takes the first six from the FRONT, whatever they are.",
    solution=(
        "Whoever begins like `r0` now has block 3 to compute once more. Block 6, of no use to anybody, waited behind it and "
        "was spared. Under today's rule block 6 would have been at the FRONT, and nothing would be lost."
    ),
    story=Story(ARRIVE, (f"admit stranger {'s' * 24}",), OLDER),
    kind=SET,
    answer=lambda scene: lost(scene.after),
    slips=(
        Slip(
            lambda scene: lost(scene.under(free_to="front-back")),
            (
                "So it is under today's rule. Here the blocks that were not full went to the BACK as well: count six from the "
                "FRONT."
            ),
        ),
        Slip(_unhashed_behind, "That block has no hash that it could lose, and it is spared: it stands behind a cached one."),
        Slip(
            lambda scene: frozenset(scene.queue[:6]),
            "Those are the six blocks that it takes. Only those with a * have a hash to lose.",
        ),
    ),
    points=lambda scene: [first_cached(scene), *_unhashed_behind(scene)],
)

SYSTEM = ("admit a SYSTEMSYaa", "admit b SYSTEMSYbb", "release a b")

FORWARD = Question(
    number=11,
    title="First block first: which part of a system prompt is lost?",
    asks=(
        "Here a request gives its first block back first. `a` and `b` shared a system prompt, blocks 1 and 2. `big` needs "
        "one block more than are empty. Which block of the prompt does it evict?"
    ),
    hint="Of 1 and 2, which is nearer to the FRONT?",
    solution=(
        "Then block 2 is of no use either: a lookup begins at the first block and stops where one is missing. Last block "
        "first would have lost block 2 and kept a hit on block 1."
    ),
    story=Story(SYSTEM, ("admit big 0123456789abc",), {"num_blocks": 6, "free_order": "forward"}),
    kind=SET,
    answer=lambda scene: lost(scene.after),
    slips=(
        Slip(
            lambda scene: lost(scene.under(free_order="reverse")),
            "That is the one that is lost today, when the last block is given back first. Here it is the other way round.",
        ),
        Slip(
            lambda scene: scene.before.cached,
            "One block more than are empty, so one is lost. The other keeps its hash: eviction is lazy.",
        ),
        Slip(
            lambda scene: frozenset(scene.after.block_table("big")) - lost(scene.after),
            "Those are taken as well, but they carry no hash.",
        ),
    ),
    points=lambda scene: sorted(scene.before.cached),
)


def _used(lab: Lab) -> int:
    """Blocks that requests hold."""
    return lab.behaviour.num_blocks - 1 - len(lab.free_queue)


SHARE = Kind("a share", "0.75", NUMBER.read, NUMBER.write)

USAGE = Question(
    number=12,
    title="Usage: how high is it when no empty block is left?",
    asks="`w` takes the last block that is free and empty. Nothing without a hash is free any more. What is the usage?",
    hint="Usage is 1 - free / (N - 1). Is a cached block that nobody holds free?",
    solution=(
        "Block 5 is free, although it holds something cached, and so it counts as free. `vllm:kv_cache_usage_perc` says what "
        "running requests hold. It does not say how full the cache is."
    ),
    story=Story((*ARRIVE, R2), ("admit w w",)),
    kind=SHARE,
    answer=lambda scene: scene.after.usage,
    slips=(
        Slip(
            lambda scene: (_used(scene.after) + scene.after.state.num_free_cached) / (scene.state.num_blocks - 1),
            "That counts block 5 as used. Nobody holds it: it is in the queue, and whoever needs a block gets it.",
        ),
        Slip(
            lambda scene: (_used(scene.after) + 1) / scene.state.num_blocks,
            "That counts block 0 as well. Usage is measured against the blocks that can be used, N - 1.",
        ),
        Slip(
            lambda scene: _used(scene.after) / scene.state.num_blocks,
            "That measures against all N blocks. Block 0 can never be used: it is N - 1.",
        ),
        Slip(lambda scene: 1 - scene.after.usage, "That is the share that is free; usage is the rest."),
        Slip(lambda scene: scene.before.usage, "So it is before `w`, which takes one block more."),
    ),
    points=lambda scene: scene.after.free_queue,
)


def _losing_step(scene: Scene) -> float:
    block_id = first_cached(scene)
    losers = [step.number for step in scene.asked for event in step.of(Unhashed) if block_id in event.ids]
    return float(losers[0])


def _nothing_empty(scene: Scene) -> float:
    """The first step after which every free block is a cached one."""
    states = ((step.number, scene.after.journal.state_at(step.number)) for step in scene.asked)
    return float(next(number for number, state in states if len(state.queue) == state.num_free_cached))


WHEN_LOST = Question(
    number=13,
    title="The moment: when does a cached block lose its hash?",
    asks="At which step does block 3 lose its hash?",
    hint="Not when its request ends. When is it given to somebody else?",
    solution=(
        "`d` takes it from the FRONT. It was not lost when its request ended, nor when the last empty block was gone: "
        "eviction is lazy."
    ),
    story=Story(
        ("admit a ABCDEFGHIJKL", "release a"),
        (f"admit b {'b' * 24}", "admit c cccc", "release b", "admit d dddddddd"),
    ),
    kind=NUMBER,
    answer=_losing_step,
    slips=(
        Slip(
            lambda scene: float(len(scene.story.lines)),
            (
                "There its request ends, and the block goes to the queue with its hash. It can be hit all the time that it is "
                "free."
            ),
        ),
        Slip(
            _nothing_empty,
            "There the last block without a hash is taken. Nothing is evicted to make room: block 3 is only next.",
        ),
        Slip(
            lambda scene: float(scene.asked[-1].number - 1),
            "There six blocks come back, behind block 3. It moves nowhere, and keeps its hash.",
        ),
    ),
    points=lambda scene: [first_cached(scene)],
)

DEEPEST = Question(
    number=14,
    title="Last block first: what is left of a long prompt?",
    asks=(
        "`a` had four full blocks and ended; `big` took eight blocks and ended too. `again` begins with all that `a` had. "
        "How many of its tokens come from the cache?"
    ),
    hint="Which two blocks of `a` did `big` take? A lookup begins at the first block.",
    solution=(
        "Blocks 4 and 3 were nearest to the FRONT, for `a` gave its last block back first. A block is of use only with all "
        "those before it, so the first ones are kept for longest."
    ),
    story=Story(
        ("admit a ABCDEFGHIJKLMNOP", "release a", f"admit big {'z' * 32}", "release big"),
        ("admit again ABCDEFGHIJKLMNOPq",),
    ),
    kind=NUMBER,
    answer=lambda scene: float(scene.after.state.requests["again"].hits),
    slips=(
        Slip(
            lambda scene: float(scene.under(free_order="forward").state.requests["again"].hits),
            (
                "So it would be with `--free-order forward`, where the first block is given back first: without it no other "
                "is found."
            ),
        ),
        Slip(
            lambda scene: float(
                scene.instead("admit again ABCDEFGHIJKLMNOPq", "release again", "admit again ABCDEFGHIJKLMNOPq")
                .state.requests["again"]
                .hits
            ),
            "Then `big` would have cost nothing. Blocks 3 and 4 are there, but what `big` had is in them now.",
        ),
    ),
    points=lambda scene: sorted(scene.after.block_table("again")[:2]),
)

ON_RULES = (KIND_STORY, STRANGER, FORWARD, USAGE, WHEN_LOST, DEEPEST)
