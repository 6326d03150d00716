"""Settings are read from the environment with types, and wrong values are named."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from delayhub.project.environment import Environment, kept_secret


@pytest.mark.parametrize("word", ["1", "true", "YES", " on "])
def test_a_flag_is_true_for_the_usual_words(word: str) -> None:
    assert Environment({"DELAYHUB_DEBUG": word}).flag("DEBUG") is True


@pytest.mark.parametrize("word", ["0", "false", "No", "off", ""])
def test_a_flag_is_false_for_the_usual_words(word: str) -> None:
    assert Environment({"DELAYHUB_DEBUG": word}).flag("DEBUG", default=True) is False


def test_a_flag_that_is_neither_is_refused_by_name_and_value() -> None:
    with pytest.raises(ImproperlyConfigured, match="DELAYHUB_DEBUG must be true or false, got 'perhaps'"):
        Environment({"DELAYHUB_DEBUG": "perhaps"}).flag("DEBUG")


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("many", "must be a whole number, got 'many'"),
        ("-1", "must be 0 or more, got -1"),
    ],
)
def test_a_number_that_cannot_be_is_refused(value: str, complaint: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=complaint):
        Environment({"DELAYHUB_HSTS_SECONDS": value}).number("HSTS_SECONDS", 10)


@pytest.mark.parametrize("given", [{}, {"DELAYHUB_MASTER": " "}])
def test_what_is_needed_and_missing_is_named_with_the_reason(given: dict[str, str]) -> None:
    with pytest.raises(ImproperlyConfigured, match="DELAYHUB_MASTER must be set, since there is none"):
        Environment(given).needed("MASTER", why="there is none")


def test_what_is_empty_is_as_what_is_not_set() -> None:
    empty = Environment({f"DELAYHUB_{name}": "" for name in ("TIME_ZONE", "LONG_POLLS", "LANES")})

    assert empty.text("TIME_ZONE", "UTC") == "UTC"
    assert empty.number("LONG_POLLS", 1) == 1
    assert empty.names("LANES", "delayhub.timers") == ["delayhub.timers"]


def test_names_are_split_at_commas_and_trimmed() -> None:
    assert Environment({"DELAYHUB_ALLOWED_HOSTS": " a.example , ,b.example"}).names("ALLOWED_HOSTS") == [
        "a.example",
        "b.example",
    ]


def test_a_choice_outside_its_words_is_refused() -> None:
    with pytest.raises(ImproperlyConfigured, match=r"must be one of \['console', 'json'\], got 'xml'"):
        Environment({"DELAYHUB_LOG_FORMAT": "xml"}).choice("LOG_FORMAT", "json", among=frozenset({"json", "console"}))


def test_a_level_of_logging_may_be_written_small_and_another_word_is_refused_by_name() -> None:
    assert Environment({"DELAYHUB_LOG_LEVEL": "debug"}).level("LOG_LEVEL", "INFO") == "DEBUG"
    assert Environment({}).level("JOB_LOG_LEVEL", "NOTSET") == "NOTSET"
    with pytest.raises(ImproperlyConfigured, match=r"DELAYHUB_LOG_LEVEL must be DEBUG, .* got 'VERBOSE'"):
        Environment({"DELAYHUB_LOG_LEVEL": "verbose"}).level("LOG_LEVEL", "INFO")


def test_a_secret_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "var" / "secret_key"

    with ThreadPoolExecutor(8) as pool:
        secrets = set(pool.map(lambda _: kept_secret(path), range(8)))

    assert len(secrets) == 1
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in path.parent.iterdir()] == ["secret_key"]


def test_an_empty_secret_file_is_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "secret_key"
    path.touch()

    with pytest.raises(ImproperlyConfigured, match="is empty"):
        kept_secret(path)
