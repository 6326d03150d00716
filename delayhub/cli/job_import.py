"""``delayhub jobs import``: creates a job for each line of a file, and goes on where a break ended it."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

import click
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from delayhub.cli.exit_codes import ExitCode
from delayhub.cli.output import jsonable
from delayhub.cli.session import Session
from delayhub.cli.site_options import SiteCommand
from delayhub.client import BulkProblem, BulkResult, Client
from delayhub.client.request import job_fields, json_bytes
from delayhub.errors import DelayHubError, OptionError

#: The pause before jobs are sent again that came too fast for a limit of their biz type.
LIMITED_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the file: its number from 1 on, where it ends, and its job, or why it holds none."""

    number: int
    end: int
    job: dict[str, Any] | None
    fault: str = ""


@click.command(name="import", cls=SiteCommand)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path))
@click.option("--batch", type=click.IntRange(1, 1_000), default=500, show_default=True, help="Jobs in a request.")
@click.option("--restart", is_flag=True, help="Begin from the first line, whatever was imported before.")
@click.pass_obj
def import_jobs(session: Session, file: Path, batch: int, restart: bool) -> ExitCode:
    """Create a job for each line of FILE, which is NDJSON: one JSON object in a line, with the fields of a job.

    \b
        {"biz_type": "order.close", "biz_id": "order-42", "delay": 1800, "body": {"order": 42}}

    After a break (Ctrl-C, no network) the same command goes on where it was: FILE.progress says how far it has come,
    and no line makes two jobs. Lines that are refused are in FILE.refused.ndjson, each with the reason. FILE may be -,
    the standard input, which cannot be gone on with.
    """
    if str(file) == "-":
        done = _import(session, sys.stdin.buffer, Progress(site=session.api.url, file="-"), batch=batch)
    else:
        place = file.with_name(f"{file.name}.progress")
        start = begun(place, file=file, site=session.api.url, restart=restart)
        if start.line:
            session.out.note(f"Going on after line {start.line:,}.")
        refused = file.with_name(f"{file.name}.refused.ndjson")
        if start.line == 0:
            refused.unlink(missing_ok=True)
        with file.open("rb") as opened:
            done = _import(session, opened, start, batch=batch, place=place, refused=refused)
    _report(session, done, file)
    return ExitCode.SOME_REFUSED if done.refused else ExitCode.OK


def _import(
    session: Session,
    source: BinaryIO,
    done: Progress,
    *,
    batch: int,
    place: Path | None = None,
    refused: Path | None = None,
) -> Progress:
    total = Path(source.name).stat().st_size if place else None
    if place:
        source.seek(done.offset)
        done.save(place)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Bar(*columns, console=session.out.notes, disable=not sys.stderr.isatty()) as bar:
        shown = bar.add_task("", total=total, completed=done.offset)
        for lines in _batches(_lines(source, done), batch):
            outcomes = _create(session.api, lines, run=done.run)
            _keep_refused(lines, outcomes, refused)
            bad = sum(outcome.id is None for outcome in outcomes)
            new = sum(outcome.created for outcome in outcomes)
            done = done.after(
                lines=lines[-1].number - done.line,
                end=lines[-1].end,
                created=new,
                repeated=len(lines) - new - bad,
                refused=bad,
            )
            if place:
                done.save(place)
            bar.update(shown, completed=done.offset, description=f"{done.created:,} created, {done.refused:,} refused")
    done = Progress(**{**asdict(done), "done": True})
    if place:
        done.save(place)
    return done


def _lines(source: BinaryIO, done: Progress) -> Iterator[Line]:
    """The lines that are not done, without empty ones."""
    end = done.offset
    for number, raw in enumerate(source, done.line + 1):
        end += len(raw)
        if not raw.strip():
            continue
        yield Line(number, end, *_job_of(raw))


def _job_of(raw: bytes) -> tuple[dict[str, Any] | None, str]:
    """The job of a line, or why it holds none."""
    try:
        job = json.loads(raw)
        if not isinstance(job, dict):
            return None, "the line is no JSON object"
        # The client refuses a whole request for such a job, now and each time that the import goes on.
        json_bytes(job_fields(job), what="the job")
    except OptionError as error:
        return None, str(error)
    except ValueError as error:
        return None, f"the line is no JSON: {error}"
    except RecursionError:
        return None, "the line is nested too deeply"
    return job, ""


def _batches(lines: Iterator[Line], most: int) -> Iterator[list[Line]]:
    batch: list[Line] = []
    for line in lines:
        batch.append(line)
        if len(batch) == most:
            yield batch
            batch = []
    if batch:
        yield batch


def _create(
    api: Client, lines: Sequence[Line], *, run: str, pause: Callable[[float], None] = time.sleep
) -> list[BulkResult]:
    """What became of each line. Those that came too fast for a limit of their biz type are sent again."""
    outcomes: dict[int, BulkResult] = {line.number: _no_job(line.fault) for line in lines if line.job is None}
    left = [line for line in lines if line.job is not None]
    while left:
        jobs = [{**(line.job or {}), "idempotency_key": _key_of(line, run=run)} for line in left]
        results = dict(zip((line.number for line in left), api.jobs.create_many(jobs), strict=True))  # type: ignore[arg-type]  # the site checks them
        limited = {number for number, result in results.items() if result.error and result.error.status == 429}
        outcomes |= {number: result for number, result in results.items() if number not in limited}
        left = [line for line in left if line.number in limited]
        if left:
            pause(LIMITED_SECONDS)
    return [outcomes[line.number] for line in lines]


def _key_of(line: Line, *, run: str) -> Any:
    """The line's own idempotency key; where that is null too, one by which it is known again."""
    own = (line.job or {}).get("idempotency_key")
    return f"{run}-{line.number}" if own is None else own


def _no_job(fault: str) -> BulkResult:
    return BulkResult(error=BulkProblem(type="", title="", status=400, detail=fault, errors=[]))


def _keep_refused(lines: Sequence[Line], outcomes: Sequence[BulkResult], path: Path | None) -> None:
    """Writes the refused lines with the reasons into the file, or to the standard error."""
    refused = [
        json.dumps({"line": line.number, "error": jsonable(outcome.error), "job": line.job}, ensure_ascii=False)
        for line, outcome in zip(lines, outcomes, strict=True)
        if outcome.id is None
    ]
    if not refused:
        return
    if path is None:
        sys.stderr.write("\n".join(refused) + "\n")
        return
    with path.open("a", encoding="utf-8") as file:
        file.write("\n".join(refused) + "\n")


def _report(session: Session, done: Progress, file: Path) -> None:
    if session.as_json:
        session.out.json({name: getattr(done, name) for name in ("line", "created", "repeated", "refused")})
        return
    parts = [f"{done.created:,} created"]
    if done.repeated:
        parts.append(f"{done.repeated:,} were there already")
    if done.refused:
        parts.append(f"{done.refused:,} refused")
    where = f"; see {file}.refused.ndjson" if done.refused and str(file) != "-" else ""
    session.out.note(f"{done.line:,} lines: {', '.join(parts)}{where}.")


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
