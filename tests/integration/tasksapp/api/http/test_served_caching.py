"""No cache gives the answer that one caller got to another client."""

from __future__ import annotations

import pytest

from tasksapp.api.http.served import UNCACHED
from tests.integration.tasksapp.api.host_project import asked_of_a_host

pytestmark = pytest.mark.slow

BEARER = {"authorization": "Bearer {key}"}
CACHE_MIDDLEWARE = [
    "django.middleware.cache.UpdateCacheMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.cache.FetchFromCacheMiddleware",
]


def test_a_project_that_caches_its_pages_asks_each_client_for_its_key() -> None:
    addresses = ["v1/jobs", "v1/biz-types", "schema"]
    requests = [("GET", address, headers) for address in addresses for headers in (BEARER, {})]

    answers = asked_of_a_host({"MIDDLEWARE": CACHE_MIDDLEWARE}, requests).answers

    assert [answer.status for answer in answers] == [200, 401] * len(addresses)


def test_answers_say_that_they_are_not_to_be_stored_in_a_bare_project_too() -> None:
    answers = asked_of_a_host({}, [("GET", "v1/jobs", BEARER), ("POST", "v1/jobs", BEARER)]).answers

    assert [answer.headers["Cache-Control"] for answer in answers] == [UNCACHED, UNCACHED]
