"""The parts of deploy/compose.yaml run here without Docker, by the commands that the file has.

Only names of hosts and ports are replaced: here all listen on 127.0.0.1. `make image` names a container that was made
from the image (``DELAYHUB_TEST_CONTAINER``); then web server, worker, migration and probes are those in there.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import redis
import requests
import yaml

from delayhub.local.redis_server import find_redis_server, free_port
from delayhub.local.service import Service
from tests.integration.tasksapp.receiver import Receiver
from tests.own_postgres import OwnPostgres
from tests.prepared_site import prepare_site
from tests.repository import ROOT
from tests.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

FILE: dict[str, Any] = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text())
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
KEY = "dh_a-key-that-only-tests-know"
#: Of buildah, made from the image; none: the programs of this virtual environment run.
CONTAINER = os.environ.get("DELAYHUB_TEST_CONTAINER", "")
#: More than the web server has threads.
SLOW_CLIENTS = 40


@dataclass
class Composed:
    """The running parts."""

    folder: Path
    environment: dict[str, str]
    receiver: Receiver
    postgres_folder: Path
    web_port: int
    proxy_port: int

    def command(self, service: str, part: str = "command") -> list[str]:
        """The command of the file, or that of its health check, with programs and addresses of this machine."""
        said = FILE["services"][service]
        words: list[str] = said["command"] if part == "command" else said["healthcheck"]["test"][1:]
        return self.inside(words) if said["image"] == "delayhub:latest" else on_loopback(words, web_port=self.web_port)

    def inside(self, words: Sequence[str]) -> list[str]:
        """A command as it is run in the container, or by the programs of this virtual environment."""
        here = on_loopback(words, web_port=self.web_port)
        if CONTAINER:
            return in_container(here, self.environment, folder=self.postgres_folder)
        ours = Path(sys.executable).parent / here[0]
        return [str(ours) if ours.exists() else here[0], *here[1:]]


def in_container(words: Sequence[str], environment: Mapping[str, str], *, folder: Path) -> list[str]:
    """A command that runs in the container, which has the machine's network, as the user of the image.

    Args:
        environment: what the parts of the site are told; the image's own variables stay.
        folder: the only one of this machine that the container sees: PostgreSQL's socket is in it.
    """
    told = {name: value for name, value in environment.items() if name.startswith("DELAYHUB_")}
    told.pop("DELAYHUB_DATA_DIR")
    return [
        "buildah", "run", "--isolation", "chroot", "--volume", f"{folder}:{folder}",
        *(f"--env={name}={value}" for name, value in told.items()), CONTAINER, "--", *words,
    ]  # fmt: skip


def on_loopback(words: Sequence[str], *, web_port: int) -> list[str]:
    """A command that listens on a free port of 127.0.0.1."""
    return [{"0.0.0.0": "127.0.0.1", "8000": str(web_port)}.get(word, word) for word in words]


@pytest.fixture(scope="module")
def composed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Composed]:
    if NGINX is None:
        pytest.skip("cannot run here: there is no nginx; on Debian: apt install nginx-light")
    folder = tmp_path_factory.mktemp("compose")
    with ExitStack() as stack:
        postgres = OwnPostgres()
        stack.callback(postgres.close)
        if CONTAINER:
            postgres.folder.chmod(
                0o711
            )  # PostgreSQL wants it closed when it starts; its socket is for the image's user
        valkey_port = free_port()
        receiver = stack.enter_context(Receiver())
        given = FILE["services"]["web"]["environment"]
        assert set(given) == {
            "DELAYHUB_DATABASE_URL", "DELAYHUB_BROKER_URL", "DELAYHUB_SECRET_KEY", "DELAYHUB_TRUST_PROXY",
            "DELAYHUB_REQUEST_SLOTS",
        }  # fmt: skip
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("DELAYHUB_")},
            "DJANGO_SETTINGS_MODULE": "delayhub.project.settings",
            **given,
            "DELAYHUB_DATA_DIR": str(folder),
            "DELAYHUB_DATABASE_URL": postgres.url,
            "DELAYHUB_BROKER_URL": f"delayhub://127.0.0.1:{valkey_port}/0",
            "DELAYHUB_SECRET_KEY": "a key for tests, as long as Django wants a key to be, and secret no longer",
            "DELAYHUB_ALLOWED_NETWORKS": "127.0.0.0/8",
        }
        made = Composed(folder, environment, receiver, postgres.folder, free_port(), free_port())
        start_valkey(made, valkey_port, stack)
        subprocess.run(made.command("migrate"), env=environment, cwd=folder, check=True, timeout=240)
        prepare_site(made.environment, key=KEY, receiver_port=made.receiver.port)
        start(made, "web", stack, is_ready=lambda: requests.get(f"http://127.0.0.1:{made.web_port}/livez").ok)
        start(made, "worker", stack, is_ready=lambda: state(made) == "ok")
        start_proxy(made, stack)
        yield made


def start_valkey(made: Composed, port: int, stack: ExitStack) -> None:
    """By the command of the file, in a folder of its own."""
    words: list[str] = FILE["services"]["valkey"]["command"]
    assert words[0] == "valkey-server"
    command = [str(find_redis_server()), *words[1:], "--port", str(port), "--dir", str(made.folder)]
    run(made, "valkey", command, stack, is_ready=lambda: pings(port))


def pings(port: int) -> bool:
    with redis.Redis(port=port) as client:
        try:
            return bool(client.ping())
        except redis.RedisError:
            return False


def start(made: Composed, service: str, stack: ExitStack, *, is_ready: Any) -> None:
    run(made, service, made.command(service), stack, is_ready=is_ready)


def run(made: Composed, name: str, command: Sequence[str], stack: ExitStack, *, is_ready: Any) -> None:
    log = made.folder / f"{name}.log"
    service = Service(name, command=command, environment=made.environment, log=log, is_ready=is_ready)
    stack.callback(service.stop)
    service.launch()
    service.wait_until_ready()


def start_proxy(made: Composed, stack: ExitStack) -> None:
    """With the configuration of the file, inside the least that nginx' own package has around it."""
    (mount,) = FILE["services"]["proxy"]["volumes"]
    source = (ROOT / "deploy" / mount.split(":")[0]).read_text()
    config = source.replace("server web:8000;", f"server 127.0.0.1:{made.web_port};")
    config = config.replace("listen 8080;", f"listen 127.0.0.1:{made.proxy_port};")
    paths = "".join(
        f"{kind}_temp_path {made.folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    whole = (
        f"pid {made.folder}/nginx.pid;\nerror_log {made.folder}/nginx-errors.log;\nuser root;\n"
        f"events {{}}\nhttp {{\naccess_log off;\n{paths}{config}\n}}\n"
    )
    path = made.folder / "nginx.conf"
    path.write_text(whole)
    words: list[str] = FILE["services"]["proxy"]["command"]
    assert NGINX is not None
    command = [NGINX, "-c", str(path), *words[1:]]
    run(made, "proxy", command, stack, is_ready=lambda: requests.get(f"http://127.0.0.1:{made.proxy_port}/livez").ok)


def state(made: Composed) -> str:
    return str(requests.get(f"http://127.0.0.1:{made.web_port}/readyz", timeout=60).json()["state"])


def create(made: Composed, biz_id: str) -> requests.Response:
    address = f"http://127.0.0.1:{made.proxy_port}/api/v1/jobs"
    job = {"biz_type": "order.close", "biz_id": biz_id, "delay": 1, "body": {"order": biz_id}}
    return requests.post(address, json=job, headers={"Authorization": f"Bearer {KEY}"}, timeout=60)


def slow_client(port: int) -> socket.socket:
    """A connection that has sent the head of a request, and one byte of its body."""
    connection = socket.create_connection(("127.0.0.1", port))
    head = f"POST /api/v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {KEY}\r\n"
    connection.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{{".encode())
    return connection


def test_a_job_goes_through_the_proxy_to_its_receiver(composed: Composed) -> None:
    answer = create(composed, "1")

    assert answer.status_code == 201, answer.text
    wait_until(
        lambda: any(b'"order": "1"' in got.body or b'"order":"1"' in got.body for got in composed.receiver.received)
    )


def test_slow_clients_take_nothing_down(composed: Composed) -> None:
    with ExitStack() as open_ones:
        for _ in range(SLOW_CLIENTS):
            open_ones.enter_context(slow_client(composed.proxy_port))

        began = time.monotonic()
        answers = [create(composed, f"beside-{number}").status_code for number in range(10)]
        page = requests.get(f"http://127.0.0.1:{composed.proxy_port}/admin/login/", timeout=60)
        took = time.monotonic() - began

    assert answers == [201] * 10
    assert page.status_code == 200
    assert took < 20.0


def test_the_probe_of_the_worker_says_that_it_lives(composed: Composed) -> None:
    wait_until(lambda: state(composed) == "ok")
    done = subprocess.run(
        composed.command("worker", "healthcheck"),
        env=composed.environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "alive" in done.stdout


def test_the_probe_of_the_image_says_that_the_web_server_lives(composed: Composed) -> None:
    (line,) = re.findall(r"^    CMD \[(.*)\]$", (ROOT / "deploy/Dockerfile").read_text(), flags=re.MULTILINE)
    words: list[str] = yaml.safe_load(f"[{line}]")
    program = words[2].replace("8000", str(composed.web_port))
    dead = words[2].replace("8000", str(free_port()))

    codes = [
        subprocess.run(
            composed.inside([*words[:2], each]), env=composed.environment, capture_output=True, check=False
        ).returncode
        for each in (program, dead)
    ]

    assert codes == [0, 1]


def test_who_guesses_passwords_is_slowed_by_the_proxy(composed: Composed) -> None:
    address = f"http://127.0.0.1:{composed.proxy_port}/admin/login/"

    codes = {requests.get(address, timeout=60).status_code for _ in range(30)}

    assert codes == {200, 429}
