"""What a command line says of a job's body."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

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


BODY = JsonBody()
