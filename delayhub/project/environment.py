"""Settings from environment variables, with types; a wrong value is an ImproperlyConfigured that names the variable."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from logging import getLevelNamesMapping
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from delayhub.local.data_folder import make_secret

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off", ""})


class Environment:
    """The variables with one prefix: ``Environment(os.environ).flag("DEBUG")`` reads ``DELAYHUB_DEBUG``."""

    def __init__(self, variables: Mapping[str, str] = os.environ, *, prefix: str = "DELAYHUB_") -> None:
        self._variables = variables
        self._prefix = prefix

    def text(self, name: str, default: str = "") -> str:
        """The value, unchanged; the default where it is empty, as a line that was not filled in is."""
        return self._variables.get(self._prefix + name) or default

    def needed(self, name: str, *, why: str) -> str:
        """The value; raises ImproperlyConfigured, with the reason that it is needed for, where there is none."""
        value = self.text(name).strip()
        if not value:
            raise ImproperlyConfigured(f"{self._prefix}{name} must be set, since {why}")
        return value

    def flag(self, name: str, *, default: bool = False) -> bool:
        """True or False; raises ImproperlyConfigured unless it is 1/0, true/false, yes/no or on/off."""
        value = self._variables.get(self._prefix + name, str(default)).strip().lower()
        if value in _TRUE:
            return True
        if value in _FALSE:
            return False
        raise ImproperlyConfigured(f"{self._prefix}{name} must be true or false, got {value!r}")

    def number(self, name: str, default: int, *, minimum: int = 0) -> int:
        """A whole number; raises ImproperlyConfigured if it is none, or is below ``minimum``."""
        value = self.text(name, str(default))
        try:
            number = int(value)
        except ValueError:
            raise ImproperlyConfigured(f"{self._prefix}{name} must be a whole number, got {value!r}") from None
        if number < minimum:
            raise ImproperlyConfigured(f"{self._prefix}{name} must be {minimum} or more, got {number}")
        return number

    def names(self, name: str, default: str = "") -> list[str]:
        """The parts of a comma-separated value, without blanks."""
        return [part.strip() for part in self.text(name, default).split(",") if part.strip()]

    def choice(self, name: str, default: str, *, among: frozenset[str]) -> str:
        """One of the words in ``among``; raises ImproperlyConfigured if it is another."""
        value = self.text(name, default)
        if value not in among:
            raise ImproperlyConfigured(f"{self._prefix}{name} must be one of {sorted(among)}, got {value!r}")
        return value

    def level(self, name: str, default: str) -> str:
        """The name of a level of logging, in capitals; raises ImproperlyConfigured if there is none of that name."""
        value = self.text(name, default).upper()
        if value not in getLevelNamesMapping():
            known = "DEBUG, INFO, WARNING, ERROR or CRITICAL"
            raise ImproperlyConfigured(f"{self._prefix}{name} must be {known}, got {value!r}")
        return value


def kept_secret(path: Path) -> str:
    """The secret in that file; the first call makes it, readable only by the file's owner.

    Raises:
        ImproperlyConfigured: the file is empty.
    """
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        make_secret(path, secrets.token_urlsafe(64))
    secret = path.read_text(encoding="ascii").strip()
    if not secret:
        raise ImproperlyConfigured(f"{path} is empty: delete it to have a new secret made, or set DELAYHUB_SECRET_KEY")
    return secret
