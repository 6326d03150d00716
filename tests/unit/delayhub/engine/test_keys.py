"""The key map: one hash tag a lane, no two keys alike, and a page that shows them all."""

from __future__ import annotations

import re

import pytest

from delayhub.engine.keys import LANE_PARTS, QUEUE_PARTS, LaneKeys, QueueKeys, lua_constants, slot_of, tag
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


@pytest.mark.parametrize(
    ("lane", "expected"),
    [
        ("celery", "{celery}"),
        # braces would end the tag early
        ("a}b{c", "{a%7Db%7Bc}"),
        # the escape itself is escaped, so that no two lanes share a tag
        ("a%7Db", "{a%257Db}"),
        # Redis takes the text as bytes; nothing else needs care
        ("заказы ☃", "{заказы ☃}"),
    ],
)
def test_a_lane_with_odd_characters_has_a_tag_of_its_own(lane: str, expected: str) -> None:
    assert tag(lane) == expected


def test_a_slot_is_part_of_the_tag() -> None:
    assert tag("orders", slot=3, slots=8) == "{orders/3}"


def test_slots_are_crc32_of_the_basis_modulo_their_number() -> None:
    assert slot_of("123456789", 8) == 0xCBF43926 % 8  # the check value of CRC-32


def test_a_lane_without_a_name_is_refused() -> None:
    with pytest.raises(OptionError, match="a lane needs a name"):
        LaneKeys("")


def test_no_script_spells_a_key_suffix_by_itself() -> None:
    suffixes = {*QUEUE_PARTS.values(), *LANE_PARTS.values()}

    for path in (REPOSITORY / "delayhub/engine/lua").rglob("*.lua"):
        spelled = {suffix for suffix in suffixes if f"'{suffix}'" in path.read_text()}
        assert not spelled, f"{path.name} spells {spelled}"


def test_a_script_gets_the_constants_it_names_and_no_others() -> None:
    assert lua_constants("q .. LEASED, MAX_STEPS") == "local LEASED = ':leased'\nlocal MAX_STEPS = 10\n"


def test_the_data_model_page_has_every_key_with_its_own_words() -> None:
    page = (REPOSITORY / "docs/redis_data_model.md").read_text()
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
