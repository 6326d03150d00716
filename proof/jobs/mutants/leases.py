"""Mistakes of leases, of callbacks under them, and of the writer that renews them."""

from __future__ import annotations

from proof.code_mutant import CodeMutant

_LEASES = "tasksapp.sql.leases"
_LOST_LEASES = "tasksapp.maintenance.lost_leases"
_DISPATCHER = "tasksapp.delivery.dispatcher"
_JOB_CALLBACKS = "tasksapp.workers.job_callbacks"
_OUTCOME_WRITER = "tasksapp.delivery.outcome_writer"

LEASES = (
    CodeMutant(
        "a lease is lost while it holds",
        _LEASES,
        "lease_until__lt=now)\n",
        "lease_until__lt=now + timedelta(seconds=5))\n",
        theme="losses",
    ),
    CodeMutant(
        "a lost lease keeps its token",
        _LEASES,
        "                lease_until=None,\n                lease_token=None,\n",
        "                lease_until=None,\n",
    ),
    CodeMutant(
        "at most once is tried again by another worker",
        _LEASES,
        "    if job.biz_type.guarantee == BizType.Guarantee.AT_MOST_ONCE:",
        "    if False:",
    ),
    CodeMutant(
        "workers may be lost without end",
        _LEASES,
        "    if job.system_errors + 1 >= max_system_errors:",
        "    if False:",
        theme="losses",
    ),
    CodeMutant(
        "a lost worker counts as no error of ours",
        _LEASES,
        'system_errors=F("system_errors") + 1,',
        'system_errors=F("system_errors"),',
    ),
    CodeMutant(
        "a lost job waits already the first time",
        _LEASES,
        "if job.system_errors else 0)",
        "if True else 0)",
    ),
    CodeMutant(
        "a renewal needs no token",
        _LEASES,
        "status=Transition.CLAIM.target, lease_token=token)",
        "status=Transition.CLAIM.target)",
        theme="zombies",
    ),
    CodeMutant(
        "a renewal needs no running row",
        _LEASES,
        "rows = Job.objects.using(using).filter(id__in=ids, status=Transition.CLAIM.target, lease_token=token)",
        "rows = Job.objects.using(using).filter(id__in=ids)",
        theme="zombies",
    ),
    CodeMutant(
        "a renewal is not written",
        _LEASES,
        "Job.objects.using(using).filter(id__in=ours).update(lease_until=until)",
        "pass",
    ),
    CodeMutant(
        "the dead of lost leases make no follow-up",
        _LEASES,
        "        on_end([job for job in lost if job.status != Transition.LOSE.target])",
        "        pass",
    ),
    CodeMutant(
        "a lost job gets no timer",
        _LOST_LEASES,
        "            self._ensure([timer])",
        "            pass",
    ),
    CodeMutant(
        "a lost job frees no slot",
        _LOST_LEASES,
        "        if job.biz_type.has_slots:\n",
        "        if False:\n",
        theme="losses",
    ),
    CodeMutant(
        "leases are lost right after the database was away",
        _LOST_LEASES,
        "        if not self._uptime.covers_a_lease():\n            return 0\n",
        "",
        theme="outage",
    ),
    CodeMutant(
        "leases are never lost",
        _LOST_LEASES,
        "        if not self._uptime.covers_a_lease():",
        "        if True:",
    ),
    CodeMutant(
        "a callback begins though its lease has ended",
        _DISPATCHER,
        "if callback.lease_ends - self._clock.monotonic() < callback",
        "if -1 > callback",
        theme="waiting",
    ),
    CodeMutant(
        "a lease counts from its claim's end",
        _JOB_CALLBACKS,
        "callback.lease_ends = began + _job(callback).lease_seconds if job_id in renewed else began",
        "callback.lease_ends = began + _job(callback).lease_seconds",
        theme="waiting",
    ),
    CodeMutant(
        "a batch that was not written is dropped",
        _OUTCOME_WRITER,
        "                if len(batch) > 1:\n                    self._results.extendleft(reversed(batch))",
        "                if len(batch) > 0:\n                    self._results.extendleft(reversed(batch[:0]))",
        theme="wires",
    ),
    CodeMutant(
        "leases are never renewed",
        _OUTCOME_WRITER,
        "            written = self._renew_held() and written",
        "            pass",
    ),
    CodeMutant(
        "what was written is held for ever",
        _OUTCOME_WRITER,
        "                self._held.pop((result.callback.job_id, result.callback.token), None)",
        "                pass",
    ),
)
