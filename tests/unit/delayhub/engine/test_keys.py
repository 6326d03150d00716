"""The key map: one hash tag a lane, no two keys alike, and a page that shows them all."""

from __future__ import annotations

import re

import pytest

from delayhub.engine.keys import LANE_PARTS, QUEUE_PARTS, LaneKeys, QueueKeys, with_literals
from delayhub.errors import OptionError
from tests.repository import ROOT

REPOSITORY = ROOT


def test_all_keys_of_a_lane_share_one_hash_tag() -> None:
    lane = LaneKeys("orders", "shop:")

    keys = [lane.wake, lane.token, lane.alarm, lane.agenda, *lane.queue("close").every]

    assert {re.findall(r"\{(.*?)\}", key)[0] for key in keys} == {"orders"}
    assert all(key.startswith("shop:delayhub:{orders}:") for key in keys)


def test_no_two_keys_of_a_queue_are_the_same() -> None:
    keys = LaneKeys("orders").queue("close").every

    assert len(set(keys)) == len(keys)


def test_a_lane_without_a_name_is_refused() -> None:
    with pytest.raises(OptionError, match="a lane needs a name"):
        LaneKeys("")


def test_no_script_spells_a_key_suffix_by_itself() -> None:
    suffixes = {*QUEUE_PARTS.values(), *LANE_PARTS.values()}

    for path in (REPOSITORY / "delayhub/engine/lua").rglob("*.lua"):
        spelled = {suffix for suffix in suffixes if f"'{suffix}'" in path.read_text()}
        assert not spelled, f"{path.name} spells {spelled}"


def test_a_script_gets_what_the_names_in_its_code_stand_for() -> None:
    source = "f(q .. LEASED, 'no LEASED -- here', MAX_STEPS) -- LEASED: don't\nf(MY_LEASED)"

    assert with_literals(source) == "f(q .. ':leased', 'no LEASED -- here', 10) \nf(MY_LEASED)"


def test_the_data_model_page_has_every_key_with_its_own_words() -> None:
    page = (REPOSITORY / "docs/reference/redis_data_model.md").read_text()
    table = page.partition("<!-- keys: begin")[2].partition("<!-- keys: end")[0]
    said = dict(re.findall(r"^\| `(@?\w+)` \| (.*) \|$", table, re.MULTILINE))

    in_code = {
        ("@" if owner is LaneKeys else "") + name: " ".join((member.__doc__ or "").split()).replace("``", "`")
        for owner in (QueueKeys, LaneKeys)
        for name, member in vars(owner).items()
        if re.match(r"(ZSET|HASH|LIST|STRING)", member.__doc__ or "")
    }

    assert said == in_code
    assert len(in_code) == len(QUEUE_PARTS) + len(LANE_PARTS)
