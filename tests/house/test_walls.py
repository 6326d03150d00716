"""Who may know whom: the contracts are in pyproject.toml, their proof by import is here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from copy import deepcopy
from functools import cache
from pathlib import Path

import grimp
import pytest
from importlinter.api import read_configuration
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.contracts.independence import IndependenceContract
from importlinter.contracts.layers import LayersContract

from tests.repository import ROOT

CONFIGURATION = read_configuration(str(ROOT / "pyproject.toml"))
PACKAGES = CONFIGURATION["session_options"]["root_packages"]
CONTRACTS = CONFIGURATION["contracts_options"]


def modules_after(statement: str) -> set[str]:
    """The modules that a new Python has loaded after a statement."""
    code = f"import sys; {statement}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return set(run.stdout.split())


@pytest.mark.parametrize(
    ("statement", "strangers"),
    [
        # the engine needs Redis and nothing else
        ("import delayhub.engine", {"django", "celery", "kombu", "rest_framework", "aiohttp", "tasksapp"}),
        # a name of the library is loaded when it is first used
        ("import delayhub", {"django", "celery", "kombu", "redis", "tasksapp"}),
        # a receiver loads the libraries that it names
        (
            "import delayhub.receiver, delayhub.receiver.asgi, delayhub.receiver.wsgi, delayhub.receiver.dbapi",
            {"django", "celery", "kombu", "redis", "sqlalchemy", "psycopg", "cryptography", "tasksapp"},
        ),
        # a Celery project without Django stays one (kombu itself looks for django.utils, to serialize lazy strings)
        (
            "from delayhub import install",
            {"django.apps", "django.conf", "django.db", "rest_framework", "aiohttp", "tasksapp"},
        ),
    ],
)
def test_an_import_loads_nothing_that_it_does_not_need(statement: str, strangers: set[str]) -> None:
    assert modules_after(statement) & strangers == set()


def test_the_name_of_every_import_contract_is_a_sentence() -> None:
    assert len(CONTRACTS) >= 6
    for contract in CONTRACTS:
        assert contract["name"][0].isupper()
        assert len(contract["name"].split()) >= 4, contract["name"]


#: For each contract, imports that it must not allow: the file that gets them, and the statement.
FORBIDDEN = {
    "The library is a ladder: no room knows what stands above it": [
        ("delayhub/engine/claim.py", "import delayhub.transport.options"),
        ("delayhub/engine/claim.py", "import delayhub"),
        ("delayhub/transport/channel.py", "import delayhub.celery_support.install"),
        ("delayhub/transport/channel.py", "import delayhub.local.redis_server"),
        ("delayhub/celery_support/control.py", "import delayhub.project.environment"),
        ("delayhub/a_module_without_a_floor.py", "import delayhub.errors"),
    ],
    "The transport is a ladder: no consumer knows its channel": [
        ("delayhub/transport/consuming/consumer.py", "import delayhub.transport.channel"),
        ("delayhub/transport/consuming/consumer.py", "import delayhub.transport.poller"),
        ("delayhub/transport/poller.py", "import delayhub.transport.consuming.consumer"),
        ("delayhub/transport/waking/bell.py", "import delayhub.transport.consuming.consumer"),
        ("delayhub/transport/publish_batch.py", "import delayhub.transport.channel"),
        ("delayhub/transport/a_module_without_a_floor.py", "import delayhub.errors"),
    ],
    "Signatures by a secret need nothing but the standard library": [
        ("delayhub/webhooks/signature.py", "import cryptography"),
    ],
    "The receiver's kit knows no framework that it was not asked for": [
        ("delayhub/receiver/once.py", "import django"),
    ],
    "The engine knows Redis and nothing else": [("delayhub/engine/claim.py", "import kombu")],
    "The transport knows kombu and the engine, not Celery or Django": [
        ("delayhub/transport/channel.py", "import celery")
    ],
    "The Celery support does not know Django": [("delayhub/celery_support/control.py", "import django")],
    "The ready-made project names the app by dotted string only": [
        ("delayhub/project/urls.py", "import tasksapp.conf"),
    ],
    "The client and the command line know the API, not what serves it": [
        ("delayhub/client/request.py", "import django"),
        ("delayhub/client/request.py", "import delayhub.engine"),
        ("delayhub/cli/__main__.py", "import celery"),
    ],
    "Delivery is HTTP and nothing else: no ORM, no Celery, no engine": [
        ("tasksapp/delivery/sender.py", "import django.db"),
    ],
    "The app is a ladder: no module knows what stands above it": [
        ("tasksapp/sql/write_outcomes.py", "import tasksapp.workers.delivery_runtime"),
        ("tasksapp/sql/write_outcomes.py", "import tasksapp.maintenance.loader"),
        ("tasksapp/delivery/sender.py", "import tasksapp.errors"),
        ("tasksapp/jobs/verbs.py", "import tasksapp.workers.signals"),
        ("tasksapp/models/job.py", "import tasksapp.sql.insert_jobs"),
        ("tasksapp/timers/arming.py", "import tasksapp.sql.insert_jobs"),
        ("tasksapp/jobs/bulk.py", "import tasksapp.apps"),
        ("tasksapp/a_module_without_a_floor.py", "import tasksapp.errors"),
    ],
    "The claim and the claimer name no ability: abilities add their rules": [
        ("tasksapp/sql/claim_jobs.py", "import tasksapp.sql.ordered_keys"),
        ("tasksapp/jobs/claimer.py", "import tasksapp.jobs.flow_order"),
    ],
    "The completer names no ability that only follows outcomes": [
        ("tasksapp/jobs/completer.py", "import tasksapp.sql.keep_last"),
    ],
    "Models know Django and nothing of tasks, requests or the engine": [("tasksapp/models/job.py", "import celery")],
    "Verbs know neither requests nor messages": [("tasksapp/jobs/verbs.py", "import rest_framework.request")],
    "Workers know neither the API nor the admin": [("tasksapp/workers/signals.py", "import tasksapp.api.urls")],
    "The API and the admin know verbs, models, access and stats, not what stores and delivers jobs": [
        ("tasksapp/api/jobs/creation.py", "import tasksapp.sql.driver.health_check"),
        ("tasksapp/admin/jobs/job_admin.py", "import tasksapp.delivery.sender"),
        ("tasksapp/api/jobs/views.py", "import tasksapp.workers.delivery_runtime"),
        ("tasksapp/admin/overview/overview.py", "import tasksapp.maintenance.loader"),
        ("tasksapp/api/jobs/views.py", "import delayhub.engine"),
    ],
    "The admin's rooms are a ladder: all stand on the frame": [
        ("tasksapp/admin/frame/fragments.py", "import tasksapp.admin.jobs.page"),
        ("tasksapp/admin/jobs/page.py", "import tasksapp.admin.operations.pages"),
        ("tasksapp/admin/a_module_without_a_floor.py", "import tasksapp.errors"),
    ],
    "The API and the admin do not know each other": [
        ("tasksapp/admin/jobs/job_admin.py", "import tasksapp.api.urls"),
        ("tasksapp/api/jobs/views.py", "import tasksapp.admin.frame.fragments"),
    ],
}


#: What the ``type`` of a contract means.
KINDS = {"forbidden": ForbiddenContract, "independence": IndependenceContract, "layers": LayersContract}


@cache
def imports() -> grimp.ImportGraph:
    """Who imports whom in the source: found once, for it takes longer than all contracts together."""
    return grimp.build_graph(*PACKAGES, include_external_packages=True, cache_dir=None)


def broken_contracts(graph: grimp.ImportGraph, *names: str) -> set[str]:
    """The names of the contracts that these imports break, of those that are named; of all by default."""
    checks = {
        options["name"]: KINDS[options["type"]](
            name=options["name"], session_options=CONFIGURATION["session_options"], contract_options=options
        ).check(deepcopy(graph), verbose=False)  # a check may change what it looks at
        for options in CONTRACTS
        if not names or options["name"] in names
    }
    return {name for name, check in checks.items() if not check.kept}


def with_import(file: str, statement: str) -> grimp.ImportGraph:
    """The imports of the source, and that statement at the end of that file."""
    changed = deepcopy(imports())
    importer = file.removesuffix(".py").replace("/", ".")
    imported = statement.removeprefix("import ")
    if imported.partition(".")[0] not in PACKAGES:
        imported = imported.partition(".")[0]  # modules of others are one each
        changed.add_module(imported, is_squashed=True)
    assert importer in changed.modules or not (ROOT / file).exists()
    changed.add_module(importer)
    assert imported in changed.modules
    changed.add_import(importer=importer, imported=imported, line_number=1, line_contents=statement)
    return changed


def test_the_source_breaks_nothing() -> None:
    assert broken_contracts(imports()) == set()


def test_every_contract_has_an_import_that_breaks_it() -> None:
    assert {contract["name"] for contract in CONTRACTS} == set(FORBIDDEN)


@pytest.mark.parametrize(
    ("contract", "file", "statement"),
    [(contract, file, statement) for contract, broken_by in FORBIDDEN.items() for file, statement in broken_by],
)
def test_a_forbidden_import_breaks_its_contract(contract: str, file: str, statement: str) -> None:
    assert broken_contracts(with_import(file, statement), contract) == {contract}


def test_the_command_finds_the_same(tmp_path: Path) -> None:
    for room in PACKAGES:
        shutil.copytree(ROOT / room, tmp_path / room, ignore=shutil.ignore_patterns("__pycache__", "*.html", "*.css"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    file, statement = "tasksapp/sql/write_outcomes.py", "import tasksapp.workers.delivery_runtime"
    with (tmp_path / file).open("a") as source:
        source.write(f"\n{statement}\n")

    run = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=tmp_path,
        # Else the folder of the editable install would be looked at.
        env={**os.environ, "PYTHONPATH": str(tmp_path), "COLUMNS": "300"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    found = set(re.findall(r"^(\S.*?) BROKEN", run.stdout, flags=re.MULTILINE))
    assert found == broken_contracts(with_import(file, statement)), run.stdout + run.stderr
    assert found != set()


def test_only_what_django_and_celery_look_for_by_name_stands_at_the_root_of_the_app() -> None:
    assert {path.stem for path in (ROOT / "tasksapp").glob("*.py")} == {
        "__init__", "apps", "checks", "conf", "errors", "tasks",
    }  # fmt: skip


@pytest.mark.parametrize("package", ["delayhub", "tasksapp"])
def test_no_modules_import_each_other_in_a_circle(package: str) -> None:
    # What only type checkers import is loaded by none: an extension point names the types of those who take part.
    graph = grimp.build_graph(package, cache_dir=None, exclude_type_checking_imports=True)

    circles = [
        (module, chain)
        for module in sorted(graph.modules)
        for imported in sorted(graph.find_modules_directly_imported_by(module))
        if (chain := graph.find_shortest_chain(imported, module)) is not None
    ]

    assert circles == []
