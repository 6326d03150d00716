"""The Python on the pages works as it stands, on a project with jobs and on Celery's broker.

The blocks of a page share their names, as a reader takes them to; pages about Celery go on from the ``shop.py`` of the
first of them. A page or a block that is added is tested by being there; `tests.page_blocks` says what may stand above
it.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from celery._state import _on_app_finalizers
from django.core.management import call_command, get_commands

import delayhub
from delayhub.client import Client
from delayhub.local.redis_server import RedisServer
from tasksapp.access.keys import issue_key
from tasksapp.jobs.retry_policy import RetryPolicy
from tasksapp.models import BizType, Job, Status
from tests.page_blocks import PAGES, Block, blocks_of
from tests.repository import ROOT

WITH_PYTHON = [page for page in PAGES if any(block.language == "python" and block.runs for block in blocks_of(page))]
#: Of pages about jobs: how many wait after the blocks have run, and which were cancelled.
LEFT: dict[str, tuple[int, list[tuple[str, str]]]] = {
    # a thousand, cart, sale
    "docs/jobs/jobs.md": (1_002, [("order.close", "order-43"), ("order.close", "order-4300")]),
    # exact bytes, own request
    "docs/jobs/requests.md": (2, []),
    "docs/jobs/resolve.md": (0, [("order.close", "order-5000"), ("order.remind", "order-5000")]),
    "docs/jobs/celery_tasks.md": (0, [("order.remind", "order-42")]),
}
RETRIES = (ROOT / "docs/jobs/retries.md").read_text()
UPKEEP = (ROOT / "docs/run/upkeep.md").read_text()


def shop_of_the_first_page(broker: str, names: dict[str, Any]) -> None:
    """Defines what the ``shop.py`` of the page about the broker does."""
    [shop] = [block for block in blocks_of(ROOT / "docs/celery/broker.md") if block.text.startswith("# shop.py")]
    run(shop, shop.text.replace("delayhub://127.0.0.1:6379/0", broker), names)


def run(block: Block, text: str, names: dict[str, Any]) -> None:
    """Runs Python with the names, also where it awaits something."""
    code = compile(text, str(block), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    if code.co_flags & inspect.CO_COROUTINE:
        asyncio.run(eval(code, names))
    else:
        exec(code, names)


def close_all(names: dict[str, Any]) -> None:
    """Closes the connections of what the blocks have made, which programs that end need not do."""
    for made in names.values():
        match made:
            case Celery():
                made.pool.force_close_all()
                made.close()
            case delayhub.TimerLane():
                made.client.connection_pool.disconnect()
            case Client():
                made.close()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_python_on_a_page_runs(
    page: Path,
    biz_type: BizType,
    current_celery: Celery,
    live_server: Any,
    redis_server: RedisServer,
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "SITE_URL": live_server.url}
    broker = redis_server.url.replace("redis:", "delayhub:")
    current_celery.conf.broker_url = broker
    delayhub.install(current_celery)
    module = f"docs_{page.stem}"
    BizType.objects.create(code="order.remind", target=BizType.Target.CELERY, task_name=f"{module}.remind")
    BizType.objects.create(code="expense.ask", url="https://shop.example/hooks", on_resolved="order.close")
    key = issue_key("shop", scopes=["jobs:read", "jobs:write", "jobs:pull"]).key
    # a task of one page is none of the next page's
    monkeypatch.setattr("celery._state._on_app_finalizers", set(_on_app_finalizers))
    monkeypatch.setenv("DELAYHUB_URL", live_server.url)
    monkeypatch.setenv("DELAYHUB_API_KEY", key)
    # what a page names is an example of it; here it is the tests' own
    own = {
        '"https://delay.example"': f'"{live_server.url}"',
        '"dh_…"': f'"{key}"',
        "redis.Redis()": f"redis.Redis(port={redis_server.port})",
        "wait=20": "wait=0",
    }
    example = re.compile("|".join(map(re.escape, own)))
    names: dict[str, Any] = {"__name__": "shop"}
    if page.parent.name == "celery":
        shop_of_the_first_page(broker, names)
    names["__name__"] = module

    try:
        for block in blocks_of(page):
            if block.language == "python" and block.runs:
                for text in (block.marks.get("given", ""), block.text):
                    run(block, example.sub(lambda found: own[found[0]], text), names)
    finally:
        close_all(names)

    if left := LEFT.get(str(page.relative_to(ROOT))):
        waiting = Job.objects.filter(biz_type=biz_type, status=Status.PENDING).count()
        cancelled = Job.objects.filter(status=Status.CANCELLED).values_list("biz_type__code", "biz_id")
        assert (waiting, sorted(cancelled)) == left


@pytest.mark.django_db
def test_the_commands_for_upkeep_exist() -> None:
    lines = re.findall(r"^python manage.py (\w+)( --[\w-]+)?", UPKEEP, flags=re.MULTILINE)

    assert {name for name, _ in lines} <= get_commands().keys()
    assert len(lines) == 4
    for name, flag in lines:
        call_command(name, *flag.split(), verbosity=0)


@pytest.mark.parametrize(
    ("label", "fields"),
    [
        ("fixed", {"backoff": "fixed"}),
        ("linear", {"backoff": "linear"}),
        ("exponential", {"backoff": "exponential"}),
        ("exponential, 3 doublings at most", {"backoff": "exponential", "backoff_max_doublings": 3}),
        ("list `[1, 60, 3600]`", {"backoff": "list", "backoff_list": [1, 60, 3600]}),
    ],
)
def test_the_waits_are_those_of_the_policy(label: str, fields: dict[str, Any]) -> None:
    (said,) = re.findall(rf"^\| {re.escape(label)} \| ([\d, ]+), … \|$", RETRIES, flags=re.MULTILINE)
    policy = RetryPolicy(biz_type=BizType(backoff_min_seconds=10, backoff_max_seconds=300, **fields))

    waits = [int(number) for number in said.split(", ")]
    assert [policy.wait_seconds(failures) for failures in range(1, len(waits) + 1)] == waits
