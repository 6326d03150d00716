"""A browser in which somebody is logged in, workers that seem to live, every page: what tests of all pages share."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

import redis
from django.conf import settings as project
from django.contrib.auth.models import User
from django.db.models import F
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser, BrowserContext

from delayhub.engine import TimerLane
from tasksapp.conf import DEFAULT_LANE
from tasksapp.models import Alert, AlertKind, ApiKey, Attempt, DeadCount, Job, JobCount, Operation
from tasksapp.models.tenant import DEFAULT_TENANT
from tasksapp.queues.heartbeats import Beat, write_beat
from tests.admin_scene import Scene
from tests.redis_time import redis_now_ms

WORKER = "vm:4711"
BODY_OF_ORDER = (
    '{"order": 90041, "amount": "49.90", "customer": {"name": "王小明", "mail": "xm@example.com"},'
    ' "items": [{"sku": "A-1", "count": 2}, {"sku": "B-7", "count": 1}]}'
)


class Look(NamedTuple):
    """How somebody looks at pages."""

    theme: str
    width: int
    language: str

    def __str__(self) -> str:
        return f"{self.theme}-{self.width}-{self.language}"


def open_as_ada(browser: Browser, look: Look, address: str) -> BrowserContext:
    """The same for any look."""
    person = User.objects.create_superuser("ada", password="analytical")
    client = Client()
    client.force_login(person)
    opened = browser.new_context(color_scheme=look.theme, viewport={"width": look.width, "height": 900})  # type: ignore[arg-type]  # its stubs want a literal
    cookies = {
        project.SESSION_COOKIE_NAME: client.cookies[project.SESSION_COOKIE_NAME].value,
        project.LANGUAGE_COOKIE_NAME: look.language,
    }
    opened.add_cookies([{"name": name, "value": value, "url": address} for name, value in cookies.items()])
    opened.set_default_timeout(60_000)
    return opened


class Workers:
    """What a worker and its loader leave behind, so that pages show a site that delivers.

    Args:
        client: of Redis.
        queues: what the worker takes from, beside the jobs' lane and tasks.
    """

    def __init__(self, client: redis.Redis, *queues: str) -> None:
        self._client = client
        self._queues = (DEFAULT_LANE, "delayhub.tasks", *queues)
        self._lane = TimerLane(client, DEFAULT_LANE)

    def show_life(self) -> None:
        """As if they had just been at work; pages take their word for a few seconds."""
        now_ms = redis_now_ms(self._client)
        self._lane.hold("a loader", lease_ms=600_000)
        self._lane.claim()
        beat = Beat(
            name=WORKER, host="vm", pid=4711, node="celery@vm", version="0.1.0", pool="threads", concurrency=4,
            queues=self._queues, open_callbacks=12, last_claim_ms=now_ms - 40, running_count=1,
            tasks=(("5f0c", "reports.tasks.make", now_ms - 4_000),), started_ms=now_ms - 3_600_000, seen_ms=now_ms,
            is_loader=True,
        )  # fmt: skip
        write_beat(self._client, beat)


def pages(scene: Scene) -> dict[str, str]:
    """The address of every page, by the name of its picture."""

    def admin(name: str, *args: object, query: str = "") -> str:
        return reverse(f"admin:{name}", args=args) + (f"?{query}" if query else "")

    code, jobs = scene.closing.code, "tasksapp_job_changelist"
    plan = f"status=dead&biz_type={code}&error_class=http.503"
    return {
        "overview": reverse("admin:index"),
        "app": reverse("admin:app_list", args=["tasksapp"]),
        "jobs": admin(jobs),
        "jobs-dead": admin(jobs, query=f"tab=dead&biz_type={code}"),
        "jobs-done": admin(jobs, query="tab=done"),
        "jobs-none": admin(jobs, query="tab=pending&biz_id=there-is-none"),
        "job-waiting": admin("tasksapp_job_change", scene.waiting.id),
        "job-dead": admin("tasksapp_job_change", scene.dead.id),
        "job-done": admin("tasksapp_job_change", scene.done.id),
        "job-resolve": admin("tasksapp_job_resolve", scene.waiting.id),
        "job-edit": admin("tasksapp_job_edit", scene.waiting.id),
        "job-history": admin("tasksapp_job_history", scene.waiting.id),
        "job-reschedule": admin("tasksapp_job_reschedule", query=f"id={scene.waiting.id}"),
        "biz-types": admin("tasksapp_biztype_changelist"),
        "biz-type-add": admin("tasksapp_biztype_add"),
        "biz-type": admin("tasksapp_biztype_change", scene.closing.pk),
        "biz-type-paused": admin("tasksapp_biztype_change", scene.paused.pk),
        "biz-type-task": admin("tasksapp_biztype_change", scene.task.pk),
        "biz-type-pause": admin("tasksapp_biztype_pause", scene.closing.pk),
        "biz-type-resume": admin("tasksapp_biztype_resume", scene.paused.pk),
        "biz-type-keys": admin("tasksapp_biztype_keys", scene.closing.pk),
        "biz-type-secrets": admin("tasksapp_biztype_secrets", scene.closing.pk),
        "biz-type-test": admin("tasksapp_biztype_test", scene.closing.pk),
        "biz-type-test-task": admin("tasksapp_biztype_test", scene.task.pk),
        "biz-type-history": admin("tasksapp_biztype_history", scene.closing.pk),
        "biz-type-delete": admin("tasksapp_biztype_delete", scene.closing.pk),
        "alerts": admin("tasksapp_alert_changelist"),
        "alert-silence": admin("tasksapp_alert_silence"),
        "biz-type-general": admin("tasksapp_biztype_change", scene.closing.pk, query="tab=general"),
        "biz-type-retries": admin("tasksapp_biztype_change", scene.closing.pk, query="tab=retries"),
        "issues": admin("tasksapp_deadcount_changelist"),
        "system": admin("tasksapp_system_changelist"),
        "operations": admin("tasksapp_operation_changelist"),
        "operation-new": admin("tasksapp_operation_plan", query=f"verb=redrive&{plan}"),
        "operation-planned": admin("tasksapp_operation_change", scene.planned_operation.pk),
        "operation-running": admin("tasksapp_operation_change", scene.running_operation.pk),
        "operation-done": admin("tasksapp_operation_change", scene.done_operation.pk),
        "series-list": admin("tasksapp_series_changelist"),
        "series": admin("tasksapp_series_change", scene.series.pk),
        "series-edit": admin("tasksapp_series_edit", scene.series.pk),
        "series-pause": admin("tasksapp_series_pause", scene.series.pk),
        "series-backfill": admin("tasksapp_series_backfill", scene.series.pk),
        "series-add": admin("tasksapp_series_add"),
        "audit": admin("tasksapp_auditentry_changelist"),
        "api-keys": admin("tasksapp_apikey_changelist"),
        "api-key": admin("tasksapp_apikey_change", ApiKey.objects.get().pk),
        "api-key-add": admin("tasksapp_apikey_add"),
        "api-key-rotate": admin("tasksapp_apikey_rotate", ApiKey.objects.get().pk),
        "tenants": admin("tasksapp_tenant_changelist"),
        "tenant": admin("tasksapp_tenant_change", DEFAULT_TENANT),
        "celery-queues": admin("tasksapp_celeryqueue_changelist"),
        "celery-queue": admin("tasksapp_celeryqueue_queue", query="queue=celery"),
        "celery-keys": admin("tasksapp_celeryqueue_keys", query="queue=celery"),
    }


def tell_one_story(scene: Scene) -> None:
    """Leaves in the scene what fits together: a receiver is up again, and those who died by it are redriven."""
    Alert.objects.filter(kind=AlertKind.BREAKER_OPEN).delete()
    for alert in Alert.objects.filter(kind=AlertKind.DEAD):
        alert.facts = {**alert.facts, "dead": 32_367}
        alert.save()
    JobCount.objects.filter(biz_type=scene.closing).update(running=12, dead=32_367)
    # What is paused is not due yet, so that all that is due is that receiver's.
    JobCount.objects.filter(biz_type=scene.paused).update(due_now=0, oldest_due_at=None)
    DeadCount.objects.filter(error_class="http.503").update(dead=29_700)
    turn_at = int(timezone.now().timestamp() * 1000)
    Operation.objects.filter(pk=scene.running_operation.pk).update(
        planned=42_000, cursor={"turn_at": turn_at, "per_second": 73.6}
    )
    # The next one, of the jobs that died by another error.
    Operation.objects.filter(pk=scene.planned_operation.pk).update(
        job_filter={**scene.planned_operation.job_filter, "error_class": "timeout"}
    )
    died_at = scene.dead.due_at + timedelta(minutes=2)
    made_at = scene.dead.due_at - timedelta(minutes=30)
    Job.objects.filter(pk=scene.dead.pk).update(
        created_at=made_at, updated_at=died_at, finished_at=died_at, body=BODY_OF_ORDER
    )
    Attempt.objects.update(worker=WORKER, started_at=F("started_at") - timedelta(minutes=1))
