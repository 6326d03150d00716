"""The options of the timeout centre: typed, bounded, and named in every complaint."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from tasksapp import checks, conf


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        # misspelt
        ({"LEASE_SECOND": 5}, "DELAYHUB['LEASE_SECOND'] is not an option"),
        # out of range, of the wrong kind, and True is no number
        ({"LEASE_SECONDS": 0}, "DELAYHUB['LEASE_SECONDS'] must be 1 to 3600, got 0"),
        ({"FLUSH_SIZE": 1.5}, "DELAYHUB['FLUSH_SIZE'] must be a number, got 1.5"),
        ({"SWEEP_SECONDS": True}, "DELAYHUB['SWEEP_SECONDS'] must be a number, got True"),
        ({"LEASE_SECONDS": float("nan")}, "DELAYHUB['LEASE_SECONDS'] must be 1 to 3600, got nan"),
        # lists of strings
        ({"LANES": "delayhub.timers"}, "DELAYHUB['LANES'] must be a list of strings, got 'delayhub.timers'"),
        ({"LANES": []}, "DELAYHUB['LANES'] is empty"),
        ({"ALLOWED_NETWORKS": ["10.0.0.1/8"]}, "DELAYHUB['ALLOWED_NETWORKS']: 10.0.0.1/8 has host bits set"),
        ({"REDIS_URL": 6379}, "DELAYHUB['REDIS_URL'] must be a string or None, got 6379"),
        # one of a few words
        ({"SCHEMA_ACCESS": "all"}, "DELAYHUB['SCHEMA_ACCESS'] must be one of ['callers', 'anyone'], got 'all'"),
        ({"SCHEMA_ACCESS": None}, "DELAYHUB['SCHEMA_ACCESS'] must be one of ['callers', 'anyone'], got None"),
    ],
)
def test_a_setting_that_cannot_work_is_named_with_its_value(
    settings: Any, given: dict[str, Any], complaint: str
) -> None:
    settings.DELAYHUB = given

    assert [(found.id, found.msg) for found in checks.check_options(None)] == [("delayhub.E002", complaint)]


def test_options_follow_the_settings(settings: Any) -> None:
    assert conf.options().lease_seconds == 60

    settings.DELAYHUB = {"LEASE_SECONDS": 7, "LANES": ["a", "b"]}
    assert conf.options().lease_seconds == 7
    assert conf.options().lanes == ("a", "b")

    settings.DELAYHUB = {"LEASE_SECONDS": -7}
    with pytest.raises(ImproperlyConfigured, match="got -7"):
        conf.options()


def test_every_option_has_a_meaning_and_every_number_its_bounds() -> None:
    meaning = conf.Options.__doc__ or ""
    for name, kind in conf.Options.__annotations__.items():
        assert f"        {name}: " in meaning
        assert kind not in ("int", "float") or name in conf._LIMITS
