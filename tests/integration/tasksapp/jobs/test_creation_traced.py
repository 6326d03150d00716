"""Jobs that are created under a span keep its trace context."""

from __future__ import annotations

import pytest

from tasksapp.errors import InvalidJob
from tasksapp.jobs.creation import Created, JobRequest, create, create_many
from tasksapp.models import BizType
from tests.fixture_types import MakeBizType
from tests.tracing import ids_of, trace_and_span, tracing_on

pytestmark = pytest.mark.django_db(transaction=True)

ONE, OTHER = ("00-" + letter * 32 + "-" + letter * 16 + "-01" for letter in "ab")


def contexts_of(requests: list[JobRequest]) -> list[str]:
    """The trace contexts of the jobs that are made of them."""
    made = create_many(requests)
    return [one.job.traceparent for one in made if isinstance(one, Created)]


def test_a_bulk_is_one_span_whose_context_all_its_jobs_keep(biz_type: BizType, make_biz_type: MakeBizType) -> None:
    make_biz_type("order.remind")
    with tracing_on() as traces:
        kept = contexts_of([JobRequest(code, delay=60) for code in ("order.close", "order.remind", "order.close")])

    span = traces.one("create jobs")
    assert {trace_and_span(one) for one in kept} == {ids_of(span)}
    assert (span.attributes or {})["messaging.batch.message_count"] == 3


def test_where_callers_differ_each_job_keeps_its_callers_context(biz_type: BizType) -> None:
    with tracing_on() as traces:
        kept = contexts_of([JobRequest("order.close", traceparent=given) for given in (ONE, OTHER, "")])

    assert kept[:2] == [ONE, OTHER]
    assert trace_and_span(kept[2]) == ids_of(traces.one("create order.close"))


def test_a_context_that_is_none_and_a_biz_type_that_is_none_do_no_harm(biz_type: BizType) -> None:
    with tracing_on() as traces:
        created = create("order.close", traceparent=["no", "text"])  # type: ignore[arg-type]  # callers send anything
        with pytest.raises(InvalidJob):
            create({"a": 1})  # type: ignore[arg-type]  # the same

    assert trace_and_span(created.job.traceparent) == ids_of(traces.one("create order.close"))
    assert traces.one("create jobs")


def test_the_same_request_with_the_same_key_is_the_same_job_whatever_its_span(biz_type: BizType) -> None:
    with tracing_on():
        first = create("order.close", delay=60, idempotency_key="k")
        second = create("order.close", delay=60, idempotency_key="k")

    assert (first.created, second.created, second.job_id) == (True, False, first.job_id)
