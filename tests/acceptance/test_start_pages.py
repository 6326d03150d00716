"""The examples of the ten-minute pages do what the pages say, typed as they stand there.

They are docs/start/celery.md, docs/start/django.md and docs/start/rest.md.
"""

from __future__ import annotations

import contextlib
import json
import re
import shlex
from datetime import timedelta
from http import HTTPStatus
from pathlib import Path
from threading import Thread

import httpx
import pytest

from delayhub.client import Client
from delayhub.demo.site import Site
from delayhub.local.redis_server import RedisServer, free_port
from tests.acceptance.first_shop import CHECK, MIGRATE, PLACE_ORDER, FirstShop
from tests.acceptance.site import now, received_by
from tests.acceptance.typed_commands import hear, run
from tests.repository import ROOT
from tests.waiting import wait_until

SECOND = timedelta(seconds=1)
CELERY = (ROOT / "docs/start/celery.md").read_text()
REST = (ROOT / "docs/start/rest.md").read_text()


@pytest.mark.slow
def test_the_celery_example_closes_one_order_and_not_the_revoked_one(tmp_path: Path, redis_server: RedisServer) -> None:
    [example] = re.findall(r"```python\n(# shop\.py\n.*?)```", CELERY, re.DOTALL)
    [commands] = re.findall(r"```\n(python shop\.py\n.*?)```", CELERY, re.DOTALL)
    create, work = commands.splitlines()
    own = example.replace("127.0.0.1:6379/0", f"127.0.0.1:{redis_server.port}/0")
    assert own != example
    (tmp_path / "shop.py").write_text(own)

    run(create, tmp_path)
    heard = hear(f"{work} --pool solo", tmp_path, until="order-42 is closed")

    assert "order-42 is closed" in heard
    assert "order-41" not in heard


@pytest.mark.slow
def test_the_django_example_closes_its_first_order(tmp_path: Path, redis_server: RedisServer) -> None:
    shop = FirstShop(tmp_path, port=redis_server.port)

    assert "System check identified no issues" in shop.run(CHECK)
    shop.run(MIGRATE)
    shop.run(PLACE_ORDER)
    assert "order 42 is closed" in shop.work(until="order 42 is closed", pool="prefork")

    pages = "/admin/login/", "/timeouts/docs/", "/timeouts/schema", "/timeouts/v1/jobs"
    ask = f"Client(headers={{'host': 'localhost'}}).get(page).status_code for page in {pages}"
    said = shop.run(f'python manage.py shell -c "from django.test import Client; print([{ask}])"')
    assert "[200, 200, 401, 401]" in said


@pytest.mark.slow
def test_the_rest_examples_in_curl_python_and_the_command_line_are_called_back_with_a_good_signature(
    lasting_site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [curl] = re.findall(r"```\n(curl .*?)```", REST, re.DOTALL)
    [program] = re.findall(r"```python\n(from delayhub.client .*?)```", REST, re.DOTALL)
    command, _ = re.findall(r"```\n(delayhub jobs .*?)```", REST, re.DOTALL)
    (tmp_path / "create.py").write_text(program)

    site = lasting_site
    monkeypatch.setenv("DELAYHUB_URL", site.url)
    monkeypatch.setenv("DELAYHUB_API_KEY", site.api_key)
    created = json.loads(run(shlex.join(["sh", "-c", curl]), tmp_path))
    ids = [created["id"], run("python create.py", tmp_path).strip()]
    [third] = re.findall(r"^id +(\S+)", run(command, tmp_path), re.MULTILINE)

    with Client() as client:
        jobs = [client.jobs.run_now(job_id) for job_id in (*ids, third)]
        ended = [client.jobs.wait(job.id, timeout_seconds=30).status for job in jobs]

    assert ended == ["succeeded"] * 3, site.worker.log_tail()
    assert [job.due_at - job.created_at for job in jobs] == [pytest.approx(timedelta(minutes=30), abs=SECOND)] * 3
    callbacks = received_by(site, {job.id for job in jobs})
    assert {callback.job_id for callback in callbacks} == {job.id for job in jobs}
    assert {(callback.biz_type, callback.verified) for callback in callbacks} == {("order.close", True)}
    assert {(job.biz_id, str(job.body)) for job in jobs} == {("order-42", "{'order': 42}")}


@pytest.mark.nightly  # by day: tests/integration/delayhub/receiver
@pytest.mark.slow
def test_the_receiver_of_the_rest_page_takes_what_is_signed_and_refuses_the_rest(
    lasting_site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [program] = re.findall(r"```python\n(# receiver\.py\n.*?)```", REST, re.DOTALL)
    [commands] = re.findall(r"```\n(delayhub biz-types .*?)```", REST, re.DOTALL)
    _, create = re.findall(r"```\n(delayhub jobs .*?)```", REST, re.DOTALL)
    make, export, start = commands.splitlines()
    port = free_port()
    assert f"{program}{make}".count("9000") == 2
    (tmp_path / "receiver.py").write_text(program.replace("9000", str(port)))

    monkeypatch.setenv("DELAYHUB_URL", lasting_site.url)
    monkeypatch.setenv("DELAYHUB_API_KEY", lasting_site.api_key)
    [secret] = re.findall(r"^signing secret +(\S+)", run(make.replace("9000", str(port)), tmp_path), re.MULTILINE)
    name, _, shown = export.removeprefix("export ").partition("=")
    assert secret.startswith(shown.rstrip("…"))
    monkeypatch.setenv(name, secret)
    heard: list[str] = []
    receiver = Thread(target=lambda: heard.append(hear(start, tmp_path, until="is closed")))
    receiver.start()
    wait_until(lambda: forged_at(port) == HTTPStatus.UNAUTHORIZED, within_seconds=60, otherwise=lambda: str(heard))
    run(create, tmp_path)
    receiver.join()

    assert "order 42 is closed" in heard[0]
    assert "order 43" not in heard[0]


def forged_at(port: int) -> int | None:
    """How the receiver answers a callback that nobody has signed; None while it does not listen."""
    headers = {"webhook-id": "1", "webhook-timestamp": str(int(now().timestamp())), "webhook-signature": "v1,AAAA"}
    with contextlib.suppress(httpx.TransportError):
        return httpx.post(f"http://127.0.0.1:{port}/", content=b'{"order":43}', headers=headers).status_code
    return None
