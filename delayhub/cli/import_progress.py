"""How far an import has come, in a file beside the one that is imported: what it takes to go on after a break."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from uuid import uuid4

from delayhub.errors import DelayHubError

#: By so much of its beginning a file is known again.
_HEAD = 65_536


class ImportConflict(DelayHubError):
    """The file with the progress is that of another import; the message says what to do."""


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far an import has come.

    Args:
        run: a part of the idempotency keys of its jobs: a line that is sent twice makes one job.
        site: the API's address.
        file: by what the file is known again.
        line: how many lines are done.
        offset: where the next one begins, in bytes.
        created: how many jobs were created.
        repeated: how many were there already, since they were sent before the break.
        refused: how many were refused.
        done: whether the end was reached.
    """

    site: str
    file: str
    run: str = field(default_factory=lambda: uuid4().hex)
    line: int = 0
    offset: int = 0
    created: int = 0
    repeated: int = 0
    refused: int = 0
    done: bool = False

    def after(self, *, lines: int, end: int, created: int, repeated: int, refused: int) -> Progress:
        """The progress after some more lines, which end at that byte."""
        return replace(
            self,
            line=self.line + lines,
            offset=end,
            created=self.created + created,
            repeated=self.repeated + repeated,
            refused=self.refused + refused,
        )

    def save(self, path: Path) -> None:
        """Writes it; a break leaves either the old one or the new one."""
        new = path.with_name(f"{path.name}.new")
        new.write_text(json.dumps(asdict(self)), encoding="utf-8")
        new.replace(path)


def begun(path: Path, *, file: Path, site: str, restart: bool) -> Progress:
    """The progress to go on from: the saved one of that file and site, or a new one.

    Raises ImportConflict where the saved one is that of another file or site, or is complete.
    """
    fresh = Progress(site=site, file=identity(file))
    if restart:
        return fresh
    try:
        saved = Progress(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return fresh
    except (ValueError, TypeError) as error:
        raise ImportConflict(f"{path} cannot be read; --restart begins from the first line") from error
    if saved.file != fresh.file:
        raise ImportConflict(f"{path} is of another file: {file} has changed; --restart begins from the first line")
    if saved.site != site:
        raise ImportConflict(f"{path} is of an import into {saved.site}; --restart begins from the first line")
    if saved.done:
        raise ImportConflict(f"{file} was imported already, says {path}; --restart creates all its jobs a second time")
    return saved


def identity(file: Path) -> str:
    """By what a file is known again: its size and its beginning."""
    with file.open("rb") as opened:
        return f"{file.stat().st_size}-{hashlib.sha256(opened.read(_HEAD)).hexdigest()}"
