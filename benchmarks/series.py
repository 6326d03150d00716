"""How long does one worker make 100 000 series at one midnight, and are other jobs on time meanwhile?

Question: 100 000 series have an occurrence at the same moment. How long does it take until the next one of each is
    made, and how late are callbacks of other jobs, 100 a second, before and meanwhile?
Machine: whatever runs it; one worker, one PostgreSQL, one Redis, one receiver.
Command: make bench NAME=series
Result: one JSON line.
Caveat: the jobs that are made are due tomorrow: what is measured is making them, not delivering them.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from datetime import timedelta

from benchmarks.jobs_rig import Rig, rig


def store(count: int, *, waits: timedelta) -> None:
    """Stores the series, whose midnight comes so soon."""
    from django.utils import timezone

    from tasksapp.models import BizType, Series

    now = timezone.now()
    midnight = now + waits
    biz_type = BizType.objects.create(code="nightly", url="http://127.0.0.1:9/")
    rows = [
        Series(
            biz_type=biz_type, name=f"n{number}", cron="0 0 * * *", time_zone="Asia/Shanghai", created_at=now,
            updated_at=now, make_at=midnight,
        )
        for number in range(count)
    ]  # fmt: skip
    from tasksapp.series.plan import first_occurrence

    first = first_occurrence(rows[0], after=midnight)
    for row in rows:
        row.next_occurrence_at = first
    Series.objects.bulk_create(rows, batch_size=2_000)


def send(stop: threading.Event, *, per_second: int) -> None:
    """Creates other jobs, each due half a second later."""
    from django.db import connection

    from tasksapp import jobs

    while not stop.is_set():
        requests = [jobs.JobRequest(biz_type="other", delay=0.5 + n / per_second) for n in range(per_second // 10)]
        jobs.create_many(requests)
        stop.wait(0.1)
    connection.close()


def p99_ms(made: Rig) -> tuple[int, float]:
    """How many callbacks came, and how late 99 in 100 of them were at most."""
    late = sorted(one.lateness_ms for one in made.seen())
    return len(late), round(late[int(len(late) * 0.99)], 1) if late else 0.0


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--series", type=int, default=100_000)
    given = options.parse_args()
    with rig() as made:
        made.set_django_up()
        from tasksapp.models import BizType, Series

        port = made.start_receiver()
        BizType.objects.create(code="other", url=f"http://127.0.0.1:{port}/ok")
        made.start_worker()
        stop = threading.Event()
        sending = threading.Thread(target=send, args=(stop,), kwargs={"per_second": 100})
        sending.start()
        time.sleep(3)
        made.forget_seen()
        time.sleep(15)
        alone = p99_ms(made)
        store(given.series, waits=timedelta(seconds=30))
        from django.utils import timezone

        midnight = Series.objects.order_by("id").values_list("make_at", flat=True)[0]
        assert midnight is not None
        time.sleep(max(0.0, (midnight - timezone.now()).total_seconds()))
        made.forget_seen()
        began = time.monotonic()
        while Series.objects.filter(make_at__lte=timezone.now()).exists():
            time.sleep(0.2)
        seconds = time.monotonic() - began
        time.sleep(1)
        beside = p99_ms(made)
        stop.set()
        sending.join()
    result = {
        "series": given.series, "seconds": round(seconds, 1), "per_second": round(given.series / seconds),
        "others_alone": {"callbacks": alone[0], "p99_ms": alone[1]},
        "others_meanwhile": {"callbacks": beside[0], "p99_ms": beside[1]},
    }  # fmt: skip
    sys.stdout.write(json.dumps(result) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
