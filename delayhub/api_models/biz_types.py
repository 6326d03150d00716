"""Biz types, the kinds of jobs; their secrets, test calls, and the document with all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, TypedDict
from uuid import UUID

Target = Literal["http", "celery", "pull"]
Method = Literal["POST", "PUT", "PATCH"]
Auth = Literal["none", "basic", "bearer", "oauth2", "oauth2_form"]
Backoff = Literal["fixed", "linear", "exponential", "list"]
Guarantee = Literal["at_least_once", "at_most_once"]
OneLive = Literal["any", "refuse", "replace", "last"]
Verdict = Literal["succeeds", "tried again", "dead", "not sent"]
AddressVerdict = Literal["allowed", "refused", "unknown"]
ImportAction = Literal["create", "change", "none"]
WhenLate = Literal["fire", "skip", "dead"]
Ordered = Literal["no", "dead_blocks", "dead_lets_go"]


class BizTypeFields(TypedDict, total=False):
    """What may be set of a biz type, beside its code."""

    name: str
    description: str
    #: No jobs are taken while it is not, and none fire.
    enabled: bool
    target: Target
    method: Method
    #: http:// or https://, where callbacks go.
    url: str
    #: Where a job may lead by a URL of its own: hosts with commas between them. Empty: nowhere.
    url_hosts: str
    #: Extra headers, a JSON object of strings.
    headers: Mapping[str, str]
    auth: Auth
    #: Where OAuth2 access tokens are asked for.
    token_url: str
    #: Who asks for them.
    client_id: str
    #: What else is asked, a JSON object of texts: ``{"scope": "orders"}``.
    token_fields: Mapping[str, str]
    #: Certificates in PEM of those who vouch for the receiver, in place of those the system trusts.
    ca_bundle: str
    #: The Celery task to run.
    task_name: str
    #: Its queue; empty for the task's own.
    task_queue: str
    timeout_seconds: float
    max_attempts: int
    #: No attempt begins later after the due time; None: no limit.
    max_age_seconds: float | None
    backoff: Backoff
    backoff_min_seconds: float
    backoff_max_seconds: float
    backoff_factor: float
    backoff_max_doublings: int | None
    #: Seconds before each retry; the last repeats. For the backoff ``list``.
    backoff_list: Sequence[float]
    #: Up to this share is added to each backoff.
    jitter: float
    #: Never retried, beside 410.
    permanent_status_codes: Sequence[int]
    insert_rate: float | None
    insert_burst: int
    delivery_rate: float | None
    delivery_burst: int
    max_in_flight: int | None
    key_rate: float | None
    key_burst: int
    key_max_in_flight: int | None
    #: Whether the jobs of a flow key run one after the other, and what a dead one does to those behind it.
    ordered: Ordered
    weight: int
    #: 0 goes first, 9 last.
    priority: int
    guarantee: Guarantee
    #: Judged before the first attempt only.
    max_lateness_seconds: float | None
    when_late: WhenLate
    #: Finished jobs are kept this long; None: always.
    retention_seconds: float | None
    #: What its jobs carry, and what is answered and said about them, is encrypted in the database.
    encrypted: bool
    #: What a new job meets whose biz id has a live one.
    one_live: OneLive
    #: Requests with a debounce key put a job off so long. None: ten times the delay.
    debounce_max_wait_seconds: float | None
    #: The code of a biz type: a job of it is made after a success.
    on_success: str
    #: The same after a death.
    on_dead: str
    #: The same after an answer: its jobs wait for one.
    on_resolved: str
    #: Mail addresses, with commas between them.
    owner_mail: str
    #: http:// or https://, where messages to the owner are posted.
    owner_url: str
    #: Which workers serve it: one of the setting ``LANES``.
    lane: str
    #: JSON Pointers into bodies, such as /card/number: receivers get these values, all others get a mask.
    masked_fields: Sequence[str]
    #: ``user:password`` for Basic, the token for Bearer, the client's secret for OAuth2. It is never shown.
    auth_secret: str


@dataclass(frozen=True, kw_only=True)
class BizType:
    """A kind of job: where its jobs go, how often they are tried, and how fast."""

    #: What callers name it by: a-z, 0-9, '.', '_' and '-'.
    code: str
    name: str
    description: str
    #: No jobs are taken while it is not, and none fire.
    enabled: bool
    target: Target
    method: Method
    #: http:// or https://, where callbacks go. None: this key may not see it.
    url: str | None
    #: Where a job may lead by a URL of its own. None: this key may not see it.
    url_hosts: str | None
    #: Extra headers, a JSON object of strings. None: this key may not see it.
    headers: Mapping[str, str] | None
    auth: Auth
    #: Where OAuth2 access tokens are asked for. None: this key may not see it.
    token_url: str | None
    #: Who asks for them.
    client_id: str
    #: What else is asked, a JSON object of texts. None: this key may not see it.
    token_fields: Mapping[str, str] | None
    #: Certificates in PEM of those who vouch for the receiver, in place of those the system trusts.
    ca_bundle: str
    #: The Celery task to run.
    task_name: str
    #: Its queue; empty for the task's own.
    task_queue: str
    timeout_seconds: float
    max_attempts: int
    #: No attempt begins later after the due time; None: no limit.
    max_age_seconds: float | None
    backoff: Backoff
    backoff_min_seconds: float
    backoff_max_seconds: float
    backoff_factor: float
    backoff_max_doublings: int | None
    #: Seconds before each retry; the last repeats. For the backoff ``list``.
    backoff_list: Sequence[float]
    #: Up to this share is added to each backoff.
    jitter: float
    #: Never retried, beside 410.
    permanent_status_codes: Sequence[int]
    insert_rate: float | None
    insert_burst: int
    delivery_rate: float | None
    delivery_burst: int
    max_in_flight: int | None
    key_rate: float | None
    key_burst: int
    key_max_in_flight: int | None
    #: Whether the jobs of a flow key run one after the other, and what a dead one does to those behind it.
    ordered: Ordered = "no"
    weight: int
    #: 0 goes first, 9 last.
    priority: int
    guarantee: Guarantee
    #: Judged before the first attempt only.
    max_lateness_seconds: float | None
    when_late: WhenLate
    #: Finished jobs are kept this long; None: always.
    retention_seconds: float | None
    #: What its jobs carry, and what is answered and said about them, is encrypted in the database.
    encrypted: bool
    #: What a new job meets whose biz id has a live one.
    one_live: OneLive
    #: Requests with a debounce key put a job off so long. None: ten times the delay.
    debounce_max_wait_seconds: float | None
    #: The code of a biz type: a job of it is made after a success.
    on_success: str
    #: The same after a death.
    on_dead: str
    #: The same after an answer: its jobs wait for one.
    on_resolved: str
    #: Mail addresses, with commas between them. None: this key may not see it.
    owner_mail: str | None
    #: http:// or https://, where messages to the owner are posted. None: this key may not see it.
    owner_url: str | None
    #: Which workers serve it: one of the setting ``LANES``.
    lane: str
    #: JSON Pointers into bodies, such as /card/number: receivers get these values, all others get a mask.
    masked_fields: Sequence[str]
    paused_until: Annotated[datetime | None, "Its jobs wait until then. None: not paused."]
    paused_by: str
    pause_reason: str
    resumed_at: Annotated[datetime | None, "Its rate has been rising since."]
    signed: Annotated[bool, "Whether there is a secret that its callbacks are signed with."]
    previous_secret_until: Annotated[datetime | None, "Until then the secret before signs beside it."]
    has_credentials: Annotated[bool, "Whether an `auth_secret` is stored."]
    certificate_subject: Annotated[str, "The subject of the client certificate for receivers; '' for none."]
    certificate_ends_at: Annotated[datetime | None, "When that certificate ends."]
    created_at: datetime
    updated_at: datetime
    in_force: Annotated[
        bool | None,
        "In the answer to a change: whether claims go by its limits and pause already. False: Redis did not answer;"
        " they do within a second once it does. None in other answers.",
    ] = None
    #: Names the state that was read; a change sends it back. Empty in lists.
    etag: str = ""


@dataclass(frozen=True, kw_only=True)
class CreatedBizType(BizType):
    """A biz type that was just made."""

    signing_secret: Annotated[
        str | None, "What its callbacks are signed with, shown this once. None: it runs a Celery task."
    ]


@dataclass(frozen=True, kw_only=True)
class RotatedSecret:
    """A new signing secret."""

    signing_secret: Annotated[str | None, "Shown this once. None: the caller brought it."]
    previous_secret_until: Annotated[
        datetime | None, "Until then callbacks have both signatures. None: there is no other secret."
    ]


@dataclass(frozen=True, kw_only=True)
class KeyPairs:
    """The keys by which callbacks are signed, by their public halves."""

    public_keys: Annotated[Sequence[str], "The newest first."]
    previous_key_until: Annotated[
        datetime | None, "Until then the key before signs beside it. None: there is one key, or none."
    ]


@dataclass(frozen=True, kw_only=True)
class TestRequest:
    """The request that a test call sent, with its credentials masked."""

    __test__: ClassVar[bool] = False  # for pytest

    line: Annotated[str, "Method and address."]
    headers: Mapping[str, str]
    body: str


@dataclass(frozen=True, kw_only=True)
class TestResponse:
    """What the receiver answered to a test call."""

    __test__: ClassVar[bool] = False  # for pytest

    status_code: int
    headers: Mapping[str, str]
    body: Annotated[str, "As much of it as is kept of a job's answer."]


@dataclass(frozen=True, kw_only=True)
class TestCall:
    """What became of a test call."""

    __test__: ClassVar[bool] = False  # for pytest

    verdict: Annotated[Verdict, "What a job's attempt would come to."]
    reason: Annotated[str, "Why, where it does not succeed."]
    address: Annotated[AddressVerdict, "Whether callbacks may go to that address."]
    is_sent: Annotated[bool, "Whether the receiver may have got some of it."]
    request: Annotated[TestRequest | None, "None: none could be made."]
    response: Annotated[TestResponse | None, "None: there was no answer."]
    duration_ms: int
    timeout_seconds: Annotated[float, "How long it would have waited."]
    cancels_others: Annotated[bool, "Whether the answer asks to cancel the other jobs of the same business key."]


@dataclass(frozen=True, kw_only=True)
class BizTypeChange:
    """What an import did, or would do, to one biz type."""

    code: str
    action: ImportAction
    before: Annotated[Mapping[str, Any], "The fields that change, as they were."]
    after: Annotated[Mapping[str, Any], "The same as they are then; of a new one, all."]
    needs: Annotated[Sequence[str], "`signing_secret`: its callbacks are not signed; rotate makes one."]


@dataclass(frozen=True, kw_only=True)
class BizTypeImport:
    """What an import did, or would do."""

    dry_run: bool
    changes: Sequence[BizTypeChange]
    left_alone: Annotated[Sequence[str], "Biz types that the document does not name: they stay as they are."]


@dataclass(frozen=True, kw_only=True)
class FlowKey:
    """A flow key, and how many of its jobs are due or will be within the near window."""

    flow_key: str
    waiting: Annotated[int, "Jobs that have a timer, due or not."]
    due: Annotated[int, "Those that are due, and that no worker has."]
    in_flight: Annotated[int, "Counted only where keys have a limit of it."]
    paused_until: Annotated[datetime | None, "None: it is not paused."]
    blocked_by: Annotated[str | None, UUID, "The job that others of it wait for. None: it is in no order, or not long."]


@dataclass(frozen=True, kw_only=True)
class FlowKeys:
    """The flow keys with most jobs that wait, and those that are paused."""

    flow_keys: Sequence[FlowKey]
    is_whole: Annotated[bool, "Whether all keys were counted: only the next 1 000 of the line are."]
    paused: Annotated[Sequence[str], "All paused keys."]
    blocked: Annotated[Sequence[str], "Keys in order whose first job has not come to an end for long, 200 at most."]


@dataclass(frozen=True, kw_only=True)
class PausedFlowKey:
    """A flow key, and whether it is paused."""

    flow_key: str
    paused_until: Annotated[datetime | None, "None: it is not paused."]
