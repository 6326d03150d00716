"""Fuzzing: schemathesis against a live site, on SQLite or PostgreSQL; ``make fuzz`` runs it on both.

It generates requests of every operation from the OpenAPI document, follows the document's links from one to the next,
and checks every answer against the document: no 5xx, no status, header or body that is not described. It ends with 1
where one is, and prints how to repeat it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from delayhub.local.redis_server import RedisServer
from tests.postgres import postgres_url
from tests.repository import ROOT
from tests.web_server import KEY, prepare_database, web_server

#: What every answer is asked.
CONFIG = ROOT / "tests" / "schemathesis.toml"
#: What cannot hold of this API: each request with a wrong key is one more guess, and guessing is slowed down; and many
#: requests that the document allows are refused for what is stored, such as a code that is taken. A change without
#: If-Match is a 428, which the third does not expect; the fourth needs two callers, whom test_api_access.py has.
LEFT_OUT = "ignored_auth,positive_data_acceptance,missing_required_header,object_level_authorization"

_SEED = """
import json
from datetime import timedelta
import django
django.setup()
from tasksapp import jobs
from tasksapp.access.keys import issue_key
from tasksapp.models import ApiKey, Attempt, BizType, Job, Operation, Scope
ApiKey.objects.update(scopes=list(Scope.values))
BizType.objects.create(code="a.task", target="celery", task_name="shop.close")
ids = [str(jobs.create("order.close", biz_id=f"order-{n}", delay=timedelta(hours=1)).job_id) for n in range(20)]
for number, status in enumerate(["dead", "dead", "dead", "dead", "succeeded", "cancelled", "running"]):
    Job.objects.filter(id=ids[number]).update(status=status)
from tasksapp.pulling.puller import ClaimToken
pulled = BizType.objects.create(code="a.pull", target="pull")
held = [jobs.create("a.pull").job_id for _ in range(20)]
Job.objects.filter(id__in=held).update(status="running", lease_token=7)
operations = [
    Operation.objects.create(verb="redrive", job_filter={}, state=state, planned=1, started_by="ada").pk
    for state in ("planned", "planned", "running", "succeeded", "stopped")
    if state in Operation.State.values
]
keys = [issue_key(f"other-{n}").row.pk for n in range(5)]
print(json.dumps({
    "own": ApiKey.objects.get(name="tests").pk,
    "there": {
        "id": ids, "code": ["order.close", "a.task"], "biz_id": [f"order-{n}" for n in range(20)],
        "operations.id": [str(pk) for pk in operations], "keys.id": [str(pk) for pk in keys],
        "token": [str(ClaimToken(job_id, 7)) for job_id in held],
    },
}))
"""


def fuzz(database: str, *, examples: int, seed: int, seconds: int | None) -> int:
    """Runs it on that database; gives back what the process ended with, after printing how many requests there were."""
    with (
        database_url(database) as url,
        RedisServer() as server,
        tempfile.TemporaryDirectory(prefix="delayhub-fuzz-") as name,
    ):
        folder = Path(name)
        variables: dict[str, Any] = {"DELAYHUB_BROKER_URL": server.url.replace("redis://", "delayhub://")}
        if url is not None:
            variables["DELAYHUB_DATABASE_URL"] = url
        prepare_database(folder, **variables)
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "delayhub.project.settings",
            "DELAYHUB_DATA_DIR": str(folder),
            "DELAYHUB_LOG_LEVEL": "ERROR",
            **variables,
        }
        seeded = subprocess.run(
            [sys.executable, "-c", _SEED], cwd=ROOT, env=environment, check=True, timeout=120, capture_output=True
        )
        made = json.loads(seeded.stdout.splitlines()[-1])
        with web_server(folder, **variables) as port:
            command = [
                *(str(Path(sys.executable).with_name("schemathesis")), "--no-color", "--config-file", str(CONFIG)),
                *("run", f"http://127.0.0.1:{port}/api/schema"),
                *("--header", f"Authorization: Bearer {KEY}", "--exclude-checks", LEFT_OUT),
                *("--max-examples", str(examples), "--seed", str(seed), "--continue-on-failure", "--no-shrink"),
                *("--phases", "examples,coverage,fuzzing,stateful", "--suppress-health-check", "all"),
                *("--request-timeout", "60", "--warnings", "off"),
                *(("--max-time", str(seconds)) if seconds else ()),
            ]
            hooks = {"SCHEMATHESIS_HOOKS": "tests.fuzz_hooks", "FUZZ_OWN_KEY": str(made["own"])}
            environment = {**os.environ, **hooks, "FUZZ_THERE": json.dumps(made["there"]), "PYTHONPATH": str(ROOT)}
            said = []
            with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as run:
                for line in run.stdout or ():
                    print(line, end="", flush=True)
                    said.append(line)
        log = (folder / "wsgi.log").read_text()
    print(log[-4_000:] if "Traceback" in log else "")
    counted = re.search(r"(\d[\d,]*) generated", "".join(said))
    print(f"{database}: {counted.group(1) if counted else 'no'} requests, ended with {run.returncode}")
    return run.returncode


@contextmanager
def database_url(kind: str) -> Iterator[str | None]:
    """The address of a new database on the tests' PostgreSQL, which is dropped afterwards; None for SQLite."""
    if kind == "sqlite":
        yield None
        return
    server, _, _ = postgres_url().rpartition("/")
    name = f"delayhub_fuzz_{os.getpid()}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        try:
            yield f"{server}/{name}"
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def main() -> int:
    """Reads the arguments; 0 where nothing was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=["sqlite", "postgresql"], required=True)
    parser.add_argument("--examples", type=int, default=60, help="requests that are generated for each operation")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, help="go on for so long")
    given = parser.parse_args()
    return fuzz(given.database, examples=given.examples, seed=given.seed, seconds=given.seconds)


if __name__ == "__main__":
    sys.exit(main())
