"""``delayhub up`` and ``delayhub demo``, as far as it goes without a site that is up."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from delayhub.cli import local_commands
from delayhub.cli.main import main
from delayhub.local.data_folder import DataFolder


@pytest.fixture(autouse=True)
def _keeps_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves the signals of this process as they are."""
    monkeypatch.setattr(local_commands.signal, "signal", lambda number, handler: None)


@pytest.mark.parametrize("command", ["up", "demo"])
def test_help_is_there(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    assert f"Usage: delayhub {command}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["demo", "--jobs", "3"], "'--jobs': 3 is not in the range 20<=x<=20000."),
        (["demo", "--jobs", "many"], "'--jobs': 'many' is not a valid integer range."),
        (["demo", "--seconds", "0"], "'--seconds': 0.0 is not in the range 1<=x<=3600."),
        (["demo", "--seconds", "nan"], "'--seconds': nan is no number of seconds."),
        (["up", "--port", "70000"], "'--port': 70000 is not in the range 1<=x<=65535."),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--port", "--redis-port", "--receiver-port"])
@pytest.mark.parametrize("command", ["up", "demo"])
def test_a_taken_port_is_a_sentence(
    command: str, option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]

        code = main([command, "--data", str(tmp_path), option, str(port)])

    assert code == 1
    assert capsys.readouterr().err == (
        f"Error: port {port} of 127.0.0.1 is taken: stop what listens there, or choose another port\n"
    )


@pytest.mark.parametrize("named_by", ["--data", "DELAYHUB_DATA_DIR"])
@pytest.mark.parametrize("command", ["up", "demo"])
def test_a_data_folder_in_use_is_a_sentence(
    command: str, named_by: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DELAYHUB_DATA_DIR", str(tmp_path if named_by == "DELAYHUB_DATA_DIR" else tmp_path / "other"))
    with DataFolder(tmp_path):
        code = main([command, *(["--data", str(tmp_path)] if named_by == "--data" else [])])

    assert code == 1
    error = capsys.readouterr().err
    assert (
        error
        == f"Error: the data folder {tmp_path} is in use by another server: stop that one or name another folder\n"
    )


def test_a_machine_without_redis_is_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("delayhub.local.redis_server.candidates", list)

    assert main(["up", "--data", str(tmp_path)]) == 1
    assert "no Redis or Valkey server of version 6.2 or newer" in capsys.readouterr().err
