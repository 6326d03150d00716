"""What people and callers are shown of a column's text who may not change the row, and of bytes that are no JSON."""

from __future__ import annotations

from yarl import URL

from delayhub.secrecy import NOT_SHOWN, Secrecy, host_of
from tasksapp.delivery.sent_request import shown_address
from tasksapp.models.columns import secrecy_of_column


def shown_text(column: str, text: str) -> str:
    """The text as far as the mark of the column lets it be shown; '' for ''.

    Args:
        column: the name of a column.
        text: what the column holds.
    """
    match secrecy_of_column(column) if text else None:
        case Secrecy.SECRET:
            return NOT_SHOWN
        case Secrecy.HOST:
            return host_of(text)
        case Secrecy.PARAMETERS:
            try:
                return shown_address(URL(text))
            except ValueError:
                return NOT_SHOWN
    return text


def text_of(raw: bytes) -> str | None:
    """The bytes as a text; None where they are not UTF-8, or hold a NUL, which few programs take in a text."""
    try:
        return None if b"\0" in raw else raw.decode()
    except UnicodeDecodeError:
        return None
