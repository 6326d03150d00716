"""What holds due jobs at this moment, those of a biz type or of one flow key, in words for people."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from math import ceil

from django.db import DEFAULT_DB_ALIAS
from django.utils import timezone
from django.utils.translation import gettext as _

from delayhub.clock import due_ms, moment
from delayhub.engine import KeyCounts
from tasksapp.biz_types.breaker import Breaker, breakers_of
from tasksapp.models import LIVE, UNTIL_RESUMED, BizType, Job, PausedKey, Status
from tasksapp.models.api_key import MOVING
from tasksapp.sql.keep_last import is_waiting
from tasksapp.sql.ordered_keys import first_jobs_of
from tasksapp.timers.lanes import brisk_lane, tried

#: A puller waits for half a minute at most and asks again; one that is run every minute asks that often.
SILENCE = timedelta(minutes=2)


def holds(biz_types: Iterable[BizType], *, now: datetime) -> dict[str, str]:
    """By queue, why no due job of the biz type goes out now; biz types whose jobs do are left out."""
    found: dict[str, str] = {}
    lanes: dict[str, list[BizType]] = defaultdict(list)
    for biz_type in biz_types:
        if biz_type.is_shut(now=now):
            found[biz_type.queue] = _why_shut(biz_type)
        else:
            lanes[biz_type.lane].append(biz_type)
    for lane, group in lanes.items():
        breakers, lonely = _breakers(lane, group), without_puller(group)
        for biz_type in group:
            if biz_type.queue in lonely:
                found[biz_type.queue] = _why_not_pulled(biz_type, lonely[biz_type.queue])
            elif breakers is None:
                # The others are found by their rows meanwhile.
                if biz_type.waits_for_redis:
                    found[biz_type.queue] = _why_waiting(biz_type)
            elif (breaker := breakers.get(biz_type.queue)) and breaker.open_until_ms is not None:
                found[biz_type.queue] = _why_broken(biz_type, breaker, now_ms=due_ms(now))
    return found


def _why_waiting(biz_type: BizType) -> str:
    if biz_type.target == BizType.Target.CELERY:
        return _("Redis does not answer, and messages of tasks go through it; workers go on once it does")
    if biz_type.target != BizType.Target.HTTP:
        return _("Redis does not answer, and claims of pullers ask it; they go on once it does")
    return _("Redis does not answer, and the rate and slots are counted there; workers go on once it does")


def open_breakers(biz_types: Iterable[BizType]) -> dict[str, Breaker] | None:
    """By queue, the breakers that are open; None where Redis does not answer. One question for each lane."""
    lanes: dict[str, list[BizType]] = defaultdict(list)
    for biz_type in biz_types:
        lanes[biz_type.lane].append(biz_type)
    found: dict[str, Breaker] = {}
    for lane, group in lanes.items():
        breakers = _breakers(lane, group)
        if breakers is None:
            return None
        found |= {queue: breaker for queue, breaker in breakers.items() if breaker.open_until_ms is not None}
    return found


def _why_shut(biz_type: BizType) -> str:
    if biz_type.moved_to == MOVING:
        return _("%(biz_type)s is being moved to another site") % {"biz_type": biz_type.label}
    if not biz_type.enabled:
        return _("%(biz_type)s is disabled") % {"biz_type": biz_type.label}
    said = pause_sentence(biz_type)
    return f"{said}: {biz_type.pause_reason}" if biz_type.pause_reason else said


def _why_not_pulled(biz_type: BizType, asked_at: datetime | None) -> str:
    if asked_at is None:
        return _("no puller has ever asked for jobs of %(biz_type)s") % {"biz_type": biz_type.label}
    values = {"biz_type": biz_type.label, "time": f"{timezone.localtime(asked_at):%Y-%m-%d %H:%M:%S %Z}"}
    return _("no puller has asked for jobs of %(biz_type)s since %(time)s") % values


def pause_sentence(biz_type: BizType) -> str:
    """Who paused the biz type and until when, without the reason."""
    ends, by = biz_type.paused_until, biz_type.paused_by
    values = {"biz_type": biz_type.label, "actor": by}
    if ends is None or ends >= UNTIL_RESUMED:
        if by:
            return _("%(biz_type)s is paused by %(actor)s until somebody resumes it") % values
        return _("%(biz_type)s is paused until somebody resumes it") % values
    values["time"] = f"{timezone.localtime(ends):%Y-%m-%d %H:%M:%S %Z}"
    if by:
        return _("%(biz_type)s is paused by %(actor)s until %(time)s") % values
    return _("%(biz_type)s is paused until %(time)s") % values


def _why_broken(biz_type: BizType, breaker: Breaker, *, now_ms: int) -> str:
    wait = ceil(((breaker.open_until_ms or 0) - now_ms) / 1000)
    values = {"biz_type": biz_type.label, "seconds": wait, "reason": breaker.no_token}
    if breaker.no_token:
        if wait > 0:
            return (
                _("jobs of %(biz_type)s wait for an access token from %(reason)s; the next try is in %(seconds)s s")
                % values
            )
        return _("jobs of %(biz_type)s wait for an access token from %(reason)s; one job at a time tries it") % values
    if wait > 0:
        return (
            _("the receiver of %(biz_type)s is down (its breaker is open), the next try is in %(seconds)s s") % values
        )
    return _("the receiver of %(biz_type)s is down (its breaker is open), one job at a time tries it") % values


def _breakers(lane: str, biz_types: Sequence[BizType]) -> dict[str, Breaker] | None:
    """The breakers that are open or were lately; None where Redis does not answer."""
    return tried(lambda: breakers_of(brisk_lane(lane), biz_types), action="look")


def key_hold(job: Job, *, now: datetime) -> str:
    """Why the job waits for others of its biz id or its flow key; '' where it does not, or where it has no key.

    One query for each, and where each flow key has a limit and the job is due, one question to Redis.
    """
    if is_waiting(job.live_key) and (running := _begun(job)):
        return running
    if not job.flow_key:
        return ""
    paused = PausedKey.objects.filter(biz_type_id=job.biz_type_id, flow_key=job.flow_key, until__gt=now).first()
    if paused is not None:
        said = _pause(paused, job.biz_type)
        return f"{said}: {paused.reason}" if paused.reason else said
    if job.place is not None and job.biz_type.is_ordered and (behind := _order(job)):
        return behind
    if not job.biz_type.has_key_limits or job.next_run_at > now:
        return ""
    lane, queue = brisk_lane(job.biz_type.timer_lane), job.biz_type.queue
    found = tried(lambda: lane.count_keys(queue, [job.flow_key]), action="look")
    return _limit(found[0], job.biz_type, now_ms=due_ms(now)) if found else ""


def _begun(job: Job) -> str:
    """Which job of its biz id has to end before it; '' for none."""
    begun = Job.objects.using(job._state.db).filter(biz_type_id=job.biz_type_id, live_key=job.biz_id, status__in=LIVE)
    for other in begun.only("id", "status"):
        values = {"job": other.id, "status": Status(other.status).label}
        return _("job %(job)s (%(status)s) of the same biz id has not ended, and this one is kept until then") % values
    return ""


def _order(job: Job) -> str:
    """Which job of its key comes before it; '' for none."""
    for first in first_jobs_of([(job.biz_type_id, job.flow_key)], using=job._state.db or DEFAULT_DB_ALIAS):
        if first.id != job.id:
            values = {"key": job.flow_key, "job": first.id, "status": Status(first.status).label}
            return (
                _("the jobs of the flow key %(key)s run in their order, and job %(job)s (%(status)s) comes first")
                % values
            )
    return ""


def _pause(paused: PausedKey, biz_type: BizType) -> str:
    values = {
        "key": paused.flow_key,
        "biz_type": biz_type.label,
        "actor": paused.paused_by,
        "since": _time(paused.paused_at),
        "until": _time(paused.until),
    }
    if paused.until >= UNTIL_RESUMED:
        if paused.paused_by:
            return _("the flow key %(key)s of %(biz_type)s is paused since %(since)s by %(actor)s") % values
        return _("the flow key %(key)s of %(biz_type)s is paused since %(since)s") % values
    if paused.paused_by:
        text = _("the flow key %(key)s of %(biz_type)s is paused since %(since)s by %(actor)s, until %(until)s")
        return text % values
    return _("the flow key %(key)s of %(biz_type)s is paused since %(since)s, until %(until)s") % values


def _limit(counts: KeyCounts, biz_type: BizType, *, now_ms: int) -> str:
    most = biz_type.key_max_in_flight
    values = {"key": counts.key, "biz_type": biz_type.label, "most": most}
    if most is not None and counts.in_flight >= most:
        return _("the flow key %(key)s of %(biz_type)s has as many jobs in flight as it may: %(most)d") % values
    if biz_type.key_rate is not None and counts.turn_ms > now_ms and counts.due:
        values |= {"rate": f"{biz_type.key_rate:,.10g}", "seconds": ceil((counts.turn_ms - now_ms) / 1000)}
        return (
            _(
                "the flow key %(key)s of %(biz_type)s may have %(rate)s jobs a second, and has its next turn in"
                " %(seconds)d s"
            )
            % values
        )
    return ""


def _time(moment: datetime) -> str:
    return f"{timezone.localtime(moment):%Y-%m-%d %H:%M:%S %Z}"


def without_puller(biz_types: Iterable[BizType]) -> dict[str, datetime | None]:
    """By queue, those that are pulled and for which no puller has asked lately: since when, None for never.

    Empty where Redis does not answer; it is asked once.
    """
    pulled = [biz_type for biz_type in biz_types if biz_type.is_pulled]
    if not pulled:
        return {}
    lanes = [brisk_lane(biz_type.timer_lane) for biz_type in pulled]

    def ask() -> dict[str, datetime | None]:
        with lanes[0].client.pipeline(transaction=False) as pipeline:
            pipeline.time()
            pipeline.mget([lane.keys.claimed for lane in lanes])
            (seconds, micros), asked = pipeline.execute()
        now = moment(seconds * 1000 + micros // 1000)
        last = {
            biz_type.queue: None if at_ms is None else moment(int(at_ms))
            for biz_type, at_ms in zip(pulled, asked, strict=True)
        }
        return {queue: at for queue, at in last.items() if at is None or now - at > SILENCE}

    return tried(ask, action="look") or {}
