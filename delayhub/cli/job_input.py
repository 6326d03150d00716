"""What a command line says of a job's body: JSON, a text, or exact bytes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from delayhub.cli.site_options import Parsed
from delayhub.errors import OptionError


class JsonBody(Parsed):
    """A body: JSON, ``@FILE`` with JSON, or ``-`` for the standard input."""

    name = "json"

    def parse(self, text: str) -> Any:
        """The value that the JSON stands for. Raises OptionError."""
        given = text
        try:
            if text == "-":
                given = sys.stdin.read()
            elif text.startswith("@"):
                given = Path(text[1:]).read_text(encoding="utf-8")
            return json.loads(given)
        except OSError as error:
            raise OptionError(f"{text[1:]} cannot be read: {error.strerror}") from error
        except ValueError as error:
            where = "the standard input" if text == "-" else text if text.startswith("@") else "the body"
            raise OptionError(f"{where} is no JSON: {error}. Text is JSON in double quotes: '\"hello\"'") from error


class BytesBody(Parsed):
    """Exact bytes: those of a file, or of the standard input for ``-``."""

    name = "file"

    def parse(self, text: str) -> bytes:
        """The bytes. Raises OptionError."""
        try:
            return sys.stdin.buffer.read() if text == "-" else Path(text).read_bytes()
        except OSError as error:
            raise OptionError(f"{text} cannot be read: {error.strerror}") from error


BODY, BYTES = JsonBody(), BytesBody()
RAW = click.option(
    "--raw", type=BYTES, help="A file whose bytes the receiver gets as they are; - for the standard input."
)
TEXT = click.option("--text", help="A text that the receiver gets as it is, in UTF-8.")
CONTENT_TYPE = click.option("--content-type", help="Of --raw or --text, such as application/xml.")


def with_exact_bytes(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of a job with a text as exact bytes. Raises UsageError where there are two bodies."""
    text = fields.pop("text", None)
    if sum(body is not None for body in (text, fields.get("raw"), fields.get("body"))) > 1:
        raise click.UsageError("--body, --raw and --text cannot be given together")
    if text is not None:
        fields["raw"] = text.encode(errors="surrogateescape")
        fields["content_type"] = fields.get("content_type") or "text/plain; charset=utf-8"
    return fields
