"""The transport's options, as a Celery project writes them into ``broker_transport_options``."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from delayhub.engine import EngineOptions
from delayhub.errors import OptionError
from delayhub.transport.options import KNOWN_OPTIONS, OWN_OPTIONS, REFUSED, REPORT_ATTEMPTS, TransportOptions


def test_our_options_are_taken_from_among_kombus() -> None:
    found = TransportOptions.of(
        {"lease_seconds": 5, "wait_replicas": 1, "visibility_timeout": 3600, "global_keyprefix": "shop:"}
    )

    assert found == TransportOptions(lease_seconds=5, wait_replicas=1, key_prefix="shop:")


def test_every_option_of_ours_can_be_given() -> None:
    given: dict[str, Any] = {
        "lease_seconds": 1,
        "max_strikes": 2,
        "max_hold_seconds": 3,
        "check_redis": False,
        "wait_replicas": 4,
        "wait_seconds": 5,
        "wait_replicas_missing": "warn",
        "failover_seconds": 6,
        "compact": True,
    }

    found = TransportOptions.of(given)

    assert set(given) == set(OWN_OPTIONS)
    assert {name: getattr(found, name) for name in OWN_OPTIONS} == given


@pytest.mark.parametrize(
    ("name", "value"),
    [("queue_order_strategy", "priority"), ("queue_order_strategy", "sorted"), ("ack_emulation", False)],
)
def test_an_option_of_kombus_that_asks_for_what_there_is_not_is_refused_with_the_reason(name: str, value: Any) -> None:
    words = f"^{name} of broker_transport_options must be .*, got {value!r}: on this broker .*[.]"
    with pytest.raises(OptionError, match=words):
        TransportOptions.of({name: value})

    assert TransportOptions.of({name: REFUSED[name][0]}) == TransportOptions()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lease_seconds", 0),
        ("max_strikes", 0),
        ("max_hold_seconds", 0),
        ("wait_replicas", -1),
        # Redis would wait for ever
        ("wait_seconds", 0),
        ("failover_seconds", -1),
    ],
)
def test_an_option_that_cannot_work_is_named_with_its_value(name: str, value: float) -> None:
    with pytest.raises(OptionError, match=f"{name} must (not )?be (positive|negative), got {value}"):
        TransportOptions.of({name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        # as os.environ gives it
        ("lease_seconds", "5"),
        ("max_hold_seconds", "60"),
        ("max_strikes", 2.5),
        ("check_redis", "no"),
        ("wait_replicas", True),
        ("wait_seconds", None),
        ("wait_replicas_missing", "shrug"),
        ("global_keyprefix", 7),
    ],
)
def test_an_option_of_another_type_is_named_with_what_it_must_be(name: str, value: Any) -> None:
    own = {"global_keyprefix": "key_prefix"}.get(name, name)

    with pytest.raises(OptionError, match=rf"{own} must be (a|True).* got {value!r}"):
        TransportOptions.of({name: value})


@pytest.mark.parametrize(
    ("given", "meant"),
    [("lease_second", "lease_seconds"), ("max_strike", "max_strikes"), ("visiblity_timeout", "visibility_timeout")],
)
def test_a_name_that_is_nearly_right_is_refused(given: str, meant: str) -> None:
    with pytest.raises(OptionError, match=f"has no '{given}': did you mean '{meant}'"):
        TransportOptions.of({given: 5})


def test_a_name_that_no_one_reads_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("delayhub.transport.options").propagate = True

    for _ in range(2):
        TransportOptions.of({"region_of_another_broker": "eu"})

    assert caplog.text.count("region_of_another_broker") == 1


@pytest.mark.parametrize("name", sorted(KNOWN_OPTIONS - {*OWN_OPTIONS, "global_keyprefix"}))
def test_kombus_own_options_are_let_through(name: str, caplog: pytest.LogCaptureFixture) -> None:
    assert TransportOptions.of({name: REFUSED.get(name, ["any"])[0]}) == TransportOptions()
    assert [record for record in caplog.records if record.name.startswith("delayhub.transport.options")] == []


def test_a_message_may_be_held_for_ever_unless_it_is_said() -> None:
    assert TransportOptions().max_hold_seconds is None


def test_the_engine_leaves_some_claims_for_the_report_that_a_message_is_dead() -> None:
    engine = TransportOptions(lease_seconds=5, max_strikes=2, key_prefix="shop:").engine()

    assert engine == EngineOptions(key_prefix="shop:", lease_seconds=5, max_strikes=2 + REPORT_ATTEMPTS)
