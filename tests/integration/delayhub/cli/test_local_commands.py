"""``delayhub up`` and ``delayhub demo``, as far as it goes without a site that is up."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from delayhub.cli.local_commands import main
from delayhub.local.data_folder import DataFolder


@pytest.mark.parametrize("arguments", [["--help"], ["up", "--help"], ["demo", "--help"]])
def test_help_is_there(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)

    assert ended.value.code == 0
    assert "usage: delayhub" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "required: up | demo"),
        (["demo", "--jobs", "3"], "the demo has 20 to 20000 jobs, got 3"),
        (["demo", "--jobs", "many"], "invalid count value: 'many'"),
        (["demo", "--seconds", "0"], "the demo takes 1 to 3600 seconds, got 0"),
        (["demo", "--seconds", "nan"], "the demo takes 1 to 3600 seconds, got nan"),
        (["up", "--port", "70000"], "a port is 1 to 65535, got 70000"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)

    assert ended.value.code == 2
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
        f"port {port} of 127.0.0.1 is taken: stop what listens there, or choose another port\n"
    )


@pytest.mark.parametrize("command", ["up", "demo"])
def test_a_data_folder_in_use_is_a_sentence(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with DataFolder(tmp_path):
        code = main([command, "--data", str(tmp_path)])

    assert code == 1
    error = capsys.readouterr().err
    assert error == f"the data folder {tmp_path} is in use by another server: stop that one or name another folder\n"


def test_a_machine_without_redis_is_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("delayhub.local.server_program.candidates", list)

    assert main(["up", "--data", str(tmp_path)]) == 1
    assert "no Redis or Valkey server of version 6.2 or newer" in capsys.readouterr().err
