"""The callback that DelayHub sends, as a webhook of the OpenAPI document: its headers, and what may be answered."""

from __future__ import annotations

from typing import Any

#: The headers by which a receiver steers, as ``delivery.answers`` reads them.
ACTION, NEXT_IN = "DelayHub-Action", "DelayHub-Next-In"

_ID = "01a1fcb9-e182-7773-bac4-bf777e5e56f2"


def _sent(name: str, schema: dict[str, Any], example: Any, description: str, *, always: bool = True) -> dict[str, Any]:
    return {
        "name": name,
        "in": "header",
        "required": always,
        "schema": schema,
        "example": example,
        "description": description,
    }


_TEXT, _TIME = {"type": "string"}, {"type": "string", "format": "date-time"}
_COUNT = {"type": "integer", "minimum": 1}

#: What every callback has beside HTTP's own headers; a test compares it with what is sent.
HEADERS = [
    _sent("webhook-id", {"type": "string", "format": "uuid"}, _ID,
          "The job's id: the same on every attempt, and after a redrive. Deduplicate by it and `delayhub-redrive`."),
    _sent("webhook-timestamp", _TEXT, "1801384200",
          "When this attempt began, in Unix seconds; refuse what is older than a few minutes."),
    _sent("webhook-signature", _TEXT, "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
          "Standard Webhooks' signature of id, timestamp and body; two, with a blank between, while a secret is"
          " replaced. Absent where the biz type has no secret.", always=False),
    _sent("delayhub-biz-type", _TEXT, "order.close", "The code of the biz type."),
    _sent("delayhub-due-at", _TIME, "2027-01-31T08:30:00.000+00:00", "When the caller wanted it."),
    _sent("delayhub-lateness-ms", {"type": "integer"}, 13, "How much later than planned this attempt began."),
    _sent("delayhub-attempt", _COUNT, 1, "The number of this attempt; a redrive counts from 1 again."),
    _sent("delayhub-max-attempts", _COUNT, 16, "How many attempts there may be."),
    _sent("delayhub-redrive", _COUNT, 1, "How often the job was redriven; absent for 0.", always=False),
    _sent("delayhub-occurrence-at", _TIME, "2027-01-31T08:30:00.000+00:00",
          "Which of its series the job is: the moment of the schedule; absent where it is none.", always=False),
    _sent("delayhub-turn", _COUNT, 1801384200000000,
          "It grows with each job of the flow key that begins, where they run in their order; attempts of a job have"
          " the same unless another job of the key began between them, as after a redrive. Refuse what is smaller than"
          " the last one you took. Absent where there is no order.",
          always=False),
    _sent("delayhub-out-of-order", {"type": "string", "const": "true"}, "true",
          "It was dead and let others of its flow key go, and was redriven: jobs that come after it in their order"
          " may have been there before it.", always=False),
    _sent("delayhub-test", {"type": "string", "const": "1"}, "1",
          "Somebody tries the receiver, and there is no job: answer, and do nothing.", always=False),
    _sent("traceparent", _TEXT, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
          "W3C trace context of the request that made the job, if it had one.", always=False),
]  # fmt: skip

_ANSWERED = {
    ACTION: {
        "schema": {"type": "string", "enum": ["done", "fail", "retry", "snooze", "cancel-others"]},
        "description": "What becomes of the job, whatever the status code: it has succeeded, is dead, is tried again,"
        " or is tried again without using an attempt (snooze);"
        " or it has succeeded and the other pending jobs of its business key are cancelled.",
    },
    NEXT_IN: {
        "schema": {"type": "number", "minimum": 0},
        "description": "The next attempt comes after so many seconds at the earliest.",
    },
    "Retry-After": {"schema": {"type": "string"}, "description": "The same, in seconds or as a date."},
}


def _answer(description: str) -> dict[str, Any]:
    return {"description": description, "headers": _ANSWERED}


WEBHOOKS: dict[str, Any] = {
    "callback": {
        "post": {
            "operationId": "callback",
            "tags": ["Callbacks"],
            "summary": "A job is due",
            "description": (
                "Sent to the URL of the biz type, by its method (POST, or PUT or PATCH), with its own headers and"
                " credentials. A callback may come twice: at least once is what DelayHub promises. Answer within the"
                " biz type's timeout."
            ),
            "security": [],
            "parameters": HEADERS,
            "requestBody": {
                "required": True,
                "description": "The body of the job, byte by byte as its caller wrote it.",
                "content": {"application/json": {"schema": {}, "example": {"order": 42}}},
            },
            "responses": {
                "2XX": _answer("The job has succeeded."),
                "3XX": _answer("The attempt failed: redirects are not followed."),
                "410": _answer("The job is dead; so it is at a permanent status code of the biz type."),
                "4XX": _answer("The attempt failed; the job is tried again, as the retry policy says."),
                "5XX": _answer("The attempt failed; the job is tried again. Many in a row open the breaker."),
            },
        }
    }
}
