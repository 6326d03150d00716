"""Celery's requests of our messages: they have their eta again, and end however they leave the pool."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any, ClassVar, cast

import redis
from billiard.einfo import ExceptionInfo
from billiard.exceptions import Terminated, WorkerLostError
from celery import bootsteps
from celery.exceptions import Reject
from celery.utils.imports import symbol_by_name
from celery.worker import state
from celery.worker.request import Request
from kombu.log import get_logger

from delayhub.celery_support.delayed_task import JOB_HEADER
from delayhub.celery_support.job_store import job_store
from delayhub.celery_support.unique_send import OF_RETRY, publishing_for
from delayhub.transport.channel import Channel
from delayhub.transport.envelope import DUE_HEADER
from delayhub.transport.unique_publish import LEASE_PROPERTY, keeps_key_until_end

logger = get_logger(__name__)

#: A task whose last runs were all shorter shares a call with others for its early acknowledgement: to tasks that do
#: nothing, a call for each would cost half of their throughput.
QUICK_SECONDS = 0.1
QUICK_RUNS = 10
#: How long a message waits whose task could not publish its retry.
LATER_SECONDS = 60
#: What became of the process of a task that was cancelled.
LOST = (Terminated, WorkerLostError, SystemExit, KeyboardInterrupt)
#: Connections that are open for such calls when a worker starts, at most; a pool with more threads opens more.
READY_CONNECTIONS = 4


class MakeOurRequests(bootsteps.StartStopStep):
    """Gives every task of a worker a request class of ours, and makes ready what these need.

    This is a bootstep because the consumer makes its steps when all tasks are known, and before it asks any of them for
    its request class.
    """

    requires = ("celery.worker.consumer.connection:Connection",)

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        # Only the prefork pool, which counts its processes, runs tasks outside this process.
        OurRequest.runs_here = not getattr(parent.pool, "uses_semaphore", False)
        if OurRequest.runs_here:
            vars(parent.pool)["apply_async"] = partial(apply_watched, parent.pool.apply_async)
        for task in parent.app.tasks.values():
            task.Request = ours(cast("type[Request]", symbol_by_name(task.Request)))

    def start(self, parent: Any) -> None:
        """Called at the start and at every reconnect. The first tasks acknowledge one by one, each in its thread."""
        channel = parent.connection.default_channel
        if OurRequest.runs_here and isinstance(channel, Channel):
            channel.book.prepare(min(parent.pool.limit or 1, READY_CONNECTIONS))


class OurRequest(Request):
    """A request that has its message's eta, and gives the message a strike where its process was lost or timed out.

    Celery would requeue a task that kills its process without end; strikes limit that.
    """

    #: Whether tasks run in the worker's own process, so that a task may block its event loop.
    runs_here = False
    #: Of each task that has run in this process: how many runs in a row were quick.
    quick_runs: ClassVar[dict[str, int]] = {}
    _loses_child = False
    _is_kept = False
    _is_broken_off = False
    _is_cancelled = False

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        due = self.request_dict.get(DUE_HEADER)
        if due is not None:
            # The transport removed the eta so that the worker does not wait by itself; the task may still read it.
            # A receiver of task_prerun could set it too, but would add a twentieth to the cost of every task.
            self.request_dict["eta"] = datetime.fromtimestamp(due / 1000, UTC).isoformat()
        channel = self.message.channel
        if keeps_key_until_end(self.request_dict) and isinstance(channel, Channel):
            for lease in channel.book.tags.get(self.message.delivery_tag, ()):
                # By it the task passes its key on to its retry, also in a process of the pool.
                self.request_dict["properties"][LEASE_PROPERTY] = lease.mark

    def on_accepted(self, pid: Any, time_accepted: float) -> None:
        """Called when the task is about to start. An early acknowledgement is sent before the task can block that."""
        if self.runs_here and (self._went_back() or cast("bool | int | None", state.should_terminate)):
            self._is_broken_off = True
            return
        try:
            if not self.task.acks_late and isinstance(self.message.channel, Channel):
                self._acknowledge_early(self.message.channel)
            super().on_accepted(pid, time_accepted)
        except Exception as error:
            if self.runs_here:  # elsewhere the task runs all the same
                self.break_off(error)
            raise

    def _went_back(self) -> bool:
        """Whether its message was given back while it waited for a thread, with the connection: it comes again."""
        channel = self.message.channel
        return isinstance(channel, Channel) and self.message.delivery_tag not in channel.book.tags

    def _acknowledge_early(self, channel: Channel) -> None:
        book, tag = channel.book, self.message.delivery_tag
        if (keeps_key_until_end(self.request_dict) or book.counts(tag)) and book.keep_started(tag):
            self._is_kept = True
        elif self.runs_here:
            is_quick = self.quick_runs.get(self.task.name, 0) >= QUICK_RUNS
            channel.acknowledge_early(tag, is_quick=is_quick)

    def __init_subclass__(cls, **options: Any) -> None:
        """Celery makes a class of each task's requests, whose ``on_success`` calls no other; this adds to it."""
        super().__init_subclass__(**options)
        inner = vars(cls).get("on_success")
        if inner is None:
            return

        def on_success(self: OurRequest, failed__retval__runtime: Any, **options: Any) -> Any:
            if self._is_broken_off:
                return None
            if isinstance(failed__retval__runtime, ExceptionInfo):
                # What a pool without processes reports of a task that raised SystemExit; Celery would fail to read it.
                return self.on_failure(failed__retval__runtime)
            if self._is_cancelled and failed__retval__runtime == (False, None, None):
                return self._end_cancelled()  # what a pool of greenlets says of a task that it has killed
            name, (_, _, seconds) = self.task.name, failed__retval__runtime
            if self.runs_here and seconds is not None:  # there is no time of a run that Celery cut short
                self.quick_runs[name] = self.quick_runs.get(name, 0) + 1 if seconds < QUICK_SECONDS else 0
            return self._end(inner, self, failed__retval__runtime, **options)

        cls.on_success = on_success  # type: ignore[assignment]  # that is its purpose

    def on_failure(self, exc_info: Any, *args: Any, **options: Any) -> Any:
        """Called with what the task raised, or with what became of its process."""
        raised = getattr(exc_info.exception, "exc", exc_info.exception)
        if self._is_cancelled and isinstance(raised, LOST):
            return self._end_cancelled()
        # A task that raises Reject asks to be requeued; every other requeue after a failure is that of a lost process.
        self._loses_child = not isinstance(raised, Reject)
        if hasattr(why := getattr(raised, "reason", None), OF_RETRY) and self._try_later(why):
            return None
        return self._end(super().on_failure, exc_info, *args, **options)

    def _retry_worker_lost(self, *given: Any) -> bool:
        """Whether the retry of a task whose process was lost is published; Celery 5.7 does so where it is asked to."""
        with publishing_for(cast("Any", self)._context):
            return bool(cast("Any", super())._retry_worker_lost(*given))

    def _try_later(self, error: Any) -> bool:
        """Gives a message back for a while whose task could not publish its retry; Celery would drop it.

        Returns:
            whether that was done: not where it is acknowledged already.
        """
        channel = self.message.channel
        if self.acknowledged or not isinstance(channel, Channel):
            return False
        state.task_ready(self)
        said = {"action": "try_later"}
        logger.error("task %s could not publish its retry; it comes again: %s", self, error, extra=said)
        try:
            channel.book.release([self.message.delivery_tag], delay_ms=LATER_SECONDS * 1000)
        except (redis.RedisError, OSError) as why:
            logger.warning("task %s could not be given back, its lease will run out: %s", self, why, extra=said)
        self.acknowledge()  # of what is not held any more: the channel counts it no longer
        self._note_end()
        return True

    def _end(self, finish: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """What Celery's own end of a request gives; however that goes, the request is over."""
        try:
            answer = finish(*args, **options)
        except Exception as error:
            self.break_off(error)
            raise
        self._note_end()
        return answer

    def run(self, target: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """What a pool of this process runs: the task. An error that it lets out would end a solo worker."""
        if self._is_broken_off:
            return None  # to on_success
        try:
            return target(*args, **options)
        except Exception as error:
            if not self.break_off(error):
                raise
            return None  # to on_success

    def break_off(self, error: Exception) -> bool:
        """Ends a request that Celery does not end, since what should store its result, or report it, has failed.

        Celery counts it among those that run for as long as the process lives, so that its lease would be renewed, its
        place and its unique key kept, and a free process not be seen. A message that is not acknowledged goes back with
        a strike: its result may be one that can never be stored.

        Returns:
            whether it has ended; a message of another transport is Celery's to end.
        """
        if self._is_broken_off or not isinstance(self.message.channel, Channel):
            return self._is_broken_off
        self._is_broken_off = True
        state.task_ready(self)
        back = "" if self.acknowledged else "; it comes again"
        said = {"action": "broken_off"}
        logger.error("task %s did not end as it should%s", self, back, exc_info=error, extra=said)
        try:
            if not self.acknowledged:
                self._loses_child = True
                self.reject(requeue=True)
        finally:
            self._note_end()
        return True

    def _note_end(self) -> None:
        """The next message may start; the transport waits for that where tasks have limits. A key or place is free."""
        channel = self.message.channel
        if isinstance(channel, Channel):
            if self._is_kept:
                channel.book.end_started(self.message.delivery_tag)
            channel.note_free_process()

    def on_timeout(self, soft: bool, timeout: float) -> None:
        """Called when a time limit is over; a hard one kills the process, which then cannot complete its job."""
        self._loses_child = not soft
        if soft:
            super().on_timeout(soft, timeout)
            return
        try:
            self._end(super().on_timeout, soft, timeout)
        finally:
            self._report_time_limit(timeout)
        if self.task.acks_late and not self.acknowledged and isinstance(self.message.channel, Channel):
            self.reject(requeue=True)  # Celery before 5.7 leaves it with the worker for as long as that lives

    def _report_time_limit(self, seconds: float) -> None:
        job_id = self.request_dict.get(JOB_HEADER)
        if job_id is not None and not cast("bool | int | None", state.should_terminate):
            # In a thread of its own: this is the worker's event loop, which must not wait for a database.
            arguments = job_id, self.hostname or "", seconds
            threading.Thread(target=_fail_job, args=arguments, name="delayhub-time-limit", daemon=True).start()

    def cancel(self, pool: Any, *args: Any, **options: Any) -> None:
        """Ends the task, with the connection or at a cold shutdown; one that its pool cannot end goes on.

        With the connection, its message goes back at once. A worker that shuts down may not know yet that the task has
        succeeded: there it goes back when the pool says that the task was broken off, or with the channel.
        """
        if not isinstance(self.message.channel, Channel):
            super().cancel(pool, *args, **options)
            return
        shuts_down = cast("bool | int | None", state.should_terminate)
        self._is_cancelled = True
        try:
            super().cancel(pool, *args, **options)
        except NotImplementedError:
            self._is_cancelled = False
            if shuts_down:  # it ends with this process
                self._note_end()
        finally:
            if self._is_cancelled and not shuts_down and not self.acknowledged:
                self.reject(requeue=True)

    def _end_cancelled(self) -> None:
        state.task_ready(self)
        try:
            if not self.acknowledged:
                self.reject(requeue=True)
        finally:
            self._note_end()

    def reject(self, requeue: bool = False) -> None:
        """Gives the message back, or drops it."""
        # At a cold shutdown the worker kills its children by itself.
        cold = cast("bool | int | None", state.should_terminate)
        if requeue and self._loses_child and not cold and isinstance(self.message.channel, Channel):
            self.message.channel.mark_process_lost(self.message.delivery_tag)
        super().reject(requeue)


def _fail_job(job_id: str, worker: str, seconds: float) -> None:
    try:
        job_store().time_limit_exceeded(job_id, worker=worker, seconds=seconds)
    except Exception:
        # Its lease runs out then, and it comes back as the job of a lost worker.
        logger.exception("the time limit of job %s was not written down", job_id, extra={"action": "time_limit"})


def apply_watched(
    apply_async: Callable[..., Any],
    target: Callable[..., Any],
    args: Any = None,
    kwargs: Any = None,
    *,
    callback: Any = None,
    **options: Any,
) -> Any:
    """What the pool's ``apply_async`` gives; a request of ours notes what leaves the pool without its callback."""
    request = getattr(callback, "__self__", None)
    if isinstance(request, OurRequest):
        target = partial(request.run, target)
    return apply_async(target, args, kwargs, callback=callback, **options)


def ours(kind: type[Request]) -> type[Request]:
    """A class of requests that does what that class does, and what ours does."""
    if issubclass(kind, OurRequest):
        return kind
    if kind is Request:
        return OurRequest
    return type(kind.__name__, (OurRequest, kind), {"__module__": __name__})
