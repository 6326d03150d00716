"""How long the first steps take that a new user reads on the pages, typed as they stand there.

From a clone to a fired callback, from ``redis://`` to ``delayhub://`` and back, and to a Django project with its first
closed order. What pip downloads is left out.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from delayhub.local.redis_server import RedisServer
from tests.acceptance.first_shop import CHECK, MIGRATE, PLACE_ORDER, FirstShop
from tests.acceptance.typed_commands import hear, run
from tests.repository import ROOT

README = (ROOT / "README.md").read_text()
CELERY = (ROOT / "docs/start/celery.md").read_text()
MOVING = (ROOT / "docs/celery/moving.md").read_text()

pytestmark = [pytest.mark.timing, pytest.mark.nightly, pytest.mark.slow]


@contextmanager
def takes_at_most(seconds: float) -> Iterator[None]:
    started = time.monotonic()
    yield
    assert time.monotonic() - started <= seconds


def test_a_clone_shows_its_first_callbacks_within_90_seconds(tmp_path: Path) -> None:
    [clone, demo] = re.findall(r"^(git clone|make demo)", README, re.MULTILINE)
    folder = tmp_path / "delayhub"

    with takes_at_most(90):
        subprocess.run([*clone.split(), "--quiet", "--depth", "1", f"file://{ROOT}", str(folder)], check=True)
        (folder / ".venv").symlink_to(ROOT / ".venv")  # what `make` would install, which is a download
        said = run(f"make --old-file .venv/.standalone {demo.removeprefix('make ')}", folder)

    assert re.search(r"delivered +│ +[1-9]", said)


def test_celery_is_moved_over_and_back_within_60_seconds_each(tmp_path: Path, redis_server: RedisServer) -> None:
    [example] = re.findall(r"```python\n(# shop\.py\n.*?)```", CELERY, re.DOTALL)
    [commands] = re.findall(r"```\n(python shop\.py\n.*?)```", CELERY, re.DOTALL)
    create, work = commands.splitlines()
    over, back = (f"celery -A shop delayhub {verb}-redis" for verb in ("import", "export"))
    assert over in MOVING
    assert back in MOVING
    new = example.replace("127.0.0.1:6379/0", f"127.0.0.1:{redis_server.port}/0")
    old = new.replace("delayhub://", "redis://").replace("delayhub.install(app)\n", "")
    shop = tmp_path / "shop.py"
    shop.write_text(old)
    run(create, tmp_path)

    with takes_at_most(60):
        shop.write_text(new)
        run(f"{over} --yes", tmp_path)
        heard = hear(f"{work} --pool solo", tmp_path, until="order-42 is closed")
    assert "order-42 is closed" in heard

    run(create, tmp_path)
    with takes_at_most(60):
        run(f"{back} --yes", tmp_path)
        shop.write_text(old)
        heard = hear(f"{work} --pool solo", tmp_path, until="order-42 is closed")
    assert "order-42 is closed" in heard


def test_a_django_project_closes_its_first_order_within_three_minutes(
    tmp_path: Path, redis_server: RedisServer
) -> None:
    with takes_at_most(180):
        shop = FirstShop(tmp_path, port=redis_server.port)
        for command in (CHECK, MIGRATE, PLACE_ORDER):
            shop.run(command)
        heard = shop.work(until="order 42 is closed", pool="prefork")

    assert "order 42 is closed" in heard
