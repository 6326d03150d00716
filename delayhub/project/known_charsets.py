"""known_charsets: a request whose ``Content-Type`` names a charset that is not for text gets 415 before Django sees it.

Of some of Python's codecs (``utf-7``, ``unicode_escape``) half a surrogate pair can be made, which no database takes.
Others (``base64``) decode no text at all: Django 5.2 fails there before any of its handlers.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable
from email.message import Message
from typing import Any

from delayhub.project.body_slots import WSGIApplication
from delayhub.project.refusals import refuse

#: Python's names of the charsets that are taken; pages of the admin are UTF-8.
CHARSETS = frozenset({"utf-8", "ascii", "iso8859-1", "iso8859-15", "cp1252"})


def known_charsets(application: WSGIApplication) -> WSGIApplication:
    """The application, for requests in a known charset or without one."""

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        content_type = environ.get("CONTENT_TYPE", "")
        if "charset" not in content_type.lower() or _is_known(content_type):
            return application(environ, start_response)
        detail = "Send text as UTF-8, and name no other charset in Content-Type."
        return refuse(environ, start_response, status=415, code="unsupported_media_type", detail=detail)

    return answer


def _is_known(content_type: str) -> bool:
    parsed = Message()
    parsed["Content-Type"] = content_type
    charset = parsed.get_param("charset", "utf-8")
    try:
        return isinstance(charset, str) and codecs.lookup(charset).name in CHARSETS
    except LookupError:
        return True  # Django goes on as if there were none
