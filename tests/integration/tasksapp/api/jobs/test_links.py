"""Answer links over REST: made and shown once, listed without their addresses, withdrawn; for keys with that scope."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from tasksapp.access.keys import issue_key
from tasksapp.jobs.answer_links import look_at_link
from tasksapp.models import AuditEntry, BizType
from tests.fixture_types import Ask, MakeBizType
from tests.job_rows import store_job

pytestmark = [pytest.mark.django_db, pytest.mark.database]

FIELDS = {"given_to": "eve@shop.example", "outcomes": ["approved", "rejected"], "question": "May it be paid?"}


@pytest.fixture
def asking(ask_as: Callable[[str], Ask], settings: Any) -> Ask:
    """Asks as a key that may make links, and nothing else."""
    settings.DELAYHUB = {**settings.DELAYHUB, "SITE_URL": "https://delayhub.example"}
    return ask_as(issue_key("expenses", scopes=["jobs:link"]).key)


@pytest.fixture
def question(make_biz_type: MakeBizType) -> BizType:
    make_biz_type("after.answer")
    return make_biz_type("ask", on_resolved="after.answer")


def test_a_link_is_made_listed_and_withdrawn(asking: Ask, question: BizType) -> None:
    path = f"/jobs/{store_job(question, biz_id='42', due_in=timedelta(hours=1)).pk}/links"

    made = asking("POST", path, FIELDS)
    listed = asking("GET", path)
    gone = asking("DELETE", f"{path}/{made.json()['id']}")
    again = asking("DELETE", f"{path}/{made.json()['id']}")

    assert (made.status_code, listed.status_code, gone.status_code, again.status_code) == (201, 200, 204, 404)
    address, _, token = made.json().pop("url").partition("#")
    assert address == "https://delayhub.example/api/answer"
    assert token not in listed.content.decode()
    assert listed.json() == [{name: value for name, value in made.json().items() if name != "url"}]
    assert FIELDS.items() <= listed.json()[0].items()
    assert (listed.json()[0]["used_at"], listed.json()[0]["created_by"]) == (None, "api:expenses")
    assert asking("GET", path).json() == []
    verbs = list(AuditEntry.objects.order_by("id").values_list("verb", "actor"))
    assert verbs == [("link", "api:expenses"), ("withdraw_link", "api:expenses")]


def test_the_address_is_the_sites_own_whatever_host_was_asked(asking: Ask, question: BizType, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    job = store_job(question, biz_id="42", due_in=timedelta(hours=1))

    made = asking("POST", f"/jobs/{job.pk}/links", FIELDS, host="evil.example")

    assert made.json()["url"].startswith("https://delayhub.example/api/answer#")
    assert look_at_link(made.json()["url"].partition("#")[2])[1].pk == job.pk


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({**FIELDS, "outcomes": []}, 400),
        ({**FIELDS, "outcomes": "approved"}, 400),
        ({**FIELDS, "outcomes": ["a", "a"]}, 400),
        ({**FIELDS, "given_to": ""}, 400),
        ({**FIELDS, "expires_at": "yesterday"}, 400),
        ({**FIELDS, "body": 1}, 400),
        ({"outcomes": ["approved"]}, 400),
    ],
)
def test_what_cannot_be_is_refused(asking: Ask, question: BizType, fields: dict[str, Any], status: int) -> None:
    job = store_job(question, biz_id="42", due_in=timedelta(hours=1))

    assert asking("POST", f"/jobs/{job.pk}/links", fields).status_code == status


def test_a_job_that_is_none_has_no_links(asking: Ask) -> None:
    assert asking("POST", "/jobs/01a1fcb9-e182-7773-bac4-bf777e5e56f2/links", FIELDS).status_code == 404
    assert asking("GET", f"/jobs/{'-' * 36}/links").status_code == 404
