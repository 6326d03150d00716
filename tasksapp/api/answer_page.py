"""The page of an answer link, for a person without a login: it asks, and a POST answers. It has no session.

GET gives everybody the same page and asks no database: what scans mails follows links. The token is in the fragment of
the address, which browsers send to nobody; the page's script posts it, and an answer only once a person has chosen one.
"""

from __future__ import annotations

import secrets
from collections.abc import Hashable
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template import Context, Engine
from django.utils.translation import get_language_from_request, override
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from delayhub.failure_limit import FailureLimit
from tasksapp.access.audit import REASON_LENGTH
from tasksapp.api.http.answers import timestamp
from tasksapp.api.http.authentication import client_address, client_ip
from tasksapp.api.http.exception_handler import problem_of
from tasksapp.api.http.json_body import read_object
from tasksapp.api.http.problems import Refused, only_known
from tasksapp.api.http.served import served
from tasksapp.errors import JobError, LinkNotFound, LinkOver
from tasksapp.jobs.answer_links import answer_by_link, look_at_link
from tasksapp.models.encrypted_text import SecretUnreadable
from tasksapp.models.sealable import UNREADABLE

#: Of a request.
MOST_BYTES = 2_048
#: Requests about one job, and requests of one client about links that are none, in this process.
MOST, WINDOW_SECONDS = 30, 60.0
_asked = FailureLimit(most=MOST, window_seconds=WINDOW_SECONDS)

#: An engine of its own: a project that has no pages of its own needs none in its settings.
_ENGINE = Engine(app_dirs=True, libraries={"i18n": "django.templatetags.i18n"})
_HEADERS = {
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
}
_POLICY = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)


@csrf_exempt  # no cookie says who asks, and no form of another site can send JSON
@login_not_required
@served
def answer_page(request: HttpRequest) -> HttpResponse:
    """The page (GET); what the link asks, or with an ``outcome`` that this is answered (POST)."""
    answer = _answer(request)
    for name, value in _HEADERS.items():
        answer.headers[name] = value
    return answer


@require_http_methods(["GET", "HEAD", "POST"])
def _answer(request: HttpRequest) -> HttpResponse:
    if request.method == "POST":
        return _posted(request)
    nonce, language = secrets.token_urlsafe(16), get_language_from_request(request)
    with override(language):
        page = _ENGINE.get_template("tasksapp/answer.html").render(Context({"nonce": nonce, "language": language}))
    return HttpResponse(page, headers={"Content-Security-Policy": _POLICY.format(nonce=nonce)})


def _posted(request: HttpRequest) -> HttpResponse:
    try:
        fields = read_object(request, max_bytes=MOST_BYTES)
        only_known(fields, {"token", "outcome"})
        return JsonResponse(_said(request, fields))
    except Refused as refused:
        return refused.problem.response()
    except (JobError, SecretUnreadable) as error:
        problem = problem_of(error)
        if problem is None:
            raise
        return problem.response()


def _said(request: HttpRequest, fields: dict[str, Any]) -> dict[str, Any]:
    try:
        link, job = look_at_link(fields.get("token"))
    except (LinkNotFound, LinkOver):
        # Only then: a site may see all people with the address of its proxy, and good links work all the same.
        client = client_address(request)
        _refuse_too_many(client)
        _asked.failed(client)
        raise
    _refuse_too_many(job.id)
    _asked.failed(job.id)
    if "outcome" not in fields:
        if link.question == UNREADABLE:
            raise SecretUnreadable(UNREADABLE)  # nobody is asked what cannot be read
        return {"question": link.question, "outcomes": link.outcomes, "expires_at": timestamp(link.expires_at)}
    agent = request.META.get("HTTP_USER_AGENT", "")[:REASON_LENGTH]
    answer_by_link(fields["token"], fields["outcome"], address=client_ip(request), agent=agent)
    return {"outcome": fields["outcome"]}


def _refuse_too_many(kind: Hashable) -> None:
    if wait := _asked.wait_seconds(kind):
        raise Refused.of("throttled", "Too many requests about this link, or from your address.", again_seconds=wait)
