"""``delayhub jobs import``: creates a job for each line of a file, and goes on where a break ended it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

import click
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from delayhub.cli.exit_codes import ExitCode
from delayhub.cli.import_progress import Progress, begun
from delayhub.cli.output import jsonable
from delayhub.cli.session import Session
from delayhub.cli.site_options import SiteCommand
from delayhub.client import BulkProblem, BulkResult, Client

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
    with session.client() as api:
        if str(file) == "-":
            done = _import(session, api, sys.stdin.buffer, Progress(site=api.url, file="-"), batch=batch)
        else:
            place = file.with_name(f"{file.name}.progress")
            start = begun(place, file=file, site=api.url, restart=restart)
            if start.line:
                session.out.note(f"Going on after line {start.line:,}.")
            refused = file.with_name(f"{file.name}.refused.ndjson")
            if start.line == 0:
                refused.unlink(missing_ok=True)
            with file.open("rb") as opened:
                done = _import(session, api, opened, start, batch=batch, place=place, refused=refused)
    _report(session, done, file)
    return ExitCode.SOME_REFUSED if done.refused else ExitCode.OK


def _import(
    session: Session,
    api: Client,
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
            outcomes = _create(api, lines, run=done.run)
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
        try:
            job = json.loads(raw)
        except ValueError as error:
            yield Line(number, end, None, f"the line is no JSON: {error}")
            continue
        is_object = isinstance(job, dict)
        yield Line(number, end, job if is_object else None, "" if is_object else "the line is no JSON object")


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
        jobs = [{"idempotency_key": f"{run}-{line.number}", **(line.job or {})} for line in left]
        results = dict(zip((line.number for line in left), api.jobs.create_many(jobs), strict=True))  # type: ignore[arg-type]  # the site checks them
        limited = {number for number, result in results.items() if result.error and result.error.status == 429}
        outcomes |= {number: result for number, result in results.items() if number not in limited}
        left = [line for line in left if line.number in limited]
        if left:
            pause(LIMITED_SECONDS)
    return [outcomes[line.number] for line in lines]


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
