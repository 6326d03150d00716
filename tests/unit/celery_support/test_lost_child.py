"""Requests that blame their message, made of whatever class a task's requests have."""

from __future__ import annotations

from celery.worker.request import Request

from delayhub.celery_support.lost_child import BlamingRequest, blaming


class OwnRequest(Request):
    """As a project may have one."""


def test_a_projects_own_requests_stay_its_own_and_blame_too() -> None:
    made = blaming(OwnRequest)

    assert issubclass(made, OwnRequest)
    assert made.reject is BlamingRequest.reject
    assert made.__name__ == "OwnRequest"


def test_what_blames_already_stays_as_it_is() -> None:
    assert blaming(Request) is BlamingRequest
    assert blaming(blaming(OwnRequest)).__mro__.count(BlamingRequest) == 1
