"""What a command line says of a job: an option for each of its fields. Its body is JSON, a text, or exact bytes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import click

from delayhub.cli.site_options import DURATION, MOMENT, Parsed
from delayhub.errors import OptionError
from delayhub.job_fields import Field, fields_of

Command = TypeVar("Command", bound=Callable[..., Any])


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
TEXT = click.option("--text", help="A text that the receiver gets as it is, in UTF-8.")
#: What is typed for a field, by the types that it may have, and what is said of that beside the field's words.
_TYPED: tuple[tuple[Any, click.ParamType[Any], str], ...] = (
    (datetime, MOMENT, " Such as 2027-01-31T09:00, in this machine's zone."),
    (timedelta, DURATION, " Or such as 30m, 1h30m, 2d."),
    (bytes, BYTES, " A file that holds them, or - for the standard input."),
    (str, click.STRING, ""),
)


def field_options(mapping: type) -> Callable[[Command], Command]:
    """A decorator: the options of a command that takes those fields of a job, and ``--text`` for a body."""

    def decorate(command: Command) -> Command:
        command = TEXT(command)
        for field in reversed(list(fields_of(mapping))):
            kind, how = _typed(field)
            command = click.option(f"--{field.name.replace('_', '-')}", type=kind, help=field.words + how)(command)
        return command

    return decorate


def _typed(field: Field) -> tuple[click.ParamType[Any], str]:
    if field.within is not None:
        return click.IntRange(field.within.start, field.within.stop - 1), ""
    for kind, typed, how in _TYPED:
        if kind in field.kinds:
            return typed, how
    return BODY, " @FILE reads a file, - the standard input."


def with_exact_bytes(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of a job with a text as exact bytes. Raises UsageError where there are two bodies."""
    text = fields.pop("text", None)
    if sum(body is not None for body in (text, fields.get("raw"), fields.get("body"))) > 1:
        raise click.UsageError("--body, --raw and --text cannot be given together")
    if text is not None:
        fields["raw"] = text.encode(errors="surrogateescape")
        fields["content_type"] = fields.get("content_type") or "text/plain; charset=utf-8"
    return fields
