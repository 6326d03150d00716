"""A request as a command for a shell, to send it again by hand; placeholders stand where secrets were."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

#: What the records of attempts have in place of secrets, and what a person is to replace.
_MASK, _PLACEHOLDER = "(hidden)", "<SECRET>"
#: curl makes these itself.
_MADE_BY_CURL = {"host", "content-length", "accept-encoding"}


def curl(line: str, headers: Mapping[str, str], body: str) -> str:
    """The command; '' for an attempt whose request is not known."""
    method, _blank, url = line.partition(" ")
    if not url:
        return ""
    parts = [f"curl -X {shlex.quote(method)} {shlex.quote(url.replace(_MASK, _PLACEHOLDER))}"]
    parts += [
        f"-H {shlex.quote(f'{name}: {value}'.replace(_MASK, _PLACEHOLDER))}"
        for name, value in headers.items()
        if name.lower() not in _MADE_BY_CURL
    ]
    parts.append(f"--data-raw {shlex.quote(body)}")
    return " \\\n  ".join(parts)
