"""The page that tests a biz type: sends one callback to its receiver, or asks workers whether they know its task."""

from __future__ import annotations

from typing import Any, NamedTuple

from celery import current_app
from django import forms
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from kombu.exceptions import OperationalError

from tasksapp.access.shown_text import shown_text
from tasksapp.admin.biz_types.pages import BizTypePages
from tasksapp.admin.frame.fields import JsonField
from tasksapp.admin.frame.masking import indented
from tasksapp.admin.frame.own_page import at
from tasksapp.admin.frame.requests import actor_of
from tasksapp.biz_types.sample_call import (
    LONGEST_SECONDS,
    MOST,
    Busy,
    SampleAnswer,
    TooManySamples,
    Verdict,
    send_recorded_sample,
)
from tasksapp.conf import options
from tasksapp.models import BizType
from tasksapp.models.encrypted_text import SecretUnreadable

#: How long workers have for an answer to each of the two questions.
WAIT_SECONDS = 1.0
#: A broker that is away is not waited for: Celery would try again for six seconds, while a person waits for the page.
AT_ONCE = {"max_retries": 1, "interval_start": 0}


class SampleForm(forms.Form):
    """What is sent."""

    body = JsonField(
        label=gettext_lazy("Body"),
        required=False,  # to Django, {} would be nothing
        widget=forms.Textarea(attrs={"rows": 8, "spellcheck": "false", "class": "delayhub-code"}),
        help_text=gettext_lazy("JSON. It is signed and sent exactly as it stands here."),
    )

    @property
    def text(self) -> str:
        """The body as it was typed."""
        return str(self.data.get("body", "")).strip()

    def clean_body(self) -> Any:
        """The value; it may be no larger than a job's body."""
        if not self.text:
            raise forms.ValidationError(_("Type a body, such as {}."))
        size = len(self.text.encode())
        if size > options().body_bytes:
            raise forms.ValidationError(
                _("The body may have %(most)s bytes, this one has %(size)s.")
                % {"most": f"{options().body_bytes:,}", "size": f"{size:,}"}
            )
        return self.cleaned_data["body"]


class SampleCalls(BizTypePages):
    """The part of the biz type admin that sends test callbacks."""

    @at("<int:biz_type_id>/test/")
    def test_view(self, request: HttpRequest, biz_type_id: int) -> HttpResponse:
        """Asks for a body; sends it and shows the answer. For a Celery task, asks the workers whether they know it.

        Raises PermissionDenied without the permission to send tests, Http404 where there is no such biz type.
        """
        biz_type = self.found(biz_type_id, allowed=self.has_test_permission(request))
        context: dict[str, Any] = {
            "shown_url": shown_text("url", biz_type.url),
            "longest": f"{LONGEST_SECONDS:g}",
            "is_cut": biz_type.timeout_seconds > LONGEST_SECONDS,
        }
        if biz_type.is_pulled:
            context["is_pulled"] = True
        elif biz_type.target == BizType.Target.CELERY:
            context["is_task"] = True
            if request.method == "POST":
                context["asked"] = ask_workers(biz_type)
        elif request.method == "POST":
            form = SampleForm(request.POST)
            if form.is_valid():
                context |= self._send(request, biz_type, form.text)
            context["form"] = form
        else:
            context["form"] = SampleForm(initial={"body": {"test": True, "biz_type": biz_type.code}})
        return self.biz_type_page(
            request,
            biz_type,
            template="biz_type_test.html",
            title=_("Test %(biz_type)s") % {"biz_type": biz_type.label},
            context=context,
        )

    def _send(self, request: HttpRequest, biz_type: BizType, body: str) -> dict[str, Any]:
        """What the page shows: the answer, or why nothing was sent."""
        try:
            answer = send_recorded_sample(biz_type, body=body, sender=request.user.pk, by=actor_of(request))
        except TooManySamples as error:
            said = _("That were %(most)s tests within a minute. Wait %(seconds)s seconds and send it again.")
            return {"refused": said % {"most": MOST, "seconds": int(error.wait_seconds) + 1}}
        except Busy:
            return {"refused": _("Other tests are waiting for their answers. Send it again in a moment.")}
        except SecretUnreadable:
            return {"refused": _("The stored secrets cannot be decrypted: bring the old key back, or set them again.")}
        return {
            "answer": answer,
            "verdict": _in_words(answer),
            "request_headers": _shown_headers(
                answer, biz_type, shows_values=self.has_change_permission(request, biz_type)
            ),
            "response_body": indented(answer.response_body),
        }


def _in_words(answer: SampleAnswer) -> dict[str, str]:
    """What the answer would mean for a job: a heading, a sentence, and the kind of the badge."""
    match answer.verdict:
        case Verdict.SUCCEEDS:
            said = _("The receiver accepted it. A job with this answer is done.")
            if answer.cancels_others:
                said = _(
                    "The receiver accepted it, and asks to cancel the other pending jobs of the same business key."
                )
            return {"kind": "good", "label": _("accepted"), "sentence": said}
        case Verdict.TRIED_AGAIN:
            said = _("A job with this answer is tried again, as the retry schedule says.")
            return {"kind": "warning", "label": _("failed, would be tried again"), "sentence": said}
        case Verdict.DEAD:
            said = _("A job with this answer is dead at once: another attempt would fail as well.")
            return {"kind": "bad", "label": _("failed, would be dead"), "sentence": said}
    said = _("Nothing was sent, for a reason on this side. A job would wait for a minute.")
    return {"kind": "bad", "label": _("not sent"), "sentence": said}


def _shown_headers(answer: SampleAnswer, biz_type: BizType, *, shows_values: bool) -> list[tuple[str, str]]:
    """The headers of the request. The values of those that the biz type adds are for people who may change it."""
    if answer.request is None:
        return []
    own = {name.lower() for name in biz_type.headers}
    hidden = _("(hidden)")
    return [
        (name, value if shows_values or name.lower() not in own else hidden)
        for name, value in dict(answer.request.headers).items()
    ]


class TaskWorkers(NamedTuple):
    """What workers answered.

    Args:
        broker_answers: whether the broker could be asked.
        answering: the names of the workers that answered.
        knowing: those that have the task.
        queue: the queue that its jobs go to; '' where that is not known here.
        consuming: those that take that queue.
    """

    broker_answers: bool
    answering: list[str]
    knowing: list[str]
    queue: str
    consuming: list[str]


def ask_workers(biz_type: BizType) -> TaskWorkers:
    """Asks all workers; takes up to two seconds, since it is not known how many will answer. No task runs."""
    queue = queue_of(biz_type)
    try:
        with current_app.connection_for_write(transport_options=AT_ONCE) as connection:
            inspect = current_app.control.inspect(timeout=WAIT_SECONDS, connection=connection)
            registered: dict[str, list[str]] = inspect.registered() or {}
            queues: dict[str, Any] = dict(inspect.active_queues() or {}) if registered else {}
    except (OperationalError, OSError):
        return TaskWorkers(False, [], [], queue, [])
    return TaskWorkers(
        broker_answers=True,
        answering=sorted(registered),
        knowing=sorted(name for name, tasks in registered.items() if _has(tasks, biz_type.task_name)),
        queue=queue,
        consuming=sorted(name for name, found in queues.items() if any(one["name"] == queue for one in found)),
    )


def queue_of(biz_type: BizType) -> str:
    """The queue that the biz type's jobs go to, as far as this process knows the task."""
    if biz_type.task_queue:
        return biz_type.task_queue
    task = current_app.tasks.get(biz_type.task_name)
    return str(getattr(task, "queue", None) or current_app.conf.task_default_queue)


def _has(registered: list[str], name: str) -> bool:
    """Whether the task is there. Workers may write attributes behind a name: ``close_order [rate_limit=1/m]``."""
    return any(one.partition(" ")[0] == name for one in registered)
