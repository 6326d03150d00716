"""No cache gives the answer that one caller got to another client."""

from __future__ import annotations

import pytest

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
