"""What an extra brings is looked for, and a missing package is one sentence."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from delayhub import extras
from delayhub.errors import INSTALL_PAGE, NotInstalled
from delayhub.extras import check_version, not_installed, require

HOW = f'install DelayHub with the extra "celery", as {INSTALL_PAGE} says'


def test_nothing_is_said_where_all_packages_are_there() -> None:
    require(*extras.MODULES)


def test_missing_packages_are_named_with_the_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "MODULES", {"celery": ("redis", "no_such_a", "no_such_b")})

    with pytest.raises(NotInstalled) as told:
        require("celery")

    assert str(told.value) == f"no_such_a, no_such_b are not installed: {HOW}"
    assert (told.value.extra, told.value.name) == ("celery", "no_such_a")


@pytest.fixture(autouse=True)
def said_anew() -> Iterator[None]:
    """Each test sees its versions as the first of a process."""
    check_version.cache_clear()
    yield
    check_version.cache_clear()


@pytest.mark.parametrize("version", ["5.5.0", "5.5rc2", "5.7.9"])
def test_nothing_is_said_of_a_version_that_was_tested(version: str, caplog: pytest.LogCaptureFixture) -> None:
    check_version("celery", version)

    assert caplog.messages == []


@pytest.mark.parametrize(
    ("package", "version", "words"),
    [
        ("kombu", "5.5.1", "kombu is 5.5.1, and has to be 5.5.2 or newer"),
        ("celery", "5.4.0", "celery is 5.4.0, and has to be 5.5 or newer"),
        ("redis", "5.2.1", "redis is 5.2.1, and has to be 6 or newer"),
    ],
)
def test_a_version_that_is_known_to_fail_is_refused(package: str, version: str, words: str) -> None:
    with pytest.raises(NotInstalled, match=words):
        check_version(package, version)


@pytest.mark.parametrize("package", extras.BOUNDS)
@pytest.mark.parametrize("version", ["{}.0", "{}.0rc1", "99.0"])
def test_a_version_that_was_not_tested_is_a_warning_and_only_once(
    package: str, version: str, caplog: pytest.LogCaptureFixture
) -> None:
    untested = extras.BOUNDS[package][1]
    found = version.format(untested)

    for _ in range(2):
        check_version(package, found)

    said = f"{package} is {found}, which this version of DelayHub was not tested with: it was tested with those below"
    assert caplog.messages == [f"{said} {untested}"]


def test_a_process_starts_with_versions_that_were_not_tested() -> None:
    code = """
import celery, kombu, redis
celery.__version__, kombu.__version__, redis.__version__ = "5.8.0", "5.8.0", "9.0.0"
import delayhub
app = delayhub.install(celery.Celery(broker="delayhub://127.0.0.1"))
print(app.connection().transport)
"""

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "delayhub.transport.transport.Transport" in done.stdout
    assert done.stderr.count("was not tested with") == 3


def test_an_error_about_a_module_of_an_extra_says_what_to_install() -> None:
    error = not_installed(ModuleNotFoundError("No module named 'kombu'", name="kombu.transport"), extra="celery")

    assert str(error) == f"kombu is not installed: {HOW}"
    assert not_installed(error, extra="client") is error


def test_an_error_about_another_module_stays_as_it_is() -> None:
    error = ModuleNotFoundError("No module named 'shop'", name="shop")

    assert not_installed(error, extra="celery") is error
