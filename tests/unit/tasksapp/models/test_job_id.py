"""Ids of jobs: they rise with time, in every process."""

from __future__ import annotations

import os
import time
from threading import Thread
from uuid import UUID

from tasksapp.models import job_id as module
from tasksapp.models.job_id import first_id_at, made_at_ms, new_job_id, new_job_ids


def test_ids_rise_in_every_thread() -> None:
    made: list[list[UUID]] = []
    threads = [Thread(target=lambda: made.append(new_job_ids(2_000))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    ids = [one for batch in made for one in batch]
    assert len(set(ids)) == 8_000
    assert all(batch == sorted(batch) for batch in made)
    assert new_job_id() > max(ids)


def test_an_id_is_a_uuid_of_version_7_with_its_time_in_front() -> None:
    before = time.time_ns() // 1_000_000
    made = new_job_id()
    after = time.time_ns() // 1_000_000

    assert (made.version, made.variant) == (7, "specified in RFC 4122")
    assert before <= made_at_ms(made) <= after
    assert first_id_at(made_at_ms(made)) <= made < first_id_at(made_at_ms(made) + 1)


def test_a_forked_child_makes_other_ids_even_if_its_parent_was_just_making_one() -> None:
    reader, writer = os.pipe()
    with module._lock:
        child = os.fork()
        if not child:
            os.write(writer, new_job_id().bytes)
            os._exit(0)
    os.close(writer)
    made = os.read(reader, 16)
    os.close(reader)
    os.waitpid(child, 0)

    assert UUID(bytes=made).version == 7
    assert UUID(bytes=made) != new_job_id()
