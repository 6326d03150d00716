"""A request as a command for a shell, to send it again by hand; placeholders stand where secrets were."""

from __future__ import annotations

import shlex
from base64 import b64encode
from collections.abc import Mapping

#: What the records of attempts have in place of secrets, and what a person is to replace.
_MASK, _PLACEHOLDER = "(hidden)", "<SECRET>"
#: So many bytes stand in a command; more come from a file.
MOST_PIPED = 4_096
_BREAK = " \\\n  "
#: curl makes these itself.
_MADE_BY_CURL = {"host", "content-length", "accept-encoding"}


def curl(line: str, headers: Mapping[str, str], body: str | bytes) -> str:
    """The command; '' for an attempt whose request is not known. Bytes that are no text are piped into it."""
    method, _blank, url = line.partition(" ")
    if not url:
        return ""
    parts = [f"curl -X {shlex.quote(method)} {shlex.quote(url.replace(_MASK, _PLACEHOLDER))}"]
    parts += [
        f"-H {shlex.quote(f'{name}: {value}'.replace(_MASK, _PLACEHOLDER))}"
        for name, value in headers.items()
        if name.lower() not in _MADE_BY_CURL
    ]
    if isinstance(body, str):
        return _BREAK.join([*parts, f"--data-raw {shlex.quote(body)}"])
    piped = f"echo {b64encode(body).decode()} | base64 -d |" if len(body) <= MOST_PIPED else "cat body.bin |"
    return _BREAK.join([piped, *parts, "--data-binary @-"])
