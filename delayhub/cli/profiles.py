"""Sites and their keys in a file of this user: one profile for each site, one of them in use."""

from __future__ import annotations

import json
import os
import stat
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from delayhub.errors import DelayHubError

CONFIG_VARIABLE = "DELAYHUB_CONFIG"


class ProfileError(DelayHubError):
    """The file with the profiles cannot be read or written, or has no such profile; the message says which."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A site and a key for it."""

    url: str
    api_key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Profiles:
    """All profiles, by name, and the name of the one in use."""

    named: Mapping[str, Profile]
    in_use: str | None = None

    def find(self, name: str) -> Profile:
        """The profile of that name. Raises ProfileError."""
        if name not in self.named:
            known = f"; there are: {', '.join(sorted(self.named))}" if self.named else ""
            raise ProfileError(f"there is no profile {name!r}{known}. Add it: delayhub profiles add {name}")
        return self.named[name]

    def with_profile(self, name: str, profile: Profile) -> Profiles:
        """These and that one; the first is in use."""
        return replace(self, named={**self.named, name: profile}, in_use=self.in_use or name)

    def without(self, name: str) -> Profiles:
        """These without that one. Raises ProfileError."""
        self.find(name)
        left = {other: profile for other, profile in self.named.items() if other != name}
        return replace(self, named=left, in_use=None if self.in_use == name else self.in_use)

    def using(self, name: str) -> Profiles:
        """These, with that one in use. Raises ProfileError."""
        self.find(name)
        return replace(self, in_use=name)


def config_file() -> Path:
    """The file: ``DELAYHUB_CONFIG``, else ``delayhub/config.toml`` where this user's settings are."""
    if given := os.environ.get(CONFIG_VARIABLE):
        return Path(given)
    home = os.environ.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / "delayhub" / "config.toml"


def load(path: Path) -> Profiles:
    """The profiles of the file; none where there is no file. Raises ProfileError."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
        profiles = {
            name: Profile(str(value["url"]), str(value["api_key"]))
            for name, value in values.get("profiles", {}).items()
        }
        return Profiles(profiles, values.get("in_use"))
    except FileNotFoundError:
        return Profiles({})
    except OSError as error:
        raise ProfileError(f"{path} cannot be read: {error.strerror}") from error
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ProfileError(f"{path} is no list of profiles ({type(error).__name__}: {error})") from error


def others_can_read(path: Path) -> bool:
    """Whether other users of this machine can read the keys."""
    try:
        return bool(path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH))
    except OSError:
        return False


def save(profiles: Profiles, path: Path) -> None:
    """Writes the profiles, for this user only. Raises ProfileError."""
    lines = [] if profiles.in_use is None else [f"in_use = {_quoted(profiles.in_use)}"]
    for name, profile in sorted(profiles.named.items()):
        lines += ["", f"[profiles.{_quoted(name)}]", f"url = {_quoted(profile.url)}"]
        lines += [f"api_key = {_quoted(profile.api_key)}"]
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # A new file, that only this user can read from its first moment on, takes the place of the old one.
        descriptor, name = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        Path(name).replace(path)
    except OSError as error:
        raise ProfileError(f"{path} cannot be written: {error.strerror}") from error


def _quoted(text: str) -> str:
    """A TOML string. JSON's are, but for a character that it leaves as it is."""
    return json.dumps(text).replace("\x7f", "\\u007f")
