"""A small web server with the backlogs of an app's queues, for Prometheus and for autoscalers."""

from __future__ import annotations

import json
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

import redis
from kombu.exceptions import KombuError
from kombu.log import get_logger

from delayhub.celery_support.backlog import as_prometheus
from delayhub.celery_support.control import Control
from delayhub.errors import DelayHubError

logger = get_logger(__name__)

JSON = "application/json"
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


class Exporter(ThreadingHTTPServer):
    """Serves ``/metrics`` (Prometheus), ``/queues`` and ``/queues/NAME`` (JSON).

    Args:
        control: the control of the app whose queues are shown.
        host: the address to listen on.
        port: the port; 0 for a free one.
    """

    daemon_threads = True

    def __init__(self, control: Control, *, host: str, port: int) -> None:
        self.control = control
        super().__init__((host, port), Handler)


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: Exporter
    server_version = "DelayHub"
    timeout = 10

    def do_GET(self) -> None:
        """Sends what the path names."""
        room, _, queue = unquote(urlsplit(self.path).path).strip("/").partition("/")
        try:
            if room == "metrics" and not queue:
                self._answer(HTTPStatus.OK, PROMETHEUS, as_prometheus(self.server.control.backlogs()))
            elif room == "queues" and "\0" not in queue:  # which begins the number of a slot
                found = {name: row._asdict() for name, row in self.server.control.backlogs(queue or None).items()}
                self._answer(HTTPStatus.OK, JSON, json.dumps(found[queue] if queue else found))
            else:
                self._refuse(HTTPStatus.NOT_FOUND, "here are /metrics, /queues and /queues/NAME")
        except (redis.RedisError, KombuError, DelayHubError, OSError) as error:
            logger.warning("The backlogs could not be read: %s", error)
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, f"Redis could not be asked: {error}")

    def log_message(self, *arguments: object) -> None:
        """Logs no request: a scrape each second says nothing."""

    def _refuse(self, status: HTTPStatus, about: str) -> None:
        self._answer(status, JSON, json.dumps({"error": about}))

    def _answer(self, status: HTTPStatus, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
