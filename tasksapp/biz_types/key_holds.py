"""What holds a job for its flow key, in words for people."""

from __future__ import annotations

from datetime import datetime
from math import ceil

from django.utils import timezone
from django.utils.translation import gettext as _

from delayhub.clock import due_ms
from delayhub.engine import KeyCounts
from tasksapp.models import UNTIL_RESUMED, BizType, Job, PausedKey
from tasksapp.timers.lanes import brisk_lane, tried


def key_hold(job: Job, *, now: datetime) -> str:
    """Why no due job of the job's flow key goes out now; '' where one does, or where it has no key.

    One query, and where each key has a limit and the job is due, one question to Redis.
    """
    if not job.flow_key:
        return ""
    paused = PausedKey.objects.filter(biz_type_id=job.biz_type_id, flow_key=job.flow_key, until__gt=now).first()
    if paused is not None:
        said = _pause(paused, job.biz_type)
        return f"{said}: {paused.reason}" if paused.reason else said
    if not job.biz_type.has_key_limits or job.next_run_at > now:
        return ""
    lane, queue = brisk_lane(job.biz_type.timer_lane), job.biz_type.queue
    found = tried(lambda: lane.count_keys(queue, [job.flow_key]), action="look")
    return _limit(found[0], job.biz_type, now_ms=due_ms(now)) if found else ""


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
