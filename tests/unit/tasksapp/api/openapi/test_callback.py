"""The webhook of the OpenAPI document names what is sent, and what an answer may say."""

from __future__ import annotations

from tasksapp.api.openapi.callback import ACTION, HEADERS, NEXT_IN, WEBHOOKS
from tasksapp.delivery import answers
from tasksapp.delivery.outcomes import Delivered, GiveUp, Retry, Snooze
from tasksapp.delivery.sent_headers import SIGNATURE, SentHeaders, own_lines

FULL = SentHeaders(
    due_ms=0,
    attempt=1,
    max_attempts=2,
    redrives=1,
    length=2,
    is_signed=True,
    is_test=True,
    traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    head=("DelayHub", "a"),
    occurrence_ms=1,
    turn=1,
    is_out_of_order=True,
)


def sent(headers: SentHeaders) -> set[str]:
    lines = own_lines(headers, job_id="1", started_ms=0, lateness_ms=0)
    return {line.partition(":")[0] for line in lines.splitlines()}


def test_every_header_of_a_callback_is_named_and_those_that_are_always_there() -> None:
    least = sent(FULL._replace(redrives=0, is_test=False, traceparent="", occurrence_ms=0, turn=0))

    assert {each["name"] for each in HEADERS} == sent(FULL) | {SIGNATURE, "delayhub-biz-type"}
    assert {each["name"] for each in HEADERS if each["required"]} == least | {"delayhub-biz-type"}


def test_the_answers_are_those_that_are_understood() -> None:
    operation = WEBHOOKS["callback"]["post"]
    steering = operation["responses"]["2XX"]["headers"]

    assert (ACTION, NEXT_IN) == (answers.ACTION, answers.NEXT_IN)
    understood = {
        action: type(answers.judge(None, 500, {ACTION: action}, now_ms=0))  # type: ignore[arg-type]  # not asked
        for action in steering[ACTION]["schema"]["enum"]
    }
    taken = {"done": Delivered, "cancel-others": Delivered}
    assert understood == {**taken, "fail": GiveUp, "retry": Retry, "snooze": Snooze}
