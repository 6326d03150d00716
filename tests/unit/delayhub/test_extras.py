"""What an extra brings is looked for, and a missing package is one sentence."""

from __future__ import annotations

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


@pytest.mark.parametrize("version", ["5.5.0", "5.5rc2", "5.7.9"])
def test_a_version_within_the_bounds_is_taken(version: str) -> None:
    check_version("celery", version)


@pytest.mark.parametrize(
    ("package", "version", "told"),
    [
        ("kombu", "5.5.1", "kombu is 5.5.1, and has to be 5.5.2 or newer, below 5.8"),
        ("celery", "5.8.0rc1", "celery is 5.8.0rc1, and has to be 5.5 or newer, below 5.8"),
        ("redis", "9.0", "redis is 9.0, and has to be 6 or newer, below 9"),
    ],
)
def test_a_version_out_of_the_bounds_is_refused(package: str, version: str, told: str) -> None:
    with pytest.raises(NotInstalled, match=told):
        check_version(package, version)


def test_an_error_about_a_module_of_an_extra_says_what_to_install() -> None:
    error = not_installed(ModuleNotFoundError("No module named 'kombu'", name="kombu.transport"), extra="celery")

    assert str(error) == f"kombu is not installed: {HOW}"
    assert not_installed(error, extra="client") is error


def test_an_error_about_another_module_stays_as_it_is() -> None:
    error = ModuleNotFoundError("No module named 'shop'", name="shop")

    assert not_installed(error, extra="celery") is error
