"""Two cells behind nginx, ten tenants that call, and one that moves to and fro while programs are killed.

``MOVES`` and ``MOVED_JOBS`` in the environment make it larger: 10 and 20000 are what docs/run/cells.md tells of.
"""

from __future__ import annotations

import json
import os
import random
import shlex
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from delayhub.demo.receiver import read_received
from delayhub.demo.samples import CLOSE_ORDER
from delayhub.demo.site import Site, SiteOptions
from tests.acceptance.moving_callers import Callers
from tests.acceptance.nginx_proxy import cells_proxy
from tests.acceptance.site import SHORT_LEASES
from tests.kept_folder import PreparedSite
from tests.repository import ROOT
from tests.waiting import wait_until

pytestmark = [pytest.mark.nightly, pytest.mark.slow]

MOVES = int(os.environ.get("MOVES", "3"))
JOBS = int(os.environ.get("MOVED_JOBS", "1000"))
TENANTS = 10
#: A callback that was on its way when its cancel was confirmed is not one after it.
ON_ITS_WAY_SECONDS = 1.0

_FILL = f"""
import json, os, django
django.setup()
from tasksapp.access.keys import issue_key
from tasksapp.models import BizType, Tenant
keys = []
for number in range({TENANTS}):
    tenant = Tenant.objects.create(code=f"t{{number}}")
    row = BizType(tenant=tenant, code="order.close", url=os.environ["HOOK"], max_attempts=5)
    row.signing_secret = os.environ["SECRET"]
    row.save()
    keys.append(issue_key("shop", tenant=tenant).key)
print(json.dumps(keys))
"""


@pytest.fixture
def cells(tmp_path: Path) -> Iterator[dict[str, Site]]:
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(
                PreparedSite(SiteOptions(data_dir=tmp_path / name, settings={**SHORT_LEASES, "DELAYHUB_CELL": name}))
            )
            for name in ("c1", "c2")
        }


def typed(site: Site, *words: str, **variables: str) -> subprocess.Popen[str]:
    """A command of ``manage.py`` on that site, begun."""
    return subprocess.Popen(
        [sys.executable, *words], cwd=ROOT, env={**site.environment, **variables}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def test_each_job_fires_in_one_of_the_cells(cells: dict[str, Site], tmp_path: Path) -> None:
    home = cells["c1"]
    filled = typed(
        home, "-c", _FILL, HOOK=home.receiver_url + CLOSE_ORDER.path, SECRET=home.signing_secret
    ).communicate(timeout=120)
    keys: list[str] = json.loads(filled[0])
    assert all(key.startswith("dh_c1.") for key in keys)
    moved, at_once, choose = threading.Event(), threading.Event(), random.Random(7)
    at_once.set()
    with cells_proxy(tmp_path, {name: site.url.removeprefix("http://") for name, site in cells.items()}) as proxy:
        callers = [Callers(proxy, key, seed) for seed, key in enumerate(keys)]
        # Those of the tenant that moves go on until it has.
        threads = [
            threading.Thread(target=each.run, args=(JOBS // TENANTS, at_once if each.seed else moved))
            for each in callers
        ]
        for thread in threads:
            thread.start()
        try:
            for number in range(MOVES):
                move(cells, tmp_path, number, choose)
        finally:
            moved.set()
            for thread in threads:
                thread.join(600)
        assert not any(thread.is_alive() for thread in threads)
    made = {job_id: due for each in callers for job_id, due in each.due.items()}
    cancelled = {job_id: at for each in callers for job_id, at in each.cancelled.items()}
    expected = made.keys() - cancelled.keys()
    log = home.folder.received
    wait_until(
        lambda: expected <= {seen.job_id for seen in read_received(log)},
        otherwise=lambda: f"lost: {len(expected - {seen.job_id for seen in read_received(log)})} of {len(expected)}",
    )

    seen = [each for each in read_received(log) if each.job_id in made]
    after = [each for each in seen if each.at_ms / 1000 > cancelled.get(each.job_id, 1e12) + ON_ITS_WAY_SECONDS]
    early = [each for each in seen if each.at_ms / 1000 < made[each.job_id]]
    twice = [job_id for job_id, times in Counter(each.job_id for each in seen).items() if times > 1]
    mover = callers[0]
    sys.stdout.write(
        f"jobs {len(made):,}, cancelled {len(cancelled):,}, called {len(seen):,}, twice {len(twice)},"
        f" the moved tenant's: {len(mover.due):,}, asked to wait {mover.waited}, sent on {mover.sent_on}\n"
    )
    assert len(made) >= JOBS
    assert (after, early) == ([], [])
    assert all(each.verified for each in seen)
    assert len(twice) <= 4 * MOVES * 20, "only what a killed worker had under way"
    assert mover.sent_on > 0


def move(cells: dict[str, Site], folder: Path, number: int, choose: random.Random) -> None:
    """Moves the first tenant to the other cell; kills the move once, and now and then a worker."""
    here, there = (cells["c1"], cells["c2"]) if number % 2 == 0 else (cells["c2"], cells["c1"])
    key = folder / "move.key"
    if not key.exists():
        key.write_text(Fernet.generate_key().decode())
    imports = ["env", *(f"{name}={there.environment[name]}" for name in ("DELAYHUB_DATA_DIR", "DELAYHUB_BROKER_URL"))]
    imports += [f"DELAYHUB_CELL={there.environment['DELAYHUB_CELL']}", sys.executable, str(ROOT / "manage.py")]
    imports += ["import_jobs", "-", "--key", str(key), "--tenant", "t0"]
    command = [
        str(ROOT / "manage.py"), "move_tenant", "t0", str(folder / f"move-{number}.ndjson"), "--key", str(key),
        "--to", there.url, "--there", shlex.join(imports),
    ]  # fmt: skip
    time.sleep(choose.uniform(0.5, 2))
    killed = typed(here, *command)
    time.sleep(choose.uniform(1.0, 6.0))
    killed.kill()
    killed.communicate()
    if number % 2:
        victim = choose.choice([here, there])
        victim.worker.kill()
        victim.worker.launch()
    moved = typed(here, *command)
    out, error = moved.communicate(timeout=600)
    # The first may have come to its end before it was killed.
    assert moved.returncode == 0 or "is not here: it was moved" in error, out + error
