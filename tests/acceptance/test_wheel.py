"""What is installed from a wheel has its pages, as a checkout has."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

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
