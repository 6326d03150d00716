"""``make up``: what it says, and the port it prefers."""

from __future__ import annotations

import shlex
import socket
from pathlib import Path

from delayhub.demo.site import Site, SiteOptions
from delayhub.demo.up import is_free, welcome
from delayhub.local.redis_server import free_port


def test_the_welcome_has_every_address_and_a_command_that_can_be_typed(tmp_path: Path) -> None:
    site = Site(SiteOptions(data_dir=tmp_path, web_port=8123))

    said = welcome(site)

    for part in (f"{site.url}/admin/", site.admin_password, site.receiver_url, str(site.folder.logs)):
        assert part in said
    start = said.index("curl ")
    words = shlex.split(said[start : said.index("\n\n", start)].replace("\\\n", " "))
    assert f"export DELAYHUB_URL=http://127.0.0.1:8123 DELAYHUB_API_KEY={site.api_key}\n" in said
    assert words[1] == "$DELAYHUB_URL/api/v1/jobs"
    assert "Authorization: Bearer $DELAYHUB_API_KEY" in words


def test_a_port_is_free_unless_something_listens_on_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert not is_free(taken.getsockname()[1])
    assert is_free(free_port())
