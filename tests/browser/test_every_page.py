"""Every page of the admin, as each look shows it: readable, no wider than the screen, accessible, no foreign script.

``make screenshots`` runs this with all looks, and keeps a picture of each page in each of them, and the README's two.
Otherwise there are two looks, which differ in everything, and each page is seen in one of them.
"""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, NamedTuple

import pytest
import redis
from axe_playwright_python.sync_playwright import Axe
from celery import Celery
from django.conf import settings as project
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser, BrowserContext, Page, Response

import delayhub
from delayhub.engine import DelayQueue, TimerLane
from tasksapp.conf import DEFAULT_LANE
from tasksapp.models import Alert, AlertKind, ApiKey, DeadCount, JobCount, Operation
from tasksapp.models.api_key import Scope
from tasksapp.models.tenant import DEFAULT_TENANT
from tasksapp.queues.heartbeats import Beat, write_beat
from tests.admin_scene import HOURS_DOWN, Scene, store_scene
from tests.browser.shots import Shots
from tests.limits_scene import hold_back
from tests.redis_time import redis_now_ms
from tests.unique_scene import take_keys
from tests.waiting import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.timeout(600)]

#: What the scripts and styles of one page may weigh together on their way, compressed; Django's own not counted.
MOST_SENT_BYTES = 30_000
#: The icon beside the search of Django's own list to choose from: its label stands on an element without a role.
DJANGOS_ICON = ".selector .search-label-icon"
OURS = ("/static/tasksapp/", "/static/django_htmx/")


class Look(NamedTuple):
    """How somebody looks at pages."""

    theme: str
    width: int
    language: str

    def __str__(self) -> str:
        return f"{self.theme}-{self.width}-{self.language}"


ALL_LOOKS = [
    Look(theme, width, tongue) for theme in ("light", "dark") for width in (1440, 390) for tongue in ("en", "zh-hans")
]
FEW_LOOKS = [Look("light", 1440, "en"), Look("dark", 390, "zh-hans")]
LOOKS = ALL_LOOKS if os.environ.get("DELAYHUB_SCREENSHOTS") else FEW_LOOKS


@pytest.fixture
def scene(live_server: Any, current_celery: Celery, broker: str, settings: Any, redis_client: redis.Redis) -> Scene:
    settings.CELERY_BROKER_URL = settings.BROKER_URL = current_celery.conf.broker_url = broker
    settings.DELAYHUB = {**settings.DELAYHUB, "REDIS_URL": broker.replace("delayhub://", "redis://")}
    delayhub.install(current_celery)
    hold_back(DelayQueue(redis_client, "celery"))
    take_keys(DelayQueue(redis_client, "celery"))
    made = store_scene()
    now = timezone.now()
    ApiKey.objects.create(
        name="checkout", owner="The shop's team", prefix="dh_3fa9c1", hashed_key="x" * 64,
        scopes=[Scope.JOBS_READ, Scope.JOBS_WRITE], created_at=now, expires_at=now + timedelta(days=9),
        last_used_at=now - timedelta(minutes=3), last_used_from="192.0.2.7",
    )  # fmt: skip
    return made


@pytest.fixture(params=LOOKS, ids=str)
def look(request: pytest.FixtureRequest) -> Look:
    look: Look = request.param
    return look


@pytest.fixture
def context(browser: Browser, look: Look, live_server: Any) -> Iterator[BrowserContext]:
    """A browser in which somebody who may do everything is logged in."""
    opened = open_as_ada(browser, look, live_server.url)
    yield opened
    opened.close()


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
    """What a worker and its loader leave behind, so that pages show a site that delivers."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._lane = TimerLane(client, DEFAULT_LANE)

    def show_life(self) -> None:
        """As if they had just been at work; pages take their word for a few seconds."""
        now_ms = redis_now_ms(self._client)
        self._lane.hold("a loader", lease_ms=600_000)
        self._lane.claim()
        beat = Beat(
            name="vm:4711", host="vm", pid=4711, node="celery@vm", version="0.1.0", pool="threads", concurrency=4,
            queues=(DEFAULT_LANE, "delayhub.tasks"), open_callbacks=12, last_claim_ms=now_ms - 40, running_count=1,
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
        "biz-type-what-if": admin("tasksapp_biztype_what_if", scene.closing.pk),
        "biz-type-history": admin("tasksapp_biztype_history", scene.closing.pk),
        "biz-type-delete": admin("tasksapp_biztype_delete", scene.closing.pk),
        "alerts": admin("tasksapp_alert_changelist"),
        "biz-type-general": admin("tasksapp_biztype_change", scene.closing.pk, query="tab=general"),
        "issues": admin("tasksapp_deadcount_changelist"),
        "system": admin("tasksapp_system"),
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
        "celery-queues": admin("tasksapp_celery_queues"),
        "celery-queue": admin("tasksapp_celery_queue", query="queue=celery"),
        "celery-keys": admin("tasksapp_celery_keys", query="queue=celery"),
    }


def seen_in(look: Look, addresses: dict[str, str]) -> dict[str, str]:
    """The pages that this look is to show: all, or where there are few looks every other one."""
    if len(LOOKS) > len(FEW_LOOKS):
        return addresses
    return dict(list(addresses.items())[FEW_LOOKS.index(look) :: len(FEW_LOOKS)])


def test_every_page(
    context: BrowserContext, look: Look, scene: Scene, live_server: Any, redis_client: redis.Redis, shots: Shots
) -> None:
    faults: list[str] = []
    workers = Workers(redis_client)
    for name, address in seen_in(look, pages(scene)).items():
        workers.show_life()
        page = context.new_page()
        watch = Watch(page)
        answer = page.goto(live_server.url + address, wait_until="load")
        assert answer is not None
        shots.take(page, f"{name}-{look}")
        faults += [f"{name}: {fault}" for fault in (*watch.faults(answer), *looks(page), *accessibility(page))]
        page.close()

    assert not faults, "\n".join(faults)


def test_the_pictures_of_the_readme_tell_one_story(
    browser: Browser, scene: Scene, live_server: Any, redis_client: redis.Redis, shots: Shots, settings: Any
) -> None:
    if timezone.now().hour <= max(HOURS_DOWN):
        settings.TIME_ZONE = "Etc/GMT-12"  # where those hours are hours of today, too
    tell_one_story(scene)
    context = open_as_ada(browser, Look("light", 1440, "en"), live_server.url)
    page, workers = context.new_page(), Workers(redis_client)

    def text_of(name: str) -> str:
        workers.show_life()
        page.goto(live_server.url + pages(scene)[name], wait_until="load")
        return page.inner_text("body")

    # On a busy machine what was shown of workers may be too old before the page has asked.
    wait_until(lambda: "Not delivering" not in text_of("overview"), within_seconds=300)
    overview = page.inner_text("#content")
    shots.take(page, "readme-overview")
    wait_until(lambda: "Not delivering" not in text_of("operation-running"), within_seconds=300)
    operation = page.inner_text("#content")
    shots.take(page, "readme-operation")
    context.close()

    assert "order.close: jobs die, 44,667 lately. 32,367 dead jobs wait for a person." in overview
    assert re.search(r"Dead\s+32,367\s+\+44,666 today", overview)
    assert re.search(r"redrive, order.close, by ada: running\s+12,300 of 42,000", overview)
    assert "receiver down" not in overview
    assert "Runs: 12,300 of 42,000 jobs, 73.6 a second." in operation


def tell_one_story(scene: Scene) -> None:
    """Leaves in the scene what fits together: a receiver is up again, and those who died by it are redriven."""
    Alert.objects.filter(kind=AlertKind.BREAKER_OPEN).delete()
    for alert in Alert.objects.filter(kind=AlertKind.DEAD):
        alert.facts = {**alert.facts, "dead": 32_367}
        alert.save()
    JobCount.objects.filter(biz_type=scene.closing).update(running=12, dead=32_367)
    DeadCount.objects.filter(error_class="http.503").update(dead=29_700)
    turn_at = int(timezone.now().timestamp() * 1000)
    Operation.objects.filter(pk=scene.running_operation.pk).update(
        planned=42_000, cursor={"turn_at": turn_at, "per_second": 73.6}
    )
    Operation.objects.filter(pk=scene.planned_operation.pk).delete()


class Watch:
    """What a browser complains about while it loads a page, and how much it loads."""

    def __init__(self, page: Page) -> None:
        self._complaints: list[str] = []
        self._files: list[Response] = []
        page.on("pageerror", lambda error: self._complaints.append(f"script: {error}"))
        page.on("console", lambda said: said.type == "error" and self._complaints.append(f"console: {said.text}"))
        page.on("response", self._note)

    def faults(self, answer: Response) -> list[str]:
        """What is wrong."""
        found = [*self._complaints]
        if answer.status != 200:
            found.append(f"answered {answer.status}")
        weight = sum(len(gzip.compress(file.body())) for file in self._files)
        if weight > MOST_SENT_BYTES:
            found.append(f"scripts and styles of {weight} bytes")
        return found

    def _note(self, answer: Response) -> None:
        if any(folder in answer.url for folder in OURS):
            self._files.append(answer)
        if answer.status >= 400:
            self._complaints.append(f"{answer.status} {answer.url}")


def looks(page: Page) -> list[str]:
    """What a person would see at once: a page that is wider than the screen."""
    wide = page.evaluate(
        """() => {
            const edge = document.documentElement.clientWidth;
            if (document.documentElement.scrollWidth <= edge) return [];
            return [...document.querySelectorAll('#content *')]
                .filter(element => element.getBoundingClientRect().right > edge + 1)
                .slice(0, 3).map(element => element.outerHTML.slice(0, 120));
        }"""
    )
    width = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    return [f"wider than the screen ({width[0]} of {width[1]} px): {wide}"] if width[0] > width[1] else []


def accessibility(page: Page) -> list[str]:
    """What axe-core finds."""
    found = Axe().run(page, context={"exclude": [[DJANGOS_ICON]]}).response["violations"]
    return [f"axe {rule['id']}: {rule['help']}: {[node['html'][:160] for node in rule['nodes'][:3]]}" for rule in found]
