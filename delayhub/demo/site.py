"""A whole site on this machine: Redis, web server, worker and receiver, on free ports of 127.0.0.1."""

from __future__ import annotations

import base64
import os
import secrets
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self

from celery import Celery

import delayhub
from delayhub.demo.receiver import SECRET_VARIABLE
from delayhub.errors import PortTaken, ServiceDied
from delayhub.local.data_folder import PRIVATE_UMASK, DataFolder
from delayhub.local.redis_server import RedisServer, free_port
from delayhub.local.service import LOG_TAIL_LINES, Service

ADMIN_NAME = "admin"
#: Long, as in a service's start: on a machine at load 35 a new database takes more than two minutes.
PREPARE_SECONDS = 600
#: Threads of the web server, how many of them may wait for a body, and how many for a job: four are left to all others,
#: two of them to exports.
WEB_THREADS, BODY_SLOTS, LONG_POLLS = 24, 12, 8
PING_SECONDS = 1.0
#: A service that ends within this time of its start would do so again.
CRASH_SECONDS = 60.0
PREPARATION = "preparation of the database"
#: Its processes use its own Redis.
REPLACED = ("DELAYHUB_BROKER_URL",)
#: The receiver is on this machine, to which callbacks may not go unless a setting allows it.
RECEIVER_NETWORK = "127.0.0.0/8"


@dataclass(frozen=True, kw_only=True, slots=True)
class SiteOptions:
    """How a site is set up.

    Args:
        data_dir: where it keeps everything.
        web_port: the port of admin and API; None for a free one, here and below.
        redis_port: the port of Redis.
        receiver_port: the port of the receiver.
        settings: ``DELAYHUB_*`` environment variables for its processes, over those of this process.
        broker_url: another broker than its own Redis.
    """

    data_dir: Path = Path("var")
    web_port: int | None = None
    redis_port: int | None = None
    receiver_port: int | None = None
    settings: Mapping[str, str] | None = None
    broker_url: str | None = None


class Site:
    """A site that runs as long as the ``with`` block does; its services end one after another, Redis last.

    Raises (on ``with``):
        DataFolderInUse, DataFolderUnfit: the data folder is locked by another site, or cannot be written.
        PortTaken: another program listens on a port that was asked for.
        RedisServerMissing, ServiceDied: a service did not start; the message has the end of its log.
    """

    def __init__(self, options: SiteOptions) -> None:
        self.options = options
        self.folder = DataFolder(options.data_dir)
        self._undo = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as undo:
            undo.enter_context(self.folder)
            for port in (self.options.web_port, self.options.redis_port, self.options.receiver_port):
                if port is not None:
                    require_free(port)
            undo.enter_context(self.redis)
            self.prepare()
            for service in self.services:
                undo.callback(service.stop)  # before the launch: a Ctrl-C right after it must stop the service too
                service.launch()
            for service in self.services:
                service.wait_until_ready()
            self._undo = undo.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._undo.close()

    @property
    def ignored_variables(self) -> list[str]:
        """Environment variables that its processes would read, and that it replaces by addresses of its own."""
        return [name for name in REPLACED if os.environ.get(name) and os.environ[name] != self.environment[name]]

    def check(self) -> None:
        """Raises ServiceDied if a service ended by itself."""
        self.redis.check()
        for service in self.services:
            service.check()

    def keep_running(self) -> list[str]:
        """Start services again that ended after a minute or more, as a service manager does; return their names.

        Raises:
            ServiceDied: Redis ended, or a service did within a minute of its start.
        """
        self.redis.check()
        revived: list[str] = []
        for service in self.services:
            try:
                service.check()
            except ServiceDied:
                if service.seconds_since_launch < CRASH_SECONDS:
                    raise
                service.launch()
                revived.append(service.name)
        return revived

    # ------------------------------------------------------------ its parts

    @cached_property
    def redis(self) -> RedisServer:
        """The Redis server: Celery's broker, and where the timers are."""
        return RedisServer(
            data_dir=self.folder.redis, port=self.options.redis_port, append_only=True, ends_with_parent=True
        )

    @cached_property
    def receiver(self) -> Service:
        """The receiver of the sample biz types' callbacks."""
        command = [
            "delayhub.demo.receiver",
            "--port",
            str(self.receiver_port),
            "--log",
            str(self.folder.received),
        ]
        return self._service("receiver", command, is_ready=lambda: serves(f"{self.receiver_url}/healthz"))

    @cached_property
    def web(self) -> Service:
        """The web server: admin and API."""
        command = ["granian", "--interface", "wsgi", "--host", "127.0.0.1", "--port", str(self.web_port)]
        # Granian keeps a thread for a body over HTTP/2 whose client has gone, until it ends: so HTTP/1 only.
        command += ["--http", "1", "--blocking-threads", str(WEB_THREADS), "--no-ws"]
        command += ["delayhub.project.wsgi:application"]
        return self._service("web server", command, is_ready=lambda: serves(f"{self.url}/readyz"))

    @cached_property
    def worker(self) -> Service:
        """The Celery worker, which delivers."""
        command = ["celery", "--app", "delayhub.project", "worker", "--hostname", self._worker_name]
        command += ["--pool", "threads", "--concurrency", "4"]
        return self._service("worker", command, is_ready=self._worker_answers)

    @property
    def services(self) -> tuple[Service, ...]:
        """All but Redis, in the order in which they start; they end in the opposite order."""
        return (self.receiver, self.web, self.worker)

    # ------------------------------------------------------------ its addresses and secrets

    @cached_property
    def web_port(self) -> int:
        return self.options.web_port or free_port()

    @cached_property
    def receiver_port(self) -> int:
        return self.options.receiver_port or free_port()

    @property
    def url(self) -> str:
        """The address of admin and API."""
        return f"http://127.0.0.1:{self.web_port}"

    @property
    def receiver_url(self) -> str:
        """The address of the receiver."""
        return f"http://127.0.0.1:{self.receiver_port}"

    @cached_property
    def api_key(self) -> str:
        """A key for the API; the same at every start."""
        return self.folder.kept("api_key", lambda: f"dh_{secrets.token_urlsafe(32)}")

    @cached_property
    def admin_password(self) -> str:
        """The password that the admin was created with; a person may have changed it since."""
        return self.folder.kept("admin_password", lambda: secrets.token_urlsafe(12))

    @cached_property
    def signing_secret(self) -> str:
        """The secret with which callbacks to the receiver are signed."""
        return self.folder.kept("signing_secret", lambda: f"whsec_{base64.b64encode(secrets.token_bytes(32)).decode()}")

    @cached_property
    def environment(self) -> dict[str, str]:
        """The environment of its processes: usual values, over them this process's, over all what makes it one."""
        given = {**os.environ, **(self.options.settings or {})}
        networks = filter(None, (RECEIVER_NETWORK, given.get("DELAYHUB_ALLOWED_NETWORKS")))
        # Whether it serves is asked at 127.0.0.1.
        hosts = f"{given.get('DELAYHUB_ALLOWED_HOSTS') or 'localhost,[::1]'},127.0.0.1"
        return {
            "DELAYHUB_LOG_FORMAT": "console",
            "PYTHONUNBUFFERED": "1",
            "DELAYHUB_REQUEST_SLOTS": str(WEB_THREADS - 2),
            "DELAYHUB_BODY_SLOTS": str(BODY_SLOTS),
            "DELAYHUB_LONG_POLLS": str(LONG_POLLS),
            "DELAYHUB_SITE_URL": self.url,
            **given,
            "DJANGO_SETTINGS_MODULE": "delayhub.project.settings",
            "DELAYHUB_DATA_DIR": str(self.folder.path),
            "DELAYHUB_BROKER_URL": self.options.broker_url or self.redis.url.replace("redis://", "delayhub://"),
            "DELAYHUB_ALLOWED_HOSTS": hosts,
            "DELAYHUB_ALLOWED_NETWORKS": ",".join(networks),
            SECRET_VARIABLE: self.signing_secret,
        }

    # ------------------------------------------------------------ private

    def prepare(self) -> None:
        """Runs ``delayhub.demo.prepare``: migrates the database and fills it.

        Raises:
            ServiceDied: that failed, or took longer than ten minutes.
        """
        wanted = {
            "DELAYHUB_SITE_ADMIN": ADMIN_NAME,
            "DELAYHUB_SITE_PASSWORD": self.admin_password,
            "DELAYHUB_SITE_API_KEY": self.api_key,
            "DELAYHUB_SITE_RECEIVER": self.receiver_url,
        }
        try:
            done = subprocess.run(
                [sys.executable, "-m", "delayhub.demo.prepare"],
                env={**self.environment, **wanted},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=PREPARE_SECONDS,
                umask=PRIVATE_UMASK,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise ServiceDied(PREPARATION, None, tail_of(error.stderr)) from error
        if done.returncode != 0:
            raise ServiceDied(PREPARATION, done.returncode, tail_of(done.stderr))

    def _service(self, name: str, command: list[str], *, is_ready: Callable[[], bool]) -> Service:
        return Service(
            name,
            command=[sys.executable, "-m", *command],
            environment=self.environment,
            log=self.folder.logs / f"{name.replace(' ', '_')}.log",
            inherit=[self.folder.lock_descriptor],
            is_ready=is_ready,
        )

    @property
    def _worker_name(self) -> str:
        return f"delayhub-{self.redis.port}@localhost"

    @cached_property
    def _celery(self) -> Celery:
        app = Celery(broker=self.environment["DELAYHUB_BROKER_URL"], set_as_current=False)
        delayhub.install(app)
        if name := self.environment.get("DELAYHUB_BROKER_MASTER_NAME"):
            app.conf.broker_transport_options = {"master_name": name}
        return app

    def _worker_answers(self) -> bool:
        return bool(self._celery.control.ping(destination=[self._worker_name], timeout=PING_SECONDS, limit=1))


def serves(address: str) -> bool:
    """Whether a page answers with 200. Raises OSError where it does not."""
    with urllib.request.urlopen(address, timeout=1) as answer:  # noqa: S310  our own http address
        return bool(answer.status == 200)


def tail_of(output: bytes | None) -> str:
    """The last lines of what a process wrote."""
    return "\n".join((output or b"").decode(errors="replace").splitlines()[-LOG_TAIL_LINES:])


def require_free(port: int) -> None:
    """Raises PortTaken if something listens on that port of 127.0.0.1."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            raise PortTaken(port) from None
