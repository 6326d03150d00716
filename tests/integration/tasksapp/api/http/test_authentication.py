"""A caller has a valid key, or is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from tasksapp.access.keys import MOST_WRONG, WRONG_SECONDS
from tasksapp.models import ApiKey, BizType, Job
from tests.fixture_types import Ask
from tests.integration.tasksapp.api.problem_documents import problem

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer dh_wrong", "Basic dXNlcjpwYXNz"])
def test_a_caller_without_a_valid_key_is_refused(client: Any, db: None, header: str) -> None:
    response = client.get("/api/v1/jobs", headers={"authorization": header} if header else {})

    problem(response, 401)
    assert response["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    "revoke", [lambda: ApiKey.objects.update(enabled=False), lambda: ApiKey.objects.all().delete()],
    ids=["disabled", "deleted"],
)  # fmt: skip
def test_a_revoked_key_is_refused_by_the_next_request(
    ask: Ask, biz_type: BizType, revoke: Callable[[], object]
) -> None:
    job = {"biz_type": "order.close", "delay": 60}
    assert ask("POST", "/jobs", job).status_code == 201

    revoke()

    for method, path, body in [("POST", "/jobs", job), ("POST", "/jobs/bulk", {"jobs": [job]}), ("GET", "/jobs", None)]:
        problem(ask(method, path, body), 401)
    assert Job.objects.count() == 1


def test_wrong_keys_of_one_address_wait_and_right_ones_pass_all_the_same(client: Client, key: str) -> None:
    def ask(given: str, address: str = "192.0.2.1") -> Any:
        return client.get("/api/v1/jobs", headers={"authorization": f"Bearer {given}"}, REMOTE_ADDR=address)

    answers = [ask(f"dh_guess-{number}") for number in range(MOST_WRONG + 3)]

    assert [answer.status_code for answer in answers] == [401] * MOST_WRONG + [429] * 3
    document = problem(answers[-1], 429)
    assert document["type"] == "/api/problems/too_many_wrong_keys"
    assert 0 < int(answers[-1]["Retry-After"]) <= WRONG_SECONDS
    assert ask(key).status_code == 200
    assert ask("dh_guess").status_code == 429, "a right key of somebody else's at that address changes nothing"
    assert ask("dh_guess", "192.0.2.2").status_code == 401


def test_creates_and_calls_without_a_key_are_answered_so_too(client: Client, key: str) -> None:
    for _ in range(MOST_WRONG):
        problem(client.post("/api/v1/jobs", headers={"authorization": "Bearer dh_wrong"}), 401)

    problem(client.post("/api/v1/jobs", headers={"authorization": "Bearer dh_wrong"}), 429)
    problem(client.post("/api/v1/jobs"), 401)


def test_behind_a_proxy_the_address_is_the_one_that_the_proxy_saw(client: Client, key: str, settings: Any) -> None:
    settings.REST_FRAMEWORK = {"NUM_PROXIES": 1}
    headers = {"authorization": "Bearer dh_wrong", "x-forwarded-for": "192.0.2.1"}
    for _ in range(MOST_WRONG):
        client.get("/api/v1/jobs", headers=headers)

    assert client.get("/api/v1/jobs", headers=headers).status_code == 429
    assert client.get("/api/v1/jobs", headers={**headers, "x-forwarded-for": "192.0.2.2"}).status_code == 401


@pytest.mark.parametrize("there", ["https://c2.example/hub/", "https://c2.example"])
def test_who_was_moved_below_a_path_is_sent_there_by_an_address_that_has_it_once(
    client: Client, key: str, there: str
) -> None:
    ApiKey.objects.update(moved_to=there)

    answer = client.get("/api/v1/jobs?limit=1", headers={"Authorization": f"Bearer {key}"}, SCRIPT_NAME="/hub")

    assert (answer.status_code, answer["Location"]) == (308, "https://c2.example/hub/api/v1/jobs?limit=1")
