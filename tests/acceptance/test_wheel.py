"""What is installed from a wheel has its pages, as a checkout has."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from delayhub.errors import INSTALL_PAGE
from tests.repository import ROOT

RENDER = """
import django
from django.template.loader import get_template

django.setup()
print(get_template("admin/index.html").origin.name)  # rendering it needs a database
for name in ("404.html", "500.html", "admin/base_site.html"):
    template = get_template(name)
    print(template.origin.name)
    assert "DelayHub" in template.render({"site_header": "DelayHub"}), name
"""

CHECK_A_CALLBACK = """
import time
from delayhub.receiver import BadCallback, Verifier, once
from delayhub.webhooks.signature import new_secret, sign

secret, now, body = new_secret(), int(time.time()), b'{"order": 42}'
headers = {
    "webhook-id": "job-1",
    "webhook-timestamp": str(now),
    "webhook-signature": sign([secret], message_id="job-1", timestamp=now, body=body),
    "delayhub-biz-type": "order.close",
    "delayhub-attempt": "1",
}
assert callable(once)
assert Verifier(secret).verify(headers, body).id == "job-1"
try:
    Verifier(secret).verify(headers, b"{}")
except BadCallback:
    print("genuine, forged")
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of this checkout, as pip builds it."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder],
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=120,
    )
    (built,) = folder.glob("*.whl")
    return built


def test_a_wheel_holds_every_file_of_its_packages(wheel: Path) -> None:
    here = {
        str(path.relative_to(ROOT))
        for package in ("delayhub", "tasksapp")
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    pages = {f"delayhub/project/{path.relative_to(ROOT)}" for path in (ROOT / "templates").rglob("*.html")}

    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}

    assert held == here | pages


def test_the_pages_of_a_wheel_are_found_where_it_is_installed(wheel: Path, tmp_path: Path) -> None:
    installed = tmp_path / "site-packages"
    zipfile.ZipFile(wheel).extractall(installed)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DELAYHUB_")}

    # PYTHONPATH comes before the editable installation of this checkout.
    done = subprocess.run(
        [sys.executable, "-c", RENDER],
        cwd=tmp_path,
        env={**environment, "PYTHONPATH": str(installed), "DJANGO_SETTINGS_MODULE": "delayhub.project.settings"},
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert done.returncode == 0, done.stderr
    assert [Path(line).is_relative_to(installed) for line in done.stdout.split()] == [True] * 4


@pytest.fixture(scope="module")
def alone(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a wheel installs, without any other package."""
    folder = tmp_path_factory.mktemp("alone")
    zipfile.ZipFile(wheel).extractall(folder)
    return folder


def without_packages(*arguments: str, path: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A run of Python with the standard library and what is in that folder."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(path), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-S", *arguments],
        cwd=cwd,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_a_wheel_needs_no_other_package_to_check_a_callback(alone: Path, tmp_path: Path) -> None:
    done = without_packages("-c", CHECK_A_CALLBACK, path=alone, cwd=tmp_path)

    assert (done.returncode, done.stdout.strip()) == (0, "genuine, forged"), done.stderr


@pytest.mark.parametrize(
    ("line", "extra"),
    [
        ("from delayhub import install", "celery"),
        ("from delayhub import DelayQueue", "celery"),
        ("import delayhub.engine", "celery"),
        ("import delayhub.transport", "celery"),
        ("import delayhub.beat", "celery"),
        ("from delayhub.client import Client", "client"),
        ("from delayhub.testing import RedisServer", "embedded"),
    ],
)
def test_a_missing_extra_is_one_sentence(alone: Path, tmp_path: Path, line: str, extra: str) -> None:
    done = without_packages("-c", line, path=alone, cwd=tmp_path)

    last = done.stderr.strip().splitlines()[-1]
    assert re.match(r"delayhub\.errors\.NotInstalled: [\w, ]+ (is|are) not installed: ", last)
    assert last.endswith(f': install DelayHub with the extra "{extra}", as {INSTALL_PAGE} says')
    assert done.stderr.count("Traceback") == 1


def test_the_command_without_its_extra_is_one_sentence(alone: Path, tmp_path: Path) -> None:
    done = without_packages("-m", "delayhub.cli", "jobs", "list", path=alone, cwd=tmp_path)

    assert done.returncode == 1
    how = f'install DelayHub with the extra "cli", as {INSTALL_PAGE} says'
    assert done.stderr == f"the command line needs click: {how}\n"


def test_pytest_runs_as_ever_where_the_wheel_is_installed_without_celery(alone: Path, tmp_path: Path) -> None:
    (tmp_path / "test_shop.py").write_text("def test_sums():\n    assert 1 + 1 == 2\n")
    packages = tmp_path / "packages"
    packages.mkdir()
    installed = Path(pytest.__file__).parents[1]
    for name in ("pytest", "_pytest", "py.py", "pluggy", "iniconfig", "packaging", "pygments"):
        (packages / name).symlink_to(installed / name)
    for entry in alone.iterdir():
        (packages / entry.name).symlink_to(entry)

    done = without_packages("-m", "pytest", "-q", "-W", "error", "test_shop.py", path=packages, cwd=tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
