"""nginx with a file of ``deploy/nginx``, as long as a ``with`` block runs."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from delayhub.local.redis_server import free_port
from tests.repository import ROOT
from tests.waiting import wait_until

CONF = ROOT / "deploy" / "nginx" / "cells.conf"
_FOLDERS = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


@contextmanager
def cells_proxy(
    folder: Path, cells: Mapping[str, str], *, edit: Callable[[str], str] = lambda text: text
) -> Iterator[str]:
    """The address of a proxy with ``cells.conf``.

    Args:
        folder: where it keeps everything.
        cells: their addresses by their names, ``host:port``.
        edit: changes the file, as an operator would.
    """
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    if not Path(program).exists():
        pytest.skip("cannot run here: there is no nginx; on Debian: apt install nginx")
    port = free_port()
    text = edit(CONF.read_text()).replace("listen 8080", f"listen 127.0.0.1:{port}")
    for name, address in cells.items():
        text = text.replace(f"{name}.internal:8000", address)
    kept = "\n".join(f"{kind}_temp_path {folder}/{kind};" for kind in _FOLDERS)
    conf = folder / "nginx.conf"
    conf.write_text(
        f"daemon off; pid {folder}/pid; error_log {folder}/error.log;\n"
        f"events {{}}\nhttp {{ access_log off;\n{kept}\n{text}\n}}\n"
    )
    process = subprocess.Popen([program, "-c", str(conf), "-p", str(folder)], stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: _answers(port), otherwise="nginx does not answer")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


def _answers(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/", timeout=2).status_code == 404
    except httpx.TransportError:
        return False
