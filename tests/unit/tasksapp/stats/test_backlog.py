"""Backlogs come and go as fast as arithmetic says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from tasksapp.stats.backlog import Pace, busy_times
from tasksapp.stats.upcoming import Arrivals

NOW = datetime(2026, 1, 2, tzinfo=UTC)
DAY = NOW + timedelta(days=1)


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def test_a_backlog_is_done_after_its_jobs_by_its_pace() -> None:
    (busy,) = busy_times(start=NOW, waiting=20_000, arrivals=[], paces=[Pace(NOW, 500)], until=DAY)

    assert (busy.begins, busy.ends, busy.jobs, busy.wait_seconds) == (NOW, after(40), 20_000, 40)


def test_a_peak_at_one_moment_waits_as_long_as_it_takes() -> None:
    peak = Arrivals(200_000, after(60), after(60))

    (busy,) = busy_times(start=NOW, waiting=0, arrivals=[peak], paces=[Pace(NOW, 500)], until=DAY)

    assert (busy.begins, busy.ends, busy.jobs, busy.wait_seconds) == (after(60), after(460), 200_000, 400)


def test_the_jobs_of_a_stretch_wait_for_less() -> None:
    spread = Arrivals(200_000, after(0), after(300))

    (busy,) = busy_times(start=NOW, waiting=0, arrivals=[spread], paces=[Pace(NOW, 500)], until=DAY)

    assert busy.ends == after(400)
    assert busy.wait_seconds == pytest.approx(100)


@pytest.mark.parametrize(
    "arrivals",
    [
        # nothing comes
        [],
        # fewer come than are done
        [Arrivals(100, after(0), after(300))],
        # they come when there is nothing any more
        [Arrivals(100, after(10), after(300)), Arrivals(150, after(300), after(600))],
    ],
)
def test_where_no_job_waits_for_another_there_is_no_busy_time(arrivals: list[Arrivals]) -> None:
    assert busy_times(start=NOW, waiting=0, arrivals=arrivals, paces=[Pace(NOW, 1)], until=DAY) == []


def test_jobs_that_come_meanwhile_make_a_drain_longer() -> None:
    steady = Arrivals(30_000, after(0), after(300))

    (busy,) = busy_times(start=NOW, waiting=20_000, arrivals=[steady], paces=[Pace(NOW, 500)], until=DAY)

    assert busy.ends == after(50)
    assert busy.jobs == pytest.approx(25_000)


def test_of_a_stretch_that_has_begun_the_rest_counts() -> None:
    begun = Arrivals(300, after(-150), after(150))

    (busy,) = busy_times(start=NOW, waiting=100, arrivals=[begun], paces=[Pace(NOW, 2)], until=DAY)

    assert busy.ends == after(100)


def test_a_pause_and_a_ramp_hold_a_backlog_up() -> None:
    paces = [Pace(NOW, 0), Pace(after(10), 50), Pace(after(12), 100)]

    (busy,) = busy_times(start=NOW, waiting=1_100, arrivals=[], paces=paces, until=DAY)

    assert busy.ends == after(22)


def test_a_pause_counts_to_the_wait_and_a_ramp_is_done_at_its_end_s_pace() -> None:
    paces = [Pace(NOW, 0), Pace(after(10), 50), Pace(after(12), 100)]

    (busy,) = busy_times(start=NOW, waiting=2_100, arrivals=[], paces=paces, until=DAY)

    assert (busy.ends, busy.wait_seconds) == (after(32), 32)


def test_a_job_that_arrives_before_a_pause_waits_for_its_end() -> None:
    arrivals = [Arrivals(1_000, after(10), after(20))]
    paces = [Pace(NOW, 50), Pace(after(20), 0), Pace(after(80), 50)]

    (busy,) = busy_times(start=NOW, waiting=0, arrivals=arrivals, paces=paces, until=DAY)

    # 500 are done before the pause, the rest after it; the last has come at 20
    assert (busy.ends, busy.wait_seconds) == (after(90), pytest.approx(70))


def test_the_longest_wait_is_that_of_jobs_played_one_by_one() -> None:
    random = Random(7)
    for _ in range(200):
        paces = [Pace(after(20 * i), random.choice([0, 5, 20, 50])) for i in range(5)] + [Pace(after(100), 40)]
        arrivals = [
            Arrivals(random.randint(50, 400), after(first), after(first + random.randint(1, 60)))
            for first in random.sample(range(100), 3)
        ]
        waiting = random.choice([0, 100])

        found = busy_times(start=NOW, waiting=waiting, arrivals=arrivals, paces=paces, until=DAY)

        played = _played_one_by_one(waiting, arrivals, paces)
        assert max((busy.wait_seconds for busy in found), default=0) == pytest.approx(played, abs=0.35)


def _played_one_by_one(waiting: int, arrivals: list[Arrivals], paces: list[Pace]) -> float:
    """The longest wait, where each job is done for itself."""
    came = [NOW] * waiting
    for jobs, first, last in arrivals:
        came += [first + (last - first) * (number + 0.5) / jobs for number in range(jobs)]
    clock, longest = NOW, 0.0
    for at in sorted(came):
        clock, work = max(clock, at), 1.0
        while work > 0:
            pace = [pace for pace in paces if pace.since <= clock][-1]
            ends = min([other.since for other in paces if other.since > clock], default=DAY)
            can = pace.per_second * (ends - clock).total_seconds()
            clock = ends if can < work else clock + timedelta(seconds=work / pace.per_second)
            work -= can
        longest = max(longest, (clock - at).total_seconds())
    return longest


def test_what_is_never_done_has_no_end() -> None:
    (busy,) = busy_times(start=NOW, waiting=1, arrivals=[], paces=[Pace(NOW, 0)], until=DAY)

    assert busy.ends is None


def test_two_peaks_are_two_busy_times() -> None:
    peaks = [Arrivals(100, after(60), after(60)), Arrivals(200, after(600), after(600))]

    first, second = busy_times(start=NOW, waiting=0, arrivals=peaks, paces=[Pace(NOW, 10)], until=DAY)

    assert (first.ends, second.ends) == (after(70), after(620))
