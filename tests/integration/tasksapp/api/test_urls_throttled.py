"""REST framework's own throttles, where a project has them as its defaults, count callers of the API too."""

from __future__ import annotations

import pytest

from tests.integration.tasksapp.api.host_project import Answer, asked_of_a_host

pytestmark = pytest.mark.slow

BEARER = {"authorization": "Bearer {key}"}


def throttled(throttle: str, *addresses: str, urls: str = "host_urls") -> list[Answer]:
    """What a project with that throttle answers to a create and a read (both count), and one more of each, of each."""
    rates = {"user": "2/hour", "anon": "2/hour", "delay": "2/hour"}
    host = asked_of_a_host(
        {
            "ROOT_URLCONF": f"tests.integration.tasksapp.api.{urls}",
            "REST_FRAMEWORK": {
                "DEFAULT_THROTTLE_CLASSES": [f"rest_framework.throttling.{throttle}"],
                "DEFAULT_THROTTLE_RATES": rates,
            },
            "DELAYHUB": {"SCHEMA_ACCESS": "anyone"},
        },
        [
            (method, address, BEARER if "jobs" in address else {})
            for address in addresses
            for method in ("POST", "GET", "POST", "GET")
        ],
    )
    return host.answers


@pytest.mark.parametrize(
    ("throttle", "urls"),
    [
        ("UserRateThrottle", "host_urls"),
        pytest.param("ScopedRateThrottle", "host_urls_with_scope", marks=pytest.mark.nightly),
    ],
)
def test_a_caller_beyond_the_rate_is_told_when_to_come_back(throttle: str, urls: str) -> None:
    empty_create, read, *refused = throttled(throttle, "v1/jobs", urls=urls)

    assert (empty_create.status, read.status) == (400, 200)
    assert [answer.status for answer in refused] == [429, 429]
    for answer in refused:
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert answer.json()["code"] == "throttled"
        assert 0 < int(answer.headers["Retry-After"]) <= 3600


@pytest.mark.nightly  # by day: the throttles of callers and of strangers; each is a project in a process of its own
def test_a_scope_that_no_view_has_lets_callers_pass() -> None:
    assert [answer.status for answer in throttled("ScopedRateThrottle", "v1/jobs")] == [400, 200, 400, 200]


def test_a_throttle_of_strangers_lets_callers_pass_and_counts_who_reads_the_schema() -> None:
    answers = throttled("AnonRateThrottle", "v1/jobs", "schema")

    assert [answer.status for answer in answers] == [400, 200, 400, 200, 405, 200, 429, 429]
