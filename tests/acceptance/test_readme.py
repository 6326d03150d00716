"""The README's examples do what the README says, typed as they stand there."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
import requests

from delayhub.demo.receiver import read_received
from delayhub.local.redis_server import RedisServer
from tests.acceptance.readme_shop import CHECK, MIGRATE, PLACE_ORDER, ReadmeShop
from tests.acceptance.site import site_in
from tests.acceptance.typed_commands import hear, run
from tests.repository import ROOT
from tests.waiting import wait_until

README = (ROOT / "README.md").read_text()


@pytest.mark.slow
def test_the_celery_example_closes_one_order_and_not_the_revoked_one(tmp_path: Path, redis_server: RedisServer) -> None:
    [example] = re.findall(r"```python\n(# shop\.py\n.*?)```", README, re.DOTALL)
    [commands] = re.findall(r"```\n(python shop\.py\n.*?)```", README, re.DOTALL)
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
    shop = ReadmeShop(tmp_path, port=redis_server.port)

    assert "System check identified no issues" in shop.run(CHECK)
    shop.run(MIGRATE)
    shop.run(PLACE_ORDER)
    assert "order 42 is closed" in shop.work(until="order 42 is closed", pool="prefork")

    pages = "/admin/login/", "/timeouts/docs/", "/timeouts/schema", "/timeouts/v1/jobs"
    ask = f"Client(headers={{'host': 'localhost'}}).get(page).status_code for page in {pages}"
    said = shop.run(f'python manage.py shell -c "from django.test import Client; print([{ask}])"')
    assert "[200, 200, 401, 401]" in said


@pytest.mark.slow
def test_the_curl_example_is_called_back_with_a_good_signature(tmp_path: Path) -> None:
    [command] = re.findall(r"```\n(curl .*?)```", README, re.DOTALL)
    words = shlex.split(command)
    given = dict(words[at + 1].split(": ", 1) for at, word in enumerate(words) if word == "-H")
    body = json.loads(words[words.index("-d") + 1])
    assert given["Authorization"] == "Bearer $DELAYHUB_KEY"

    with site_in(tmp_path) as site:
        address = words[1].replace("http://127.0.0.1:8000", site.url)
        headers = {**given, "Authorization": f"Bearer {site.api_key}"}
        created = requests.post(address, json={**body, "delay": 1}, headers=headers, timeout=10)
        assert created.status_code == 201, created.text
        wait_until(lambda: any(read_received(site.folder.received)), within_seconds=30, otherwise=site.worker.log_tail)

        [callback] = read_received(site.folder.received)
        assert callback.job_id == created.json()["id"]
        assert callback.biz_type == body["biz_type"]
        assert callback.verified
