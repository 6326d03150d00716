"""A site before it starts: its addresses, its secrets, and the environment of its processes."""

from __future__ import annotations

import re
import socket
import stat
from pathlib import Path

import pytest

from delayhub.cli.local_commands import up_command
from delayhub.demo.receiver import SECRET_VARIABLE
from delayhub.demo.site import Site, SiteOptions, require_free
from delayhub.errors import PortTaken, ServiceDied
from delayhub.local.redis_server import free_port
from tests.repository import ROOT, text_of


def site_in(folder: Path, **settings: str) -> Site:
    return Site(SiteOptions(data_dir=folder, settings=settings, web_port=8123))


def test_a_port_that_was_asked_for_is_used_and_others_are_free_ones(tmp_path: Path) -> None:
    site = site_in(tmp_path)

    assert site.url == "http://127.0.0.1:8123"
    assert site.receiver_url == f"http://127.0.0.1:{site.receiver_port}"
    require_free(site.receiver_port)


def test_a_taken_port_is_named_before_anything_starts(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        with pytest.raises(PortTaken, match=f"port {port}"), Site(SiteOptions(data_dir=tmp_path, redis_port=port)):
            pass

    assert [file.name for file in tmp_path.iterdir() if file.name == "redis"] == []


class Ended:
    """A service that ended by itself, so many seconds after its start."""

    name = "worker"

    def __init__(self, *, seconds_since_launch: float) -> None:
        self.seconds_since_launch = seconds_since_launch
        self.launches = 0

    def check(self) -> None:
        if not self.launches:
            raise ServiceDied("worker", 71, "can open no more files")

    def launch(self) -> None:
        self.launches += 1


@pytest.mark.parametrize(("seconds", "is_revived"), [(3_600.0, True), (5.0, False)])
def test_a_service_that_ran_for_a_minute_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, is_revived: bool
) -> None:
    site, service = site_in(tmp_path), Ended(seconds_since_launch=seconds)
    monkeypatch.setattr(Site, "services", (service,))

    if is_revived:
        assert site.keep_running() == ["worker"]
        assert site.keep_running() == []
    else:
        with pytest.raises(ServiceDied, match="can open no more files"):
            site.keep_running()

    assert service.launches == is_revived


def test_secrets_are_kept_in_its_folder_and_only_its_owner_can_read_them(tmp_path: Path) -> None:
    first, again = site_in(tmp_path), site_in(tmp_path)

    for name in ("api_key", "admin_password", "signing_secret"):
        assert getattr(first, name) == getattr(again, name)
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    assert first.api_key.startswith("dh_")
    assert first.signing_secret.startswith("whsec_")


def test_its_processes_use_its_folder_and_its_redis_whatever_the_caller_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DELAYHUB_BROKER_URL", "delayhub://elsewhere:6379/0")
    site = site_in(tmp_path, DELAYHUB_LEASE_SECONDS="3", DELAYHUB_DATA_DIR="/elsewhere")
    site.redis.port = free_port()

    found = site.environment

    assert found["DELAYHUB_BROKER_URL"] == f"delayhub://127.0.0.1:{site.redis.port}/0"
    assert found["DELAYHUB_DATA_DIR"] == str(tmp_path)
    assert found["DELAYHUB_LEASE_SECONDS"] == "3"


def test_what_the_operator_set_stands_over_what_is_usual(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = {name for name in site_in(tmp_path).environment if name.startswith(("DELAYHUB_", "PYTHONUNBUFFERED"))}
    for name in usual:
        monkeypatch.setenv(name, "7")

    found = site_in(tmp_path).environment

    assert "DELAYHUB_BREAKER_FAILURES" not in usual  # the usual breaker
    its_own = {"DELAYHUB_DATA_DIR", "DELAYHUB_BROKER_URL", SECRET_VARIABLE}
    added_to = {"DELAYHUB_ALLOWED_NETWORKS", "DELAYHUB_ALLOWED_HOSTS"}
    assert {name for name in usual if found[name] != "7"} == its_own | added_to
    assert found["DELAYHUB_ALLOWED_NETWORKS"] == "127.0.0.0/8,7"
    assert found["DELAYHUB_ALLOWED_HOSTS"] == "7,127.0.0.1"


def variables_of_the_settings() -> set[str]:
    """Each variable that the settings of the ready-made project read."""
    found = re.findall(r"""\benv\.\w+\(\s*"([A-Z_]+)\"""", text_of(ROOT / "delayhub/project/settings.py"))
    assert len(found) > 40
    return {f"DELAYHUB_{name}" for name in found}


def test_each_variable_that_settings_read_reaches_the_processes_or_is_said_to_be_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in variables_of_the_settings():
        monkeypatch.setenv(name, "7")
    site = site_in(tmp_path)

    others = {name for name in variables_of_the_settings() if site.environment[name] != "7"}

    assert others == {
        "DELAYHUB_ALLOWED_HOSTS",  # added to
        "DELAYHUB_ALLOWED_NETWORKS",  # added to
        "DELAYHUB_BROKER_URL",  # said
        "DELAYHUB_DATA_DIR",  # the command's --data, which takes it from there
    }
    assert site.ignored_variables == ["DELAYHUB_BROKER_URL"]
    [data] = [option for option in up_command.params if option.name == "data_dir"]
    assert data.envvar == "DELAYHUB_DATA_DIR"


def test_links_in_messages_lead_to_the_site(tmp_path: Path) -> None:
    site = site_in(tmp_path)

    assert site.environment["DELAYHUB_SITE_URL"] == site.url


def test_redis_keeps_its_data_and_services_end_in_the_opposite_order_of_their_start(tmp_path: Path) -> None:
    site = site_in(tmp_path)

    assert site.redis.append_only
    assert site.redis.data_dir == tmp_path / "redis"
    with site.folder:
        assert [service.name for service in site.services] == ["receiver", "web server", "worker"]
