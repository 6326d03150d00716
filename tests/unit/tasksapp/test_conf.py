"""The options of the timeout centre: typed, bounded, and named in every complaint."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from typing import Any, get_type_hints

import pytest
from django.core.exceptions import ImproperlyConfigured

from delayhub.secrecy import Secrecy
from tasksapp import checks, conf

NO_PATTERN = "must be patterns of names, such as 'shop.*', or 'acme/shop.*' for the tenant acme"
NEVER = "which no biz type may name whatever is allowed: leave it out"
NO_LANE = "DELAYHUB['LANES'] must be names of Celery queues, of letters, digits and ._:@- (100 at most)"


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        # misspelt
        ({"LEASE_SECOND": 5}, "DELAYHUB['LEASE_SECOND'] is not an option: write LEASE_SECONDS, or leave it out"),
        ({"lease_seconds": 5}, "DELAYHUB['lease_seconds'] is not an option: write LEASE_SECONDS, or leave it out"),
        ({"COLOUR": "red"}, "DELAYHUB['COLOUR'] is not an option: leave it out"),
        # out of range, of the wrong kind, and True is no number
        ({"LEASE_SECONDS": 0}, "DELAYHUB['LEASE_SECONDS'] must be 1 to 3600, got 0"),
        ({"FLUSH_SIZE": 1.5}, "DELAYHUB['FLUSH_SIZE'] must be a number, got 1.5"),
        ({"SWEEP_SECONDS": True}, "DELAYHUB['SWEEP_SECONDS'] must be a number, got True"),
        ({"LEASE_SECONDS": float("nan")}, "DELAYHUB['LEASE_SECONDS'] must be 1 to 3600, got nan"),
        # lists of strings
        ({"LANES": "delayhub.timers"}, "DELAYHUB['LANES'] must be a list of strings, got 'delayhub.timers'"),
        ({"LANES": []}, "DELAYHUB['LANES'] is empty: leave it out"),
        # names that a Redis key, a worker's -Q or a person could misread
        *[({"LANES": [lane]}, f"{NO_LANE}, got {lane!r}") for lane in ("a{b}", " ", "a,b", "a b", "x" * 101)],
        ({"LANES": ["a", "b", "a"]}, "DELAYHUB['LANES'] names 'a' twice: write it once"),
        # patterns that fit nothing, and names that are refused all the same
        ({"ALLOWED_TASKS": ["a b"]}, f"DELAYHUB['ALLOWED_TASKS'] {NO_PATTERN}, got 'a b'"),
        ({"ALLOWED_QUEUES": ["acme/"]}, f"DELAYHUB['ALLOWED_QUEUES'] {NO_PATTERN}, got 'acme/'"),
        ({"ALLOWED_TASKS": ["acme/celery.map"]}, f"DELAYHUB['ALLOWED_TASKS'] has 'acme/celery.map', {NEVER}"),
        ({"ALLOWED_QUEUES": ["x.pidbox"]}, f"DELAYHUB['ALLOWED_QUEUES'] has 'x.pidbox', {NEVER}"),
        ({"ALLOWED_NETWORKS": ["10.0.0.1/8"]}, "DELAYHUB['ALLOWED_NETWORKS']: 10.0.0.1/8 has host bits set"),
        (
            {"METRICS_NETWORKS": ["x"]},
            "DELAYHUB['METRICS_NETWORKS']: 'x' does not appear to be an IPv4 or IPv6 network",
        ),
        # a secret is not shown, of the wrong type neither
        ({"METRICS_TOKENS": "hush"}, "DELAYHUB['METRICS_TOKENS'] must be a list of strings, got a value of type str"),
        ({"OWNER_SECRET": b"hush"}, "DELAYHUB['OWNER_SECRET'] must be a string or None, got a value of type bytes"),
        (
            {"METRICS_TOKENS": ["0123456789abcdef", "hush"]},
            "DELAYHUB['METRICS_TOKENS'] has a token of fewer than 16 characters: `openssl rand -hex 32` makes one",
        ),
        ({"REDIS_URL": 6379}, "DELAYHUB['REDIS_URL'] must be a string or None, got a value of type int"),
        ({"CELL": "Frankfurt"}, "DELAYHUB['CELL'] must be one to four of a-z and 0-9, such as 'c2', got 'Frankfurt'"),
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
    meaning = inspect.getdoc(conf.Options) or ""
    for name, kind in get_type_hints(conf.Options).items():
        assert f"    {name}: " in meaning
        assert (conf.limits_of(name) is not None) == (kind in (int, float))


def test_settings_that_are_no_dict_are_refused_with_a_sentence(settings: Any) -> None:
    settings.DELAYHUB = ["LANES"]

    with pytest.raises(ImproperlyConfigured, match="DELAYHUB must be a dict, got a list"):
        conf.options()


def test_every_text_says_by_a_mark_what_may_be_shown_of_it() -> None:
    texts = {field.name for field in fields(conf.Options) if not isinstance(field.default, bool | int | float)}

    assert {name for name in texts if conf.secrecy_of(name) is None} == set()


def test_no_option_that_is_named_like_a_secret_is_marked_open() -> None:
    named = {field.name for field in fields(conf.Options) if re.search("secret|token|_keys?$|passw|_url$", field.name)}

    # Links in messages lead to the site.
    assert {name for name in named if conf.secrecy_of(name) is Secrecy.OPEN} == {"site_url"}


def test_options_that_are_printed_show_no_secret() -> None:
    found = repr(conf.read({"OWNER_SECRET": "hush-1", "OWNER_URL": "https://hush-2/", "FLUSH_SIZE": 7}))

    assert "hush" not in found
    assert "flush_size=7" in found
