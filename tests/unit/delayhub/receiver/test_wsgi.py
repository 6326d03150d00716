"""Hooks and checks as WSGI applications."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest

from delayhub.receiver import Answer, Verifier
from delayhub.receiver.once import Hook
from delayhub.receiver.wsgi import ENVIRON_KEY, VerifiedWsgi, WsgiHook
from tests.signed_callbacks import SECRET, signed
from tests.unit.delayhub.receiver.open_inbox import OpenInbox

VERIFIER = Verifier(SECRET)


def respond(app: Any, headers: dict[str, str], body: bytes, **environ: Any) -> tuple[str, dict[str, str], bytes]:
    """The status line, headers and body of an answer."""
    answers: list[Any] = []
    named = {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items()}
    given = {"CONTENT_LENGTH": str(len(body)), **named, **environ, "wsgi.input": BytesIO(body)}
    parts = app(given, lambda status, sent: answers.append((status, dict(sent))))
    [(status, sent)] = answers
    return status, sent, b"".join(parts)


def hook(answer: Answer | None = None) -> Any:
    return Hook(lambda callback, work: answer, verifier=VERIFIER, inbox=OpenInbox(), count_redrives=True)


def echo(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    """Sends back the callback's id and the body."""
    start_response("200 OK", [])
    return [environ[ENVIRON_KEY].id.encode(), environ["wsgi.input"].read()]


def test_a_hook_answers_a_request() -> None:
    answer = Answer(200, {"DelayHub-Action": "done"}, b"fine")

    status, headers, body = respond(WsgiHook(hook(answer)), signed("job-1"), b"{}")

    assert (status, body) == ("200 OK", b"fine")
    assert headers == {"DelayHub-Action": "done", "Content-Length": "4"}
    assert respond(WsgiHook(hook()), signed("job-1"), b"{}") == ("204 No Content", {}, b"")
    assert respond(WsgiHook(hook()), {}, b"{}")[0] == "401 Unauthorized"


def test_an_answer_may_have_a_status_code_without_a_name() -> None:
    assert respond(WsgiHook(hook(Answer(599))), signed("job-1"), b"{}")[0] == "599 Unknown"


def test_the_application_behind_the_check_gets_callbacks_only() -> None:
    app = VerifiedWsgi(echo, VERIFIER)

    assert respond(app, signed("job-1"), b"{}")[2] == b"job-1{}"
    assert respond(app, signed("job-1"), b"{ }")[0] == "401 Unauthorized"


@pytest.mark.parametrize("app", [WsgiHook(hook(), most_bytes=3), VerifiedWsgi(echo, VERIFIER, most_bytes=3)])
def test_a_body_that_is_too_long_is_refused_however_it_comes(app: Any) -> None:
    chunked = {"CONTENT_LENGTH": "", "wsgi.input_terminated": True}

    assert respond(app, {}, b"1234")[0].startswith("413")
    assert respond(app, {}, b"1234", **chunked)[0].startswith("413")
    assert respond(app, signed("job-1", body=b"123"), b"123", **chunked)[0].startswith("20")


def test_a_body_without_a_length_that_may_never_end_is_not_read() -> None:
    assert respond(WsgiHook(hook()), signed("job-1", body=b""), b"never read", CONTENT_LENGTH="")[0].startswith("204")
