from __future__ import annotations

from typing import Any

import pytest

from kvnb.core.hashing import none_hash, sha256
from kvnb.errors import SettingError
from kvnb.manager import Behaviour


def test_the_defaults_are_vllms() -> None:
    behaviour = Behaviour(num_blocks=5)
    assert (behaviour.block_size, behaviour.prefix_caching) == (16, True)
    assert (behaviour.free_to, behaviour.free_order, behaviour.full_hit) == ("front-back", "reverse", False)
    assert behaviour.none_hash == none_hash(sha256).hex()


def test_settings_survive_a_round_trip_through_plain_values() -> None:
    behaviour = Behaviour(num_blocks=5, block_size=3, free_to="back", free_order="forward", full_hit=True)
    assert Behaviour.from_dict(behaviour.to_dict()) == behaviour


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_blocks": 0}, "the number of blocks is 0: give 1 or more"),
        ({"num_blocks": -3}, "the number of blocks is -3: give 1 or more"),
        ({"num_blocks": "ten"}, "the number of blocks is 'ten': give a whole number"),
        ({"num_blocks": 2.5}, "the number of blocks is 2.5: give a whole number"),
        ({"num_blocks": True}, "the number of blocks is True: give a whole number"),
        ({"num_blocks": 10**9}, "at most 10000000"),
        ({"block_size": 0}, "block_size is 0: give 1 or more"),
        ({"block_size": None}, "block_size is None: give a whole number"),
        ({"free_to": "bac"}, "unknown free_to 'bac': did you mean back?"),
        ({"free_order": "sideways"}, "unknown free_order 'sideways'"),
        ({"hash": "md5"}, "unknown hash 'md5'"),
        ({"prefix_caching": 1}, "prefix_caching is 1: give True or False"),
        ({"full_hit": "yes"}, "full_hit is 'yes': give True or False"),
        ({"none_hash": "xyz"}, "none_hash is 'xyz': give hex digits"),
        ({"none_hash": 5}, "none_hash is 5: give hex digits"),
        ({"tokenizer": 5}, "tokenizer is 5: give its name"),
    ],
)
def test_a_setting_out_of_range_is_named_in_one_line(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError) as caught:
        Behaviour(**{"num_blocks": 5, **settings})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_setting_of_a_newer_version_is_refused() -> None:
    with pytest.raises(SettingError, match="unknown setting 'sliding': made by a newer kvnb"):
        Behaviour.from_dict({"num_blocks": 5, "sliding": 4})


def test_settings_without_the_number_of_blocks_are_refused() -> None:
    with pytest.raises(SettingError, match="the number of blocks is missing"):
        Behaviour.from_dict({"block_size": 4})
