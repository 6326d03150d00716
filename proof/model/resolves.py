"""Plays traces of ``resolve.pml`` on the statements of SQLite, where one writes at a time."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import redis

from proof.model.rows import CODE, USING, Rows, status_of
from proof.model.traces import Event
from tasksapp import jobs
from tasksapp.biz_types.cache import biz_type_cache
from tasksapp.jobs.creation import create
from tasksapp.jobs.running_job import RunningJob
from tasksapp.models import Job, Transition
from tasksapp.sql.tombstones import lay_tombstones


class ResolvePlayer:
    """Two jobs of one business key; the second is stored when its transaction commits.

    Args:
        client: of an empty server.
    """

    def __init__(self, client: redis.Redis) -> None:
        self._rows = Rows(client)
        self._key = uuid4().hex
        self._jobs = [Job.objects.using(USING).get(id=create(CODE, biz_id=self._key).job_id) for _ in range(2)]
        Job.objects.using(USING).filter(id=self._jobs[1].id).delete()
        self._rows.begin()
        self._is_stored = [True, False]
        self._running: dict[int, RunningJob] = {}

    def play(self, event: Event) -> tuple[str, ...]:
        """The answer, and the status of both rows."""
        answer = int(getattr(self, f"_{event.what}")(event.who))
        self._rows.go_on()
        rows = zip(self._jobs, self._is_stored, strict=True)
        return (str(answer), *(status_of(job.id) if is_stored else "absent" for job, is_stored in rows))

    def _commits(self, number: int) -> int:
        Job.objects.using(USING).bulk_create([self._jobs[number]])
        self._is_stored[number] = True
        return 1

    def _claims(self, number: int) -> bool:
        found = self._rows.claim(self._jobs[number].id)
        if found is not None:
            self._running[number] = found
        return found is not None

    def _succeeds(self, number: int) -> int:
        return self._rows.finish(self._running[number], Transition.SUCCEED)

    def _retries(self, number: int) -> int:
        return self._rows.finish(self._running[number], Transition.RETRY)

    def _lays(self, _: int) -> int:
        untils = {self._jobs[0].biz_type_id: self._rows.now + timedelta(days=7)}
        lay_tombstones(untils, biz_id=self._key, now=self._rows.now, by="", using=USING)
        biz_type_cache.clear()
        return 1

    def _finishes(self, _: int) -> int:
        found = jobs.resolve(CODE, self._key)
        if not found.accepted or found.running is None or found.cancelled is None:
            return -1
        return 10 * len(found.running) + len(found.cancelled)
