"""Requests that report lost processes and have their eta, made of the class that a task's requests have."""

from __future__ import annotations

from celery import Celery
from celery.worker.request import Request
from kombu import Message

from delayhub.celery_support.request import OurRequest, ours
from delayhub.transport.envelope import DUE_HEADER


class OwnRequest(Request):
    """As a project may have one."""


def test_a_projects_own_requests_stay_its_own_and_report_lost_processes_too() -> None:
    made = ours(OwnRequest)

    assert issubclass(made, OwnRequest)
    assert made.reject is OurRequest.reject
    assert made.__name__ == "OwnRequest"


def test_a_task_sees_the_eta_that_its_worker_does_not_wait_for() -> None:
    app = Celery("requests", set_as_current=False)

    @app.task(name="t")
    def t() -> None:
        pass

    headers = {"id": "1", "task": "t", "eta": None}

    def made(**more: object) -> Request:
        message = Message(
            body="[[], {}, {}]",
            headers={**headers, **more},
            content_type="application/json",
            content_encoding="utf-8",
        )
        return OurRequest(message, app=app)

    waited = made(**{DUE_HEADER: 1_700_000_000_250})
    assert waited.request_dict["eta"] == "2023-11-14T22:13:20.250000+00:00"
    assert waited.eta is None
    assert made().request_dict["eta"] is None
    app.close()


def test_a_class_that_is_ours_already_stays_as_it_is() -> None:
    assert ours(Request) is OurRequest
    assert ours(ours(OwnRequest)).__mro__.count(OurRequest) == 1
