"""Steps and states as plain text, in the words of seed.md's sample program.

Must not know: HTML, notebooks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from kvnb.core.events import Back, Dropped, Front, Hashed, Hit, Took, Unhashed
from kvnb.core.invariants import Equation
from kvnb.errors import UnknownName, named, nearest, printable
from kvnb.journal import Journal, State, Step
from kvnb.journal.events import Restored
from kvnb.journal.state import RequestState
from kvnb.manager import Behaviour
from kvnb.manager.events import Computed, Deferred, Extended, Looked, Nulled, RequestIs, Tokens
from kvnb.views.words import count, listed, queue_ends, short, shortened

# --- one step ------------------------------------------------------------------------------------------------


def step_text(step: Step, state: State) -> str:
    """What a step did: its sentence, what was evicted, the table of its request, the free queue."""
    lines = [sentence(step), *details(step)]
    request = state.requests.get(step.command.args.get("name", ""))
    if request and request.table:
        lines.append(f"  {table_text(request.table)}")
    lines.append(f"  {queue_text(state)}")
    return "\n".join(lines)


def sentence(step: Step) -> str:
    """The step in one sentence."""
    return _SENTENCES[step.command.verb](step)


def details(step: Step) -> list[str]:
    """What else happened, a line each: blocks that lost their hash, blocks that got one by an append."""
    lines = []
    for event in step.of(Unhashed):
        what = "not computed" if event.why == "uncomputed" else "evict"
        lines += [f"  {what}: block {block_id} loses its hash" for block_id in event.ids[:64]]
        if len(event.ids) > 64:
            lines.append(f"  {what}: and {count(len(event.ids) - 64, 'block')} more")
    if step.command.verb in ("append", "prefill") and not step.command.args.get("fail"):
        for event in step.of(Hashed):
            lines += [f"  block {block_id} is full: it gets a hash" for block_id in event.ids[:64]]
    return lines


def _admit(step: Step) -> str:
    tokens, hits, new = _total(step, Tokens), _ids(step, Hit), _ids(step, Took)
    verb = " resumes" if any(event.preempted for event in step.of(Looked)) else ""
    return f"{_name(step)}{verb}: {count(tokens, 'token')}, {hits} block(s) from cache, {new} new{_more(step)}"


def _append(step: Step) -> str:
    return f"{_name(step)}: {count(_total(step, Tokens), 'token')}, {_ids(step, Took)} new{_more(step)}"


def _accept(step: Step) -> str:
    return f"{_name(step)}: {count(_total(step, Tokens), 'token')}, {step.command.args['k']} of its drafts accepted"


def _more(step: Step) -> str:
    """What is said only where it is not as usual: a window, a chunk, drafts."""
    left = sum(event.n for event in step.of(Nulled))
    unseen = sum(event.ids.count(0) for event in step.of(Extended))
    parts = [f", {unseen} before the window"] * bool(unseen) + [f", {left} left the window"] * bool(left)
    for event in step.of(Tokens):
        parts += [f", {event.scheduled} tokens scheduled"] * (event.scheduled < event.n)
        parts += [f", slots for {count(event.draft, 'draft')}"] * bool(event.draft)
    parts += [f", {count(event.n, 'token')} not computed yet" for event in step.of(Deferred)]
    if step.command.args.get("fail"):
        parts.append(f"; the forward pass failed, {_lost(step)}")
    return "".join(parts)


def _release(step: Step) -> str:
    verb = "finishes" if len(step.command.args["names"]) == 1 else "finish"
    return f"{listed(step.command.args['names'])} {verb}: {_given_up(step)}"


def _preempt(step: Step) -> str:
    return f"{_name(step)} is preempted: {_given_up(step)}; its tokens are kept"


def _evict(step: Step) -> str:
    dropped = [block_id for event in step.of(Unhashed) for block_id in event.ids]
    without = len(set(step.command.args["ids"])) - len(dropped)
    return f"evict: {count(len(dropped), 'hash', 'hashes')} dropped" + (
        f", {count(without, 'block')} had none" if without else ""
    )


def _reset(step: Step) -> str:
    return "reset: the prefix cache is empty, the free queue keeps its order"


def _step(step: Step) -> str:
    tokens = sum(event.n for event in step.of(Computed))
    names = [name for event in step.of(Computed) for name in event.names]
    if not names:
        return f"step: the forward pass failed, {_lost(step)}"
    return f"step: {count(tokens, 'token')} of {listed(names)} computed in one forward pass"


def _lost(step: Step) -> str:
    names = [event.name for event in step.of(RequestIs) if event.state == "preempted"]
    if not names:  # every token was a hit, as `--full-hit` allows
        return "which had nothing to compute"
    return f"{listed(names)} {'is' if len(names) == 1 else 'are'} preempted"


def _reweight(step: Step) -> str:
    return f"reweight: the model has the weights of seed {step.command.args['seed']}, what is cached has not"


def _corrupt(step: Step) -> str:
    args = step.command.args
    return f"{_name(step)} is corrupted: it reads block {args['other']} where its table says block {args['block']}"


def _undo(step: Step) -> str:
    k = step.of(Restored)[0].k
    return f"undo: back to step {k}" + ("" if k else ", the new pool")


_SENTENCES: dict[str, Callable[[Step], str]] = {
    "admit": _admit, "prefill": _append, "append": _append, "accept": _accept, "release": _release, "preempt": _preempt,
    "evict": _evict, "reset": _reset, "step": _step, "reweight": _reweight, "corrupt": _corrupt,
    "undo": _undo,
}  # fmt: skip


def _name(step: Step) -> str:
    return short(step.command.args["name"])


def _total(step: Step, kind: type[Tokens]) -> int:
    return sum(event.n for event in step.of(kind))


def _ids(step: Step, kind: type[Hit] | type[Took] | type[Front] | type[Back]) -> int:
    return sum(len(event.ids) for event in step.of(kind))


def _given_up(step: Step) -> str:
    front, back = _ids(step, Front), _ids(step, Back)
    # A block that several of the step's requests held is dropped by each of them.
    kept = len({block_id for event in step.of(Dropped) for block_id in event.ids}) - front - back
    parts = [f"{front} block(s) to the front"] * bool(front) + [f"{back} to the back"] * bool(back)
    parts += [f"{kept} still in use by others"] * bool(kept)
    return ", ".join(parts) or "it held no block"


# --- a state -------------------------------------------------------------------------------------------------


def table_text(table: Sequence[int]) -> str:
    """``block table [1 2 5 6]``."""
    return f"block table [{' '.join(shortened(table))}]"


def queue_text(state: State) -> str:
    """``free queue (front first, * = cached): 10 5*``; of a long queue the two ends."""
    front, left_out, back = queue_ends(state)
    words = [_starred(state, block_id) for block_id in front]
    if left_out:
        words += [f"... ({left_out:,} more) ...", *(_starred(state, block_id) for block_id in back)]
    return f"free queue (front first, * = cached): {' '.join(words)}"


def _starred(state: State, block_id: int) -> str:
    return f"{block_id}*" if state.keys[block_id] is not None else str(block_id)


def state_text(journal: Journal, state: State, step: int) -> str:
    """The whole pool after a step, in a few lines."""
    return "\n".join(
        [pool_line(journal, step), f"  {usage_text(state)}", *_indented(tables_text(state)), f"  {queue_text(state)}"]
    )


def pool_line(journal: Journal, step: int) -> str:
    """Name, size and step: ``pool: 11 blocks of 4 tokens, step 5``."""
    return f"{printable(journal.name)}: {size_text(journal.behaviour)}, step {step}"


def size_text(behaviour: Behaviour) -> str:
    """``11 blocks of 4 tokens`` and every setting that is not vLLM's own."""
    own = [] if behaviour.prefix_caching else ["prefix caching off"]
    own += [f"free to {behaviour.free_to}"] * (behaviour.free_to != "front-back")
    own += [f"free order {behaviour.free_order}"] * (behaviour.free_order != "reverse")
    own += ["full hit"] * behaviour.full_hit
    own += [f"a window of {count(behaviour.sliding_window or 0, 'token')}"] * bool(behaviour.sliding_window)
    own += [behaviour.hash] * (behaviour.hash != "sha256")
    return ", ".join([f"{count(behaviour.num_blocks, 'block')} of {count(behaviour.block_size, 'token')}", *own])


def tables_text(state: State) -> str:
    """Every request with its block table; of very many the first and the last."""
    lines = [f"{short(n)}: {tokens_text(r)}, {r.state}, {table_text(r.table)}" for n, r in state.requests.items()]
    if len(lines) > 64:
        lines[32:-32] = [f"... ({len(lines) - 64:,} more requests) ..."]
    return "\n".join(lines) or "no request"


def tokens_text(request: RequestState) -> str:
    """``15 tokens``; of a prompt in chunks also how many of them have slots, and apart from them the drafts."""
    says = f"{request.num_tokens} tokens"
    if request.state == "running" and request.num_scheduled < request.num_tokens:
        says += f" ({request.num_scheduled} scheduled)"
    if request.num_deferred:
        says += f" ({request.num_deferred} not computed yet)"
    return says + (f" and {count(request.num_drafts, 'draft')}" if request.num_drafts else "")


def usage_text(state: State) -> str:
    """Usage, and apart from it what is cached: a free block may still hold tokens worth keeping."""
    usable, free = state.num_blocks - 1, len(state.queue)
    in_queue = state.num_free_cached
    return (
        f"usage {state.usage:.2f} = 1 - {free}/{usable} free; cached {state.num_cached} blocks, "
        f"{in_queue} of them free; free and empty {free - in_queue}"
    )


def block_text(state: State, block_id: int) -> str:
    """All that is known of one block. Raises UnknownName when there is none of that id."""
    if not 0 <= block_id < state.num_blocks:
        raise UnknownName(f"no block {block_id}: there are blocks 0 to {state.num_blocks - 1}")
    if block_id == 0:
        return "block 0: the null block, a placeholder that is never handed out"
    key = state.keys[block_id]
    owners = state.owners.get(block_id, [])
    where = f"in the table of {listed(owners)}" if owners else _place_text(state, block_id)
    copies = [str(other) for other in state.copies.get(key, ()) if other != block_id] if key else []
    hashed = f"hash {key}" + (f" (also in block {', '.join(copies)})" if copies else "") if key else "no hash"
    return f"block {block_id}: ref_cnt {state.ref_cnt[block_id]}, {hashed}, {where}"


def _place_text(state: State, block_id: int) -> str:
    place = list(state.queue).index(block_id) + 1
    return f"place {place} of {len(state.queue)} in the free queue"


def request_text(state: State, name: str, block_size: int) -> str:
    """One request, block by block. Raises UnknownName when it is not there."""
    if name not in state.requests:
        raise UnknownName(f"no request {named(name)}: {nearest(name, state.requests)}")
    request = state.requests[name]
    lines = [f"{short(name)}: {tokens_text(request)}, {request.state}, {request.hits} from cache"]
    lines += [_entry(state, name, place, block_size) for place in range(min(len(request.table), 64))]
    if len(request.table) > 64:
        lines.append(f"  ... ({len(request.table) - 64:,} more blocks)")
    return "\n".join(lines)


def _entry(state: State, name: str, place: int, block_size: int) -> str:
    request = state.requests[name]
    block_id = request.table[place]
    first, end = place * block_size, min((place + 1) * block_size, request.num_scheduled + request.num_drafts)
    # Rejected drafts leave their slots behind, for the tokens to come.
    tokens = f"  tokens {first}-{end - 1}" if end > first else "  no token yet"
    if block_id == 0:
        return f"{tokens}: block 0, no memory: they left the window"
    others = [owner for owner in state.owners[block_id] if owner != name]
    shared = f", shared with {listed(others)}" if others else ""
    key = state.keys[block_id]
    return f"{tokens}: block {block_id}, {'hash ' + key if key else 'no hash'}{shared}"


def check_text(equations: Iterable[Equation]) -> str:
    """Every invariant as an equation with its numbers."""
    return "\n".join(map(str, equations))


def _indented(text: str) -> list[str]:
    return [f"  {line}" for line in text.split("\n")]
