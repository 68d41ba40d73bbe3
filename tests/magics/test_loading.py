from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from front_ends import Shell, fresh_shell
from traitlets.config import Config

from kvnb.magics.kvpool import KVPool


def added(shell: Shell) -> dict[str, Any]:
    """Everything in the shell that an extension could leave behind, by number."""
    ip = shell.ip
    return {
        "line magics": Counter(ip.magics_manager.magics["line"].keys()),
        "cell magics": Counter(ip.magics_manager.magics["cell"].keys()),
        "registry": Counter(ip.magics_manager.registry.keys()),
        "configurables": Counter(type(configurable).__name__ for configurable in ip.configurables),
        "matchers": len(ip.Completer.custom_matchers),
        "transformers": Counter(type(transformer).__name__ for transformer in ip.ast_transformers),
        "callbacks": {event: len(callbacks) for event, callbacks in ip.events.callbacks.items()},
        "names": {name for name in ip.user_ns if not name.startswith("_")},
        "attributes": {name for name in vars(ip) if "kvnb" in name},
    }


def test_loading_adds_one_of_everything_and_unloading_takes_it_all_away(bare_shell: Shell) -> None:
    bare_shell.run("%load_ext nothing_of_that_name")  # IPython brings its own magics for extensions only now
    before = added(bare_shell)
    bare_shell.ok("%load_ext kvnb")
    loaded = added(bare_shell)
    assert loaded["line magics"] - before["line magics"] == loaded["cell magics"] - before["cell magics"] == Counter(["kvpool"])
    assert loaded["configurables"] - before["configurables"] == loaded["registry"] - before["registry"] == Counter(["KVPool"])
    assert loaded["matchers"] == before["matchers"] + 1
    assert loaded["names"] == before["names"], "nothing is put into the user's names"
    bare_shell.ok("%unload_ext kvnb")
    assert added(bare_shell) == before


@pytest.mark.parametrize(
    "again",
    [
        "%load_ext kvnb",
        "%reload_ext kvnb",
        "%unload_ext kvnb\n%load_ext kvnb",
        "__import__('kvnb').load_ipython_extension(get_ipython())",
    ],
)
def test_loading_twice_reloading_and_loading_anew_leave_one_of_everything(shell: Shell, again: str) -> None:
    before = added(shell)
    shell.ok(again, again)
    assert added(shell) == before
    assert len(shell.ok("%kvpool new 11").shown) == 1


def test_unloading_twice_or_without_loading_does_nothing(bare_shell: Shell) -> None:
    before = added(bare_shell)
    unload = "__import__('kvnb').unload_ipython_extension(get_ipython())"
    bare_shell.ok(unload, unload)
    assert added(bare_shell) == before


def test_after_unloading_the_magic_is_gone(shell: Shell) -> None:
    shell.ok("%kvpool new 11", "%unload_ext kvnb")
    assert "`%kvpool` not found" in shell.run("%kvpool").printed


def test_unloading_closes_the_logs_so_that_another_pool_can_write_them(shell: Shell) -> None:
    shell.ok("%kvpool new 11 --log run.jsonl", "%kvpool admit r0 ABC", "%reload_ext kvnb", "%kvpool new 11 --log run.jsonl")


def test_config_shows_and_sets_the_defaults_of_new(shell: Shell) -> None:
    assert "KVPool.block_size=<Int>" in shell.ok("%config KVPool").printed
    shell.ok(
        "%config KVPool.block_size = 16", "%config KVPool.full_hit = True", "%config KVPool.device = 'none'", "%kvpool new 11;"
    )
    assert (shell.lab.behaviour.block_size, shell.lab.behaviour.full_hit) == (16, True)
    shell.ok("%kvpool new 11 --block-size 2;")
    assert shell.lab.behaviour.block_size == 2


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("block_size", "0"),
        ("block_size", "'x'"),
        ("free_to", "'middle'"),
        ("free_order", "'random'"),
        ("hash", "'md5'"),
        ("tokenizer", "'missing.json'"),
        ("device", "'gpu'"),
        ("prefix_caching", "3"),
    ],
)
def test_a_bad_default_is_refused_and_the_old_one_stays(
    shell: Shell, caplog: pytest.LogCaptureFixture, setting: str, value: str
) -> None:
    shell.run(f"%config KVPool.{setting} = {value}")
    (logged,) = caplog.messages
    assert value.strip("'") in logged or "block_size" in logged
    shell.ok("%kvpool new 11;")
    behaviour = shell.lab.behaviour.to_dict()
    expected = {"block_size": 4, "free_to": "front-back", "free_order": "reverse", "hash": "sha256", "tokenizer": "bytes"}
    assert {name: behaviour[name] for name in expected} == expected
    assert behaviour["prefix_caching"] is True


def test_defaults_can_come_from_a_configuration_file(bare_shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    with fresh_shell(capsys, Config({"KVPool": {"block_size": 8}})) as shell:
        shell.ok("%load_ext kvnb", "%kvpool new 11;")
        assert shell.lab.behaviour.block_size == 8


def test_every_default_has_a_line_of_help() -> None:
    for name, trait in KVPool.class_traits(config=True).items():
        assert trait.help, name


def test_a_setting_that_was_refused_does_not_stop_the_next_load(shell: Shell) -> None:
    shell.ip.run_cell("%config KVPool.block_size = 0")
    shell.ip.run_cell("%config KVPool.tokenizer = 'no such file'")
    shell.ip.run_cell("%config KVPool.free_to = 'back'")
    shell.ok("%reload_ext kvnb")
    shell.ok("x = %kvpool new 11;")
    behaviour = shell.ip.user_ns["x"].value.behaviour
    assert (behaviour.block_size, behaviour.free_to, behaviour.tokenizer) == (4, "back", "bytes")


def test_in_the_very_cell_that_loads_it_each_result_is_shown_once(bare_shell: Shell) -> None:
    ran = bare_shell.ok("%load_ext kvnb\n%kvpool new 11 --device none\nusage = %kvpool usage\n%kvpool show")
    assert [text.split(" ")[0] for text in ran.texts] == ["pool:", "usage", "pool:"]
    assert "Out[" not in ran.printed
    assert bare_shell.ip.user_ns["usage"].value == 0
    assert bare_shell.ok("%kvpool usage").printed == ""
