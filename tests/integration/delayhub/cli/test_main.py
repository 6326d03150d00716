"""Commands on a live site: what they show, and their exit codes.

What the commands share is seen here too: the site of ``session``, the options of ``site_options``, bodies by
``job_input``, links of ``job_links``, and numbers by ``stats_commands``.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from delayhub.cli.exit_codes import ExitCode
from delayhub.cli.main import HOMES, main
from delayhub.cli.profiles import Profile, Profiles, save
from tests.web_server import BIZ_TYPE, KEY

Type = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def environment(port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DELAYHUB_URL", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("DELAYHUB_API_KEY", KEY)
    monkeypatch.setenv("DELAYHUB_CONFIG", str(tmp_path / "config.toml"))


@pytest.fixture
def typed(capsys: pytest.CaptureFixture[str]) -> Type:
    """What a typed command gives: its exit code, results and notes."""

    def run(*words: str) -> tuple[int, str, str]:
        code = main(words)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def shown(typed: Type, *words: str) -> Any:
    code, out, err = typed(*words, "--json")
    assert code == 0, err
    return json.loads(out)


@pytest.mark.parametrize("command", HOMES)
def test_every_command_says_how_it_is_used(command: str, typed: Type) -> None:
    code, out, _ = typed(command, "--help") if command not in {"up", "demo"} else (0, "Usage", "")

    assert code == 0
    assert "Usage" in out


def test_a_job_from_its_creation_to_its_end(typed: Type) -> None:
    name = f"{BIZ_TYPE}/cli-1"

    code, out, err = typed("jobs", "create", BIZ_TYPE, "--biz-id", "cli-1", "--delay", "1d", "--body", '{"a": 1}')
    assert (code, "due in 24 h" in err, '{"a": 1}' in out) == (0, True, True)
    assert shown(typed, "jobs", "show", name)["body"] == {"a": 1}
    changed = shown(typed, "jobs", "change", name, "--due-at", "+2d", "--body", "null", "--version", "1")
    assert (changed["version"], changed["body"]) == (2, None)
    assert typed("jobs", "change", name)[0] == ExitCode.USAGE
    assert typed("jobs", "cancel", name, "--version", "1", "--yes")[0] == ExitCode.CONFLICT
    assert typed("jobs", "wait", name, "--timeout", "0.1")[0] == ExitCode.TIMED_OUT
    assert shown(typed, "jobs", "cancel", name, "--yes")["status"] == "cancelled"
    assert typed("jobs", "wait", name)[0] == ExitCode.ENDED_BADLY
    code, out, _ = typed("jobs", "list", "--biz-id", "cli-1", "--status", "cancelled", "--created-from", "-1h")
    assert (code, out.count("cli-1")) == (0, 1)
    assert typed("jobs", "show", name, "--attempts")[0] == 0
    assert typed("jobs", "redrive", name)[0] != 0


def test_every_site_is_asked_but_only_to_read(typed: Type, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert typed("--all", "jobs", "list")[0] == ExitCode.FAILED
    saved = Profile(f"http://127.0.0.1:{port}", KEY)
    path = Path(os.environ["DELAYHUB_CONFIG"])
    save(Profiles({"c1": saved, "c2": saved, "away": Profile("http://127.0.0.1:1", KEY)}), path)
    made = shown(typed, "jobs", "create", BIZ_TYPE, "--delay", "1d", "--biz-id", "cli-every")

    code, out, err = typed("--all", "jobs", "list", "--biz-id", "cli-every")
    save(Profiles({"c1": saved, "c2": saved}), path)
    found, none = typed("--all", "jobs", "show", made["id"])[0], typed("--all", "jobs", "show", f"{BIZ_TYPE}/none")[0]
    refused = typed("--all", "jobs", "cancel", made["id"], "--yes")
    named = typed("--all", "jobs", "list", "--profile", "c1")

    assert (code, out.count("cli-every")) == (ExitCode.UNAVAILABLE, 2)
    assert [line.split(" ")[0] for line in err.splitlines() if line.endswith(":")] == ["away", "c1", "c2"]
    assert (found, none) == (ExitCode.OK, ExitCode.NOT_FOUND)
    assert "--all is for commands that only read" in refused[2]
    assert shown(typed, "jobs", "show", made["id"])["status"] == "pending"
    assert typed("--all", "up")[0] == typed("--all")[0] == ExitCode.USAGE
    assert (named[0], "leave --profile and --url out" in named[2]) == (ExitCode.USAGE, True)


def test_a_business_key_is_resolved_and_that_is_taken_back(typed: Type) -> None:
    own = '{"timeout_seconds": 1, "headers": {"Authorization": "Bearer x"}}'
    made = shown(typed, "jobs", "create", BIZ_TYPE, "--biz-id", "cli-2", "--delay", "1d", "--request", own)
    assert made["request"] == {"timeout_seconds": 1, "headers": {"Authorization": "(hidden)"}}
    assert shown(typed, "jobs", "change", made["id"], "--request", "null")["request"] is None
    changed = shown(typed, "jobs", "change", made["id"], "--biz-id", "cli-3")

    resolved = shown(typed, "jobs", "resolve", BIZ_TYPE, "--biz-id", "cli-3", "--reason", "paid", "--yes")
    refused = typed("jobs", "create", BIZ_TYPE, "--biz-id", "cli-3")
    code, out, _ = typed("jobs", "lift", BIZ_TYPE, "--biz-id", "cli-3")

    assert changed["biz_id"] == "cli-3"
    assert (resolved["accepted"], resolved["cancelled"], resolved["running"]) == (True, [made["id"]], [])
    assert (refused[0], "is resolved" in refused[2]) == (ExitCode.CONFLICT, True)
    assert (code, "1" in out) == (0, True)
    assert typed("jobs", "run-again", made["id"])[0] == ExitCode.CONFLICT
    assert typed("jobs", "redrive", made["id"], "--lift")[0] == ExitCode.CONFLICT


def test_a_question_is_answered(typed: Type) -> None:
    where = ("--set", "url=https://shop.example/h", "--set", f"on_resolved={BIZ_TYPE}")
    assert typed("biz-types", "create", "cli.ask", *where)[0] == 0
    made = shown(typed, "jobs", "create", "cli.ask", "--biz-id", "cli-4", "--delay", "1d")

    answer = ("jobs", "resolve", "cli.ask", "--biz-id", "cli-4", "--outcome", "approved", "--body", "[1]", "--yes")
    said = shown(typed, *answer)
    code, out, _ = typed(*answer)
    other = typed(*answer[:-2], "[2]", "--yes")

    assert (said["answered"], said["status"], said["too_late"]) == (made["id"], "cancelled", False)
    assert (code, made["id"] in out, "too late" in out) == (0, True, False)
    assert (other[0], "was answered with" in other[2]) == (ExitCode.CONFLICT, True)


def test_a_link_by_which_a_person_answers_is_made_listed_and_withdrawn(typed: Type) -> None:
    where = ("--set", "url=https://shop.example/h", "--set", f"on_resolved={BIZ_TYPE}")
    assert typed("biz-types", "create", "cli.link", *where)[0] == 0
    made = shown(typed, "jobs", "create", "cli.link", "--biz-id", "cli-5", "--delay", "1d")
    words = ("cli.link/cli-5", "--given-to", "eve", "--outcome", "yes", "--outcome", "no", "--expires", "+2h")

    code, out, err = typed("jobs", "link", *words)
    link = shown(typed, "jobs", "link", made["id"], *words[1:])
    listed = typed("jobs", "links", made["id"])
    gone = typed("jobs", "withdraw-link", "cli.link/cli-5", str(link["id"]))

    assert (code, "shown this once" in err, "https://delayhub.example/api/answer#" in out) == (0, True, True)
    assert (link["outcomes"], link["url"].partition("#")[0]) == (["yes", "no"], "https://delayhub.example/api/answer")
    assert (listed[0], listed[1].count("yes, no"), "#" in link["url"]) == (0, 2, True)
    assert (gone[0], typed("jobs", "withdraw-link", made["id"], str(link["id"]))[0]) == (0, ExitCode.NOT_FOUND)


def test_a_body_is_read_from_a_file_and_from_the_standard_input(
    typed: Type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "body.json").write_text("[1, 2]")
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"from": "stdin"}'))

    assert shown(typed, "jobs", "create", BIZ_TYPE, "--body", f"@{tmp_path}/body.json")["body"] == [1, 2]
    assert shown(typed, "jobs", "create", BIZ_TYPE, "--body", "-")["body"] == {"from": "stdin"}


def test_exact_bytes_come_from_a_file_or_as_a_text(typed: Type, tmp_path: Path) -> None:
    (tmp_path / "image").write_bytes(b"\x00\xff\r\n")
    words = ("jobs", "create", BIZ_TYPE, "--delay", "1d")

    image = shown(typed, *words, "--raw", f"{tmp_path}/image", "--content-type", "image/png")
    text = shown(typed, *words, "--text", "<a/>\n")
    changed = shown(typed, "jobs", "change", text["id"], "--raw", f"{tmp_path}/image")

    assert (image["body_base64"], image["content_type"]) == ("AP8NCg==", "image/png")
    assert (text["body_text"], text["content_type"]) == ("<a/>\n", "text/plain; charset=utf-8")
    assert (changed["body_base64"], changed["content_type"]) == ("AP8NCg==", "application/octet-stream")
    assert "4 bytes" in typed("jobs", "show", image["id"])[1]
    code, _, err = typed(*words, "--text", "x", "--body", "1")
    assert (code, "--body, --raw and --text cannot be given together" in err) == (ExitCode.USAGE, True)
    assert typed(*words, "--raw", f"{tmp_path}/none")[0] == ExitCode.USAGE


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["jobs", "create", "no.such"], ExitCode.FAILED, "there is no biz type 'no.such'"),
        (["jobs", "show", f"{BIZ_TYPE}/none"], ExitCode.NOT_FOUND, "There is no job"),
        (["jobs", "create", BIZ_TYPE, "--body", "hello"], ExitCode.USAGE, "the body is no JSON"),
        (["jobs", "create", BIZ_TYPE, "--delay", "soon"], ExitCode.USAGE, "a duration is like 30m"),
        (["jobs", "create", BIZ_TYPE, "--delay", "1", "--due-at", "+1h"], ExitCode.USAGE, "cannot be given together"),
        (["jobs", "cancel", f"{BIZ_TYPE}/none"], ExitCode.NOT_FOUND, "There is no job"),
        (["jobs", "list", "--url", "http://127.0.0.1:1"], ExitCode.UNAVAILABLE, "Error: GET http://127.0.0.1:1"),
        (["jobs", "list", "--profile", "nope"], ExitCode.FAILED, "there is no profile 'nope'"),
        (["operations", "run", "cancel", "--yes"], ExitCode.USAGE, "Which jobs?"),
        (["biz-types", "change", BIZ_TYPE, "--set", "colour=red"], ExitCode.USAGE, "--set takes FIELD=VALUE"),
        (["nonsense"], ExitCode.USAGE, "No such command"),
    ],
)
def test_what_goes_wrong_is_a_sentence_and_an_exit_code(
    typed: Type, words: list[str], code: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("delayhub.client.answer.FIRST_PAUSE", 0.001)

    found, _, err = typed(*words)

    assert (found, said in err, "Traceback" in err) == (code, True, False), err


def test_a_wrong_key_is_an_exit_code_too(typed: Type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DELAYHUB_API_KEY", "dh_wrong")

    code, _, err = typed("jobs", "list")

    assert code == ExitCode.NOT_ALLOWED
    assert "DELAYHUB_API_KEY" in err


def test_what_is_dangerous_is_not_done_where_no_person_can_be_asked(
    typed: Type, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed("jobs", "create", BIZ_TYPE, "--biz-id", "cli-2", "--delay", "1d")
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))

    code, _, err = typed("jobs", "cancel", f"{BIZ_TYPE}/cli-2")

    assert (code, "Add --yes" in err) == (ExitCode.USAGE, True)
    assert shown(typed, "jobs", "show", f"{BIZ_TYPE}/cli-2")["status"] == "pending"


def test_a_profile_is_a_site_and_a_key(typed: Type, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DELAYHUB_URL")
    monkeypatch.delenv("DELAYHUB_API_KEY")
    monkeypatch.setattr(sys, "stdin", io.StringIO(KEY + "\n"))

    assert typed("jobs", "list")[0] == ExitCode.FAILED
    assert typed("profiles", "add", "work", "--url", f"http://127.0.0.1:{port}")[0] == 0
    assert shown(typed, "profiles", "list") == {"name": "work", "url": f"http://127.0.0.1:{port}", "in_use": True}
    assert shown(typed, "biz-types", "show", BIZ_TYPE)["code"] == BIZ_TYPE
    # The key of a profile goes to no other address.
    code, _, err = typed("jobs", "list", "--url", "http://127.0.0.1:1")
    assert (code, "no API key for http://127.0.0.1:1" in err) == (ExitCode.FAILED, True)
    assert typed("profiles", "remove", "work")[0] == 0


def test_the_console_script_completes_and_ends_quietly_before_a_closed_pipe() -> None:
    script = Path(sys.executable).with_name("delayhub")
    completing = {**os.environ, "COMP_WORDS": "delayhub jobs create ", "COMP_CWORD": "3"}

    completed = subprocess.run(
        [script], env={**completing, "_DELAYHUB_COMPLETE": "bash_complete"}, capture_output=True, text=True, check=True
    )
    piped = subprocess.run(
        ["sh", "-c", f"{script} biz-types list --json | true"], capture_output=True, text=True, check=False
    )

    assert f"plain,{BIZ_TYPE}" in completed.stdout.splitlines()
    assert (piped.returncode, piped.stderr) == (0, "")


def test_a_key_from_its_issue_to_its_end(typed: Type) -> None:
    code, out, err = typed("keys", "create", "cli", "--scope", "jobs:read", "--expires", "+90d", "--owner", "ada")
    assert (code, "shown this once" in err) == (0, True)
    number = re.findall(r"^id +(\d+)", out, re.MULTILINE)[0]

    assert typed("keys", "change", number, "--never-expires", "--disable")[0] == 0
    changed = shown(typed, "keys", "show", number)
    assert (changed["expires_at"], changed["enabled"], changed["owner"]) == (None, False, "ada")
    assert "dh_" in shown(typed, "keys", "rotate", number, "--yes")["key"]
    assert "cli" in typed("keys", "list", "--disabled")[1]
    assert typed("keys", "revoke", number, "--yes")[0] == 0
    assert typed("keys", "show", number)[0] == ExitCode.NOT_FOUND


def test_a_biz_type_from_its_making_to_its_end(typed: Type, tmp_path: Path) -> None:
    code, out, _ = typed("biz-types", "create", "cli.try", "--set", "url=https://shop.example/h", "--set", "weight=3")
    assert (code, "whsec_" in out) == (0, True)

    assert shown(typed, "biz-types", "change", "cli.try", "--set", 'headers={"x": "1"}')["headers"] == {"x": "1"}
    assert "paused: it moves" in typed("biz-types", "pause", "cli.try", "--reason", "it moves", "--until", "+2h")[1]
    assert typed("biz-types", "resume", "cli.try")[0] == 0
    assert "whsec_" in typed("biz-types", "rotate-secret", "cli.try", "--yes")[1]
    pairs = ("biz-types", "key-pairs")
    assert "none: no key signs" in typed(*pairs, "list", "cli.try")[1]
    (first,) = shown(typed, *pairs, "make", "cli.try", "--yes")["public_keys"]
    both = shown(typed, *pairs, "make", "cli.try", "--overlap", "1h", "--yes")["public_keys"]
    assert both[1:] == [first]
    assert shown(typed, *pairs, "end-rotation", "cli.try", "--yes")["public_keys"] == both[:1]
    assert shown(typed, *pairs, "retire", "cli.try", "--yes") == {"public_keys": [], "previous_key_until": None}
    assert shown(typed, "biz-types", "rename", "cli.try", "cli.other", "--yes")["code"] == "cli.other"
    assert typed("biz-types", "rename", "cli.other", "cli.try", "--yes")[0] == 0
    (tmp_path / "all.json").write_text(typed("biz-types", "export")[1])
    assert typed("biz-types", "delete", "cli.try", "--yes")[0] == 0
    assert "create cli.try" in typed("biz-types", "import", str(tmp_path / "all.json"), "--dry-run")[2]
    assert typed("biz-types", "import", str(tmp_path / "all.json"), "--yes")[0] == 0
    assert shown(typed, "biz-types", "show", "cli.try")["weight"] == 3
    assert typed("biz-types", "delete", "cli.try", "--yes")[0] == 0


def test_a_flow_key_is_given_found_and_paused(typed: Type) -> None:
    made = shown(typed, "jobs", "create", BIZ_TYPE, "--delay", "10m", "--flow-key", "customer-7")

    assert made["flow_key"] == "customer-7"
    assert made["id"] in typed("jobs", "list", "--biz-type", BIZ_TYPE, "--flow-key", "customer-7")[1]
    assert typed("jobs", "list", "--biz-type", BIZ_TYPE, "--flow-key", "customer-8")[1].count(made["id"]) == 0
    code, out, err = typed("flow-keys", "pause", BIZ_TYPE, "customer-7", "--reason", "its receiver moves")
    assert (code, "paused" in out) == (0, True), err
    code, _, err = typed("flow-keys", "list", BIZ_TYPE)
    assert (code, "Redis" in err) == (ExitCode.UNAVAILABLE, True)  # this site has none
    assert shown(typed, "flow-keys", "resume", BIZ_TYPE, "customer-7")["paused_until"] is None
    assert shown(typed, "jobs", "change", made["id"], "--flow-key", "")["flow_key"] == ""
    assert typed("jobs", "cancel", made["id"], "--yes")[0] == 0


def test_an_operation_is_planned_and_stopped(typed: Type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("delayhub.cli.operation_commands.COUNTING_SECONDS", 0.1)  # no worker is there to count

    assert typed("operations", "run", "cancel", "--biz-id", "none-*", "--yes")[0] == ExitCode.TIMED_OUT
    (planned,) = (json.loads(line) for line in typed("operations", "list", "--limit", "1", "--json")[1].splitlines())
    assert typed("operations", "start", str(planned["id"]), "--yes")[0] == ExitCode.CONFLICT
    assert shown(typed, "operations", "stop", str(planned["id"]), "--reason", "enough")["state"] == "stopped"
    assert typed("operations", "wait", str(planned["id"]))[0] == ExitCode.ENDED_BADLY
    code, _, err = typed("operations", "rest", str(planned["id"]))
    assert (code, "ended before its jobs were counted" in err) == (ExitCode.CONFLICT, True)
    assert typed("operations", "show", "999999")[0] == ExitCode.NOT_FOUND


def test_a_series_from_its_creation_to_its_end(typed: Type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("delayhub.cli.operation_commands.COUNTING_SECONDS", 0.1)  # no worker is there to count
    name = f"{BIZ_TYPE}/each hour"

    code, out, _ = typed("series", "preview", "--cron", "0 9 * * 1-5", "--time-zone", "Asia/Shanghai", "--most", "2")
    assert (code, "Monday through Friday" in out, len(out.splitlines())) == (0, True, 3)
    made = shown(typed, "series", "create", BIZ_TYPE, "each hour", "--every", "1h", "--flow-key", "a", "--body", "[1]")
    assert (made["every"], made["flow_key"], made["body"]) == (3600, "a", [1])
    assert shown(typed, "series", "show", name)["id"] == made["id"]
    assert shown(typed, "series", "change", name, "--body", '{"open": true}')["body"] == {"open": True}
    assert '{"open": true}' in typed("series", "show", name)[1]
    assert shown(typed, "jobs", "list", "--series", str(made["id"]))["series"] == made["id"]
    code, out, _ = typed("series", "pause", name, "--reason", "holidays")
    assert (code, "paused" in out, "holidays" in out) == (0, True, True)
    assert "each hour" in typed("series", "list", "--paused")[1]
    assert shown(typed, "series", "resume", str(made["id"]))["paused_at"] is None
    assert shown(typed, "series", "change", name, "--overlap", "skip", "--version", "4")["overlap"] == "skip"
    assert typed("series", "change", name, "--overlap", "skip", "--version", "4")[0] == ExitCode.CONFLICT
    assert typed("series", "change", name)[0] == ExitCode.USAGE
    assert shown(typed, "series", "change", name, "--text", "<a/>")["body_text"] == "<a/>"
    assert "text/plain; charset=utf-8" in typed("series", "show", name)[1]
    assert typed("series", "change", name, "--text", "a", "--body", "1")[0] == ExitCode.USAGE
    assert shown(typed, "jobs", "show", shown(typed, "series", "trigger", name)["job_id"])["occurrence_at"] is None
    assert typed("series", "backfill", name, "--since", "-5h", "--yes")[0] == ExitCode.TIMED_OUT
    (planned,) = (json.loads(line) for line in typed("operations", "list", "--limit", "1", "--json")[1].splitlines())
    assert (planned["verb"], planned["filter"]["series"]) == ("backfill", made["id"])
    assert typed("series", "delete", name, "--yes")[0] == 0
    assert typed("series", "show", name)[0] == ExitCode.NOT_FOUND
    assert typed("series", "show", str(made["id"]))[0] == ExitCode.NOT_FOUND


def test_numbers_are_shown_once_and_again(typed: Type) -> None:
    assert BIZ_TYPE in typed("stats")[1]
    assert shown(typed, "stats", "--biz-type", BIZ_TYPE)["health"]["is_ok"] is False  # there is no worker
    lines = [json.loads(line) for line in typed("watch", "--times", "2", "--every", "0.1s")[1].splitlines()]
    assert [set(line) for line in lines] == [{"stats", "health"}] * 2
    assert typed("issues") == (0, "", "No job is dead.\n")
    typed("jobs", "create", BIZ_TYPE, "--biz-id", "audited", "--delay", "1d")
    typed("jobs", "cancel", f"{BIZ_TYPE}/audited", "--yes")
    assert "api:tests" in typed("audit", "--verb", "cancel", "--limit", "1")[1]


@pytest.mark.parametrize(("absent", "words", "extra"), [("httpx", "jobs list", "cli"), ("django", "up", "standalone")])
def test_what_is_not_installed_is_named_with_how_to_install_it(absent: str, words: str, extra: str) -> None:
    code = f"import sys; sys.modules[{absent!r}] = None; from delayhub.cli.__main__ import run; sys.exit(run())"

    done = subprocess.run(
        [sys.executable, "-c", code, *words.split()], capture_output=True, text=True, check=False, timeout=120
    )

    assert done.returncode == ExitCode.FAILED
    assert f'install DelayHub with the extra "{extra}"' in done.stderr
    assert "Traceback" not in done.stderr


def test_jobs_are_exported_into_a_file_that_has_its_name_once_it_is_whole(typed: Type, tmp_path: Path) -> None:
    typed("jobs", "create", BIZ_TYPE, "--biz-id", "exported-1", "--delay", "1h")
    file = tmp_path / "jobs.ndjson"

    code, _, err = typed("jobs", "export", "--biz-id", "exported-*", "--output", str(file))
    _, printed, _ = typed("jobs", "export", "--biz-id", "exported-*", "--format", "csv")

    assert code == 0, err
    assert [json.loads(line)["biz_id"] for line in file.read_text().splitlines()] == ["exported-1"]
    assert [path.name for path in tmp_path.iterdir() if "jobs" in path.name] == ["jobs.ndjson"]
    assert printed.startswith("id,biz_type,status,")
    assert ",exported-1," in printed
