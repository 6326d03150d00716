"""Answer links: a person answers a job that waits, by an address that was sent to them; once, and without a login.

Each person who has the link may answer: it is known to whom it was given, not who uses it. Its token is random, and
stands in the part of the address that browsers send to no server; here only its hash is kept.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import router, transaction
from django.db.models import QuerySet
from django.urls import NoReverseMatch
from django.utils import timezone

from tasksapp.access import audit
from tasksapp.access.actors import NAME_LENGTH, OWN_CODE, Actor
from tasksapp.access.audit import Deed
from tasksapp.conf import address_on_site
from tasksapp.errors import AlreadyAnswered, InvalidJob, JobNotFound, LinkNotFound, LinkOver, WrongState
from tasksapp.jobs.resolving import OUTCOME, resolve
from tasksapp.jobs.validation import Key, Line, Moment
from tasksapp.jobs.verbs import locked, named
from tasksapp.models import AnswerLink, Job, Status
from tasksapp.models.conflicts import repeated
from tasksapp.models.sealed_value import is_sealed

#: Links of one job, and outcomes of one link.
MOST_LINKS, MOST_OUTCOMES = 20, 10
#: 192 bits.
TOKEN_BYTES = 24
#: The name of the page's address.
PAGE = "delayhub:answer"
_NONE = "there is no such link, or not any more"
GIVEN_TO = Key(longest=100, none="", field="given_to", help="Who gets the link, for the record: a name or an address.")
QUESTION = Line(longest=500, field="question", help="What its page asks.")
EXPIRES_AT = Moment(field="expires_at", help="When it ends; at most when the job is due, which is the usual end.")


class MadeLink(NamedTuple):
    """A new link, and the address to send, which nothing shows again.

    Args:
        link: its row.
        url: its address.
    """

    link: AnswerLink
    url: str

    def __repr__(self) -> str:
        return f"MadeLink({self.link.pk})"  # pages for errors and logs write what they hold


@repeated
def make_link(
    job_id: UUID,
    *,
    outcomes: Sequence[str],
    given_to: str,
    question: str = "",
    expires_at: datetime | str | None = None,
    by: Actor | None = None,
    using: str | None = None,
) -> MadeLink:
    """Makes a link by which a person answers a pending job.

    Args:
        job_id: the job, of a biz type with ``on_resolved``, and with a biz id.
        outcomes: what may be answered, 1 to 10 of them.
        given_to: who gets it, for the record.
        question: what its page asks.
        expires_at: when it ends; None, and at most: when the job is due.
        by: who makes it, for the audit; None for the project's own code.
        using: the database.

    Raises InvalidJob, JobNotFound, and WrongState where the job is not pending.
    """
    using, now = using or router.db_for_write(Job), timezone.now()
    words, asks, ends, address = _outcomes(outcomes), QUESTION(question), EXPIRES_AT(expires_at), _address()
    if is_sealed(asks):
        raise QUESTION.refusal("invalid", f"may not begin with {asks[:2]}: so do encrypted values")
    token = secrets.token_urlsafe(TOKEN_BYTES)
    link = AnswerLink(
        job_id=job_id, hashed_token=_hash(token), question=asks, outcomes=words,
        given_to=GIVEN_TO(given_to) or "", created_at=now, created_by=(by or OWN_CODE).name,
    )  # fmt: skip
    if not link.given_to:
        raise GIVEN_TO.refusal("blank", "may not be empty")
    with transaction.atomic(using=using):
        job = locked(job_id, verb="answer", source=Status.PENDING, version=None, using=using)
        if not job.biz_id or not job.biz_type.on_resolved:
            raise InvalidJob(None, "not_heard", f"job {job_id} waits for no answer: it needs a biz id and on_resolved")
        link.biz_type_id, link.expires_at = job.biz_type_id, min(ends or job.due_at, job.due_at)
        if _is_late(link, job):
            raise EXPIRES_AT.refusal("past", "may not be past: then it is too late for an answer")
        if AnswerLink.objects.using(using).filter(job_id=job_id).count() >= MOST_LINKS:
            raise InvalidJob(None, "too_many_links", f"a job may have {MOST_LINKS} links: withdraw some")
        if job.biz_type.encrypted or job.is_sealed:
            link.seal()
        link.save(using=using)
        _record(Deed.LINK, link, job, by=by, using=using)
    return MadeLink(link, f"{address}#{token}")


def links_of(job_id: UUID, *, using: str | None = None) -> list[AnswerLink]:
    """The links of a job, the newest first: those that wait, were used or have ended.

    Raises what the database raises, and nothing where there is no such job.
    """
    rows = AnswerLink.objects.using(using or router.db_for_read(Job))
    return list(rows.filter(job_id=job_id).order_by("-id"))


@repeated
def withdraw_link(job_id: UUID, link_id: int, *, by: Actor | None = None, using: str | None = None) -> None:
    """Ends a link of the job that was not used: its page says that there is none.

    Raises LinkNotFound.
    """
    using = using or router.db_for_write(Job)
    with transaction.atomic(using=using):
        rows = AnswerLink.objects.using(using).filter(pk=link_id, job_id=job_id, used_at=None)
        gone = list(rows)
        if not gone or not rows.delete()[0]:
            raise LinkNotFound(f"job {job_id} has no link {link_id} that was not used")
        job = Job.objects.using(using).select_related("biz_type__tenant").defer("body", "raw").get(id=job_id)
        _record(Deed.WITHDRAW_LINK, gone[0], job, by=by, using=using)


def look_at_link(token: Any, *, using: str | None = None) -> tuple[AnswerLink, Job]:
    """The link with that token, and the job that waits for its answer. Nothing is noted of that.

    Raises LinkNotFound, and LinkOver where it was used or it is too late.
    """
    using = using or router.db_for_write(Job)
    link = AnswerLink.objects.using(using).filter(hashed_token=_hash(token)).first()
    if link is None:
        raise LinkNotFound(_NONE)
    if link.used_at is not None:
        raise LinkOver("used")
    jobs = Job.objects.using(using).select_related("biz_type").defer("body", "raw")
    job = jobs.filter(id=link.job_id, status=Status.PENDING).first()
    if job is None or _is_late(link, job):
        raise _over(link, using=using)
    return link, job


@repeated
def answer_by_link(
    token: Any, outcome: Any, *, address: str | None = None, agent: str = "", using: str | None = None
) -> None:
    """Answers the job by a link, which is used up by that.

    Args:
        token: the link's.
        outcome: the answer, one of those that the link allows.
        address: where it comes from, for the audit.
        agent: the program that sends it, for the audit.
        using: the database.

    Raises InvalidJob, LinkNotFound, and LinkOver where it was used or it is too late.
    """
    using = using or router.db_for_write(Job)
    link, _ = look_at_link(token, using=using)
    if outcome not in link.outcomes:
        raise InvalidJob("outcome", "invalid", f"outcome must be one of {', '.join(link.outcomes)}")
    by = Actor(f"the link given to {link.given_to}"[:NAME_LENGTH], address)
    with transaction.atomic(using=using):
        # Of two at the same moment the second one waits here for the first, and finds that it is used.
        try:
            job = locked(link.job_id, verb="answer", source=Status.PENDING, version=None, using=using)
        except (JobNotFound, WrongState):
            raise _over(link, using=using) from None
        if not _unused(link, using=using).update(used_at=timezone.now()):
            raise _over(link, using=using)
        if _is_late(link, job):
            raise LinkOver("late")
        try:
            said = resolve(
                job.biz_type.code, job.biz_id, outcome=outcome, tenant=job.biz_type.tenant.code, by=by, reason=agent,
                using=using,
            )  # fmt: skip
        except AlreadyAnswered:
            raise LinkOver("late") from None
    if said.too_late:
        raise LinkOver("begun" if said.status == Status.RUNNING else "late")


def _unused(link: AnswerLink, *, using: str) -> QuerySet[AnswerLink]:
    return AnswerLink.objects.using(using).filter(pk=link.pk, used_at=None)


def _over(link: AnswerLink, *, using: str) -> LinkOver | LinkNotFound:
    # Its job waits no more, or was answered by the link after that was read, or asks something else.
    found = AnswerLink.objects.using(using).filter(pk=link.pk).first()
    if found is None:
        return LinkNotFound(_NONE)
    return LinkOver("late" if found.used_at is None else "used")


def _is_late(link: AnswerLink, job: Job) -> bool:
    # It may have been moved to an earlier time since; and a pending one that waits for its next attempt has fired, also
    # where somebody has run it before it was due: it runs at another time than that from then on.
    has_fired = job.next_run_at != job.due_at
    return has_fired or min(link.expires_at, job.due_at) <= timezone.now() or not job.biz_type.on_resolved


def _outcomes(given: Any) -> list[str]:
    listed = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else []
    words = [word for word in map(OUTCOME, listed) if word]
    if not 0 < len(words) == len(listed) <= MOST_OUTCOMES or len(set(words)) < len(words):
        raise InvalidJob("outcomes", "invalid", f"outcomes must be 1 to {MOST_OUTCOMES} different words")
    return words


def _hash(token: Any) -> str:
    # Of a random token: there are too many to try, so the hash needs no secret, and outlives a new SECRET_KEY.
    return hashlib.sha256(token.encode(errors="replace")).hexdigest() if isinstance(token, str) else ""


def _address() -> str:
    """The page's, at the site's own address: a request's Host header is its sender's."""
    try:
        address = address_on_site(PAGE)
    except NoReverseMatch:
        raise InvalidJob(None, "no_page", "links need the API's addresses in the project's URL conf") from None
    if not address:
        raise InvalidJob(None, "no_site_url", "links need the setting SITE_URL: where people reach the site")
    return address


def _record(deed: Deed, link: AnswerLink, job: Job, *, by: Actor | None, using: str) -> None:
    said = {"given_to": link.given_to, "outcomes": link.outcomes, "expires_at": link.expires_at}
    audit.record_deed(deed, by=by, using=using, job_id=job.id, biz_type_id=job.biz_type_id, what=named(job), after=said)
