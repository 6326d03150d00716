"""BizType: the kind of a job, with its target, retry policy, limits and secrets."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from secrets import token_hex
from typing import Any, ClassVar

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from delayhub.secrecy import Secrecy
from tasksapp.conf import DEFAULT_LANE
from tasksapp.models.authorization import Authorization
from tasksapp.models.columns import CODE, LastingFlag, RevisedRows, RowRevision, marked, optional_text
from tasksapp.models.encrypted_text import SealedText
from tasksapp.models.tenant import DEFAULT_TENANT, of_tenant

#: ``paused_until`` of a biz type that waits for a person to resume it.
UNTIL_RESUMED = datetime(9999, 12, 31, tzinfo=UTC)
#: What the name of a lane begins with that belongs to one biz type whose jobs are pulled. No Celery queue and no lane
#: of the settings begins like that.
PULL_LANE = "@pull:"


class BizType(Authorization):
    """The kind of job: where its jobs go, how often they are tried, and how fast."""

    class Target(models.TextChoices):
        HTTP = "http", _("HTTP callback")
        CELERY = "celery", _("Celery task")
        PULL = "pull", _("pulled over HTTP")

    class Method(models.TextChoices):
        POST = "POST", "POST"
        PUT = "PUT", "PUT"
        PATCH = "PATCH", "PATCH"

    class Backoff(models.TextChoices):
        FIXED = "fixed", _("fixed")
        LINEAR = "linear", _("linear")
        EXPONENTIAL = "exponential", _("exponential")
        LIST = "list", _("list of seconds")

    class Guarantee(models.TextChoices):
        AT_LEAST_ONCE = "at_least_once", _("at least once")
        AT_MOST_ONCE = "at_most_once", _("at most once")

    class OneLive(models.TextChoices):
        ANY = "any", _("any number")
        REFUSE = "refuse", _("one: refuse others")
        REPLACE = "replace", _("one: replace it")
        LAST = "last", _("one runs: keep the last beside it")

    class Ordered(models.TextChoices):
        NO = "no", _("no")
        BLOCKS = "dead_blocks", _("yes: a dead one blocks")
        LETS_GO = "dead_lets_go", _("yes: a dead one lets go")

    class WhenLate(models.TextChoices):
        FIRE = "fire", _("fire all the same")
        SKIP = "skip", _("skip")
        DEAD = "dead", _("declare dead")

    tenant = of_tenant()
    code = models.CharField(_("code"), max_length=100, validators=[CODE], help_text=_("What callers name it by."))
    queue_name = optional_text(
        _("queue name"),
        longest=120,
        editable=False,
        help_text=_("Names its timers in Redis, also after a change of the code. Empty: the code does."),
    )
    name = models.CharField(_("name"), max_length=200, blank=True)
    description = models.TextField(_("description"), blank=True)
    enabled = models.BooleanField(
        _("enabled"), default=True, help_text=_("No jobs are taken while it is not, and none fire.")
    )
    paused_until = models.DateTimeField(
        _("paused until"), null=True, blank=True, help_text=_("No jobs fire before; they wait.")
    )
    paused_by = optional_text(_("paused by"), longest=150, editable=False)
    pause_reason = optional_text(_("pause reason"), longest=500, editable=False)
    resumed_at = models.DateTimeField(_("resumed at"), null=True, blank=True, editable=False)
    #: As that of API keys. While it is not empty, nothing of it is changed but what runs.
    moved_to = optional_text(longest=300, editable=False)

    one_live = models.CharField(
        _("live jobs of a biz id"),
        max_length=10,
        choices=OneLive,
        default=OneLive.ANY,
        db_default="any",
        help_text=_("For jobs created from now on."),
    )
    debounce_max_wait = models.DurationField(
        _("longest debounce"), null=True, blank=True, help_text=_("Requests with a debounce key put a job off so long.")
    )

    on_success = optional_text(
        _("after a success"),
        longest=100,
        help_text=_("A biz type's code: a job of it is made when one of these has succeeded."),
    )
    on_dead = optional_text(
        _("after a death"),
        longest=100,
        help_text=_("A biz type's code: a job of it is made when one of these is dead."),
    )
    on_resolved = optional_text(
        _("after an answer"),
        longest=100,
        help_text=_("A biz type's code: a job of it is made when one of these is resolved."),
    )

    target = models.CharField(_("target"), max_length=10, choices=Target, default=Target.HTTP)
    method = models.CharField(_("method"), max_length=5, choices=Method, default=Method.POST)
    url = marked(
        Secrecy.PARAMETERS,
        models.CharField(
            _("URL"), max_length=2000, blank=True, help_text=_("http:// or https://, where callbacks go.")
        ),
    )
    url_hosts = optional_text(
        _("hosts of jobs"),
        longest=2000,
        help_text=_("Where a job may lead by a URL of its own: hosts with commas between them. Empty: nowhere."),
    )
    headers = marked(
        Secrecy.SECRET,
        models.JSONField(
            _("headers"), default=dict, blank=True, help_text=_("Extra headers, a JSON object of strings.")
        ),
    )
    task_name = models.CharField(_("task name"), max_length=250, blank=True, help_text=_("The Celery task to run."))
    task_queue = models.CharField(
        _("task queue"), max_length=200, blank=True, help_text=_("Its queue; empty for the task's own.")
    )
    declared = models.JSONField(
        _("declared"),
        null=True,
        blank=True,
        editable=False,
        help_text=_("What the project's code says of its task: its name, its queue, its attempts."),
    )
    timeout_seconds = models.FloatField(
        _("timeout seconds"), default=10.0, validators=[MinValueValidator(0.1), MaxValueValidator(600)]
    )

    max_attempts = models.PositiveIntegerField(
        _("max attempts"), default=16, validators=[MinValueValidator(1), MaxValueValidator(1000)]
    )
    max_age = models.DurationField(
        _("max age"), null=True, blank=True, help_text=_("No attempt begins later after the due time.")
    )
    backoff = models.CharField(_("backoff"), max_length=12, choices=Backoff, default=Backoff.EXPONENTIAL)
    backoff_min_seconds = models.FloatField(_("backoff min seconds"), default=10.0, validators=[MinValueValidator(0)])
    backoff_max_seconds = models.FloatField(_("backoff max seconds"), default=3600.0, validators=[MinValueValidator(0)])
    backoff_factor = models.FloatField(
        _("backoff factor"), default=2.0, validators=[MinValueValidator(1), MaxValueValidator(10)]
    )
    backoff_max_doublings = models.PositiveSmallIntegerField(
        _("backoff max doublings"), null=True, blank=True, validators=[MaxValueValidator(32)]
    )
    backoff_list = models.JSONField(
        _("backoff list"), default=list, blank=True, help_text=_("Seconds before each retry; the last repeats.")
    )
    jitter = models.FloatField(
        _("jitter"),
        default=0.1,
        validators=[MinValueValidator(0), MaxValueValidator(1)],
        help_text=_("Up to this share is added to each backoff."),
    )
    permanent_status_codes = models.JSONField(
        _("permanent status codes"), default=list, blank=True, help_text=_("Never retried, beside 410.")
    )

    insert_rate = models.FloatField(_("insert rate"), null=True, blank=True, validators=[MinValueValidator(0.001)])
    insert_burst = models.PositiveIntegerField(_("insert burst"), default=100, validators=[MinValueValidator(1)])
    delivery_rate = models.FloatField(_("delivery rate"), null=True, blank=True, validators=[MinValueValidator(0.001)])
    delivery_burst = models.PositiveIntegerField(_("delivery burst"), default=1, validators=[MinValueValidator(1)])
    max_in_flight = models.PositiveIntegerField(
        _("max in flight"), null=True, blank=True, validators=[MinValueValidator(1)]
    )
    key_rate = models.FloatField(_("rate per flow key"), null=True, blank=True, validators=[MinValueValidator(0.001)])
    key_burst = models.PositiveIntegerField(
        _("burst per flow key"), default=1, db_default=1, validators=[MinValueValidator(1)]
    )
    key_max_in_flight = models.PositiveIntegerField(
        _("max in flight per flow key"), null=True, blank=True, validators=[MinValueValidator(1)]
    )
    ordered = models.CharField(
        _("in order per flow key"),
        max_length=12,
        choices=Ordered,
        default=Ordered.NO,
        db_default="no",
        help_text=_("For jobs created from now on."),
    )
    weight = models.PositiveSmallIntegerField(
        _("weight"), default=1, validators=[MinValueValidator(1), MaxValueValidator(1000)]
    )
    priority = models.PositiveSmallIntegerField(
        _("priority"), default=5, validators=[MaxValueValidator(9)], help_text=_("0 goes first, 9 last.")
    )

    encrypted = models.BooleanField(
        _("encrypted"),
        default=False,
        db_default=False,
        help_text=_("What its jobs carry, and what is answered and said about them, is encrypted in the database."),
    )
    guarantee = models.CharField(_("guarantee"), max_length=15, choices=Guarantee, default=Guarantee.AT_LEAST_ONCE)
    max_lateness = models.DurationField(
        _("max lateness"), null=True, blank=True, help_text=_("Judged before the first attempt only.")
    )
    when_late = models.CharField(_("when late"), max_length=5, choices=WhenLate, default=WhenLate.FIRE)
    retention = models.DurationField(
        _("retention"),
        null=True,
        blank=True,
        default=timedelta(days=30),
        help_text=_("Finished jobs are kept this long; empty: always."),
    )

    signing_secret_sealed = marked(Secrecy.SECRET, models.TextField(_("signing secret"), blank=True, editable=False))
    signing_secret = SealedText("signing_secret_sealed")
    previous_signing_secret_sealed = marked(
        Secrecy.SECRET, models.TextField(_("previous signing secret"), blank=True, editable=False)
    )
    previous_signing_secret = SealedText("previous_signing_secret_sealed")
    previous_secret_until = models.DateTimeField(_("previous secret until"), null=True, blank=True, editable=False)

    signing_key_sealed = marked(
        Secrecy.SECRET, models.TextField(_("signing key"), blank=True, default="", db_default="", editable=False)
    )
    signing_key = SealedText("signing_key_sealed")
    public_key = optional_text(_("public key"), longest=60, editable=False)
    previous_signing_key_sealed = marked(
        Secrecy.SECRET,
        models.TextField(_("previous signing key"), blank=True, default="", db_default="", editable=False),
    )
    previous_signing_key = SealedText("previous_signing_key_sealed")
    previous_public_key = optional_text(_("previous public key"), longest=60, editable=False)
    previous_key_until = models.DateTimeField(_("previous key until"), null=True, blank=True, editable=False)

    owner_mail = optional_text(
        _("owner's mail"),
        longest=500,
        help_text=_("Who is told when something is wrong: mail addresses, with commas between them."),
    )
    owner_url = marked(
        Secrecy.HOST,
        optional_text(
            _("owner's webhook"), longest=2000, help_text=_("http:// or https://, where such messages are posted too.")
        ),
    )

    masked_fields = models.JSONField(
        _("masked fields"),
        default=list,
        db_default=[],
        blank=True,
        help_text=_(
            "JSON Pointers into bodies, such as /card/number: receivers get these values, all others get a mask."
        ),
    )

    has_tombstones = LastingFlag(
        _("has tombstones"),
        default=False,
        db_default=False,
        editable=False,
        help_text=_("Business keys of it were resolved; set by the first."),
    )

    lane = models.CharField(_("lane"), max_length=100, default=DEFAULT_LANE, help_text=_("Which workers serve it."))
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)
    revision = RowRevision(_("revision"))

    objects: ClassVar[models.Manager[BizType]] = RevisedRows.as_manager()

    class Meta:
        db_table = "delayhub_biz_type"
        ordering = ["code"]
        verbose_name = _("biz type")
        verbose_name_plural = _("biz types")
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "code"],
                name="delayhub_biz_type_code_once",
                violation_error_message=_("The tenant has a biz type of this code already."),
            ),
            models.UniqueConstraint(
                fields=["queue_name"], condition=~models.Q(queue_name=""), name="delayhub_biz_type_queue_once"
            ),
        ]
        permissions = [
            ("pause_biztype", "Can pause and resume biz types"),
            ("test_biztype", "Can send test callbacks"),
            ("change_biztype_secrets", "Can change the secrets of biz types"),
        ]

    def __str__(self) -> str:
        return self.label

    def save(self, **options: Any) -> None:
        """Saves it, and gives its timers a name in Redis that stays."""
        fields = options.get("update_fields")
        if fields:
            fields = options["update_fields"] = {*fields, "revision"}
        if not self.queue_name:
            self.queue_name = self._new_queue_name(options.get("using") or self._state.db)
        super().save(**options)

    @property
    def label(self) -> str:
        """What people know it by: the code, behind that of its tenant unless that is the default one."""
        return self.code if self.tenant_id == DEFAULT_TENANT else f"{self.tenant.code}/{self.code}"

    @property
    def queue(self) -> str:
        """What names its timers in Redis, its gate, its breaker and its limits. It never changes."""
        return self.queue_name or self.code

    @property
    def is_pulled(self) -> bool:
        """Whether no worker takes its jobs, since pullers claim them over HTTP."""
        return self.target == BizType.Target.PULL

    @property
    def timer_lane(self) -> str:
        """The lane of its timers: the one that workers serve, or one of its own where only pullers claim."""
        return f"{PULL_LANE}{self.queue}" if self.is_pulled else self.lane

    @property
    def is_unsigned(self) -> bool:
        """Whether it has callbacks that its receiver cannot check, since there is neither a secret nor a key."""
        return self.target == BizType.Target.HTTP and not (self.signing_secret_sealed or self.signing_key_sealed)

    @property
    def has_slots(self) -> bool:
        """Whether its jobs hold slots while they run, by a limit of jobs in flight: of all, or of each flow key."""
        return self.max_in_flight is not None or self.key_max_in_flight is not None

    @property
    def has_key_limits(self) -> bool:
        """Whether each flow key has a limit of its own."""
        return self.key_rate is not None or self.key_max_in_flight is not None

    @property
    def is_ordered(self) -> bool:
        """Whether the jobs of each of its flow keys run one after the other."""
        return self.ordered != BizType.Ordered.NO

    @property
    def waits_for_redis(self) -> bool:
        """Whether its jobs wait while Redis is away: what limits them is counted there, or their messages go there.

        Those in order wait too: without timers, all that wait for their turn would be looked through again and again.
        """
        is_limited = self.delivery_rate is not None or self.key_rate is not None or self.has_slots or self.is_ordered
        return is_limited or self.target != BizType.Target.HTTP

    @property
    def is_paused(self) -> bool:
        """Whether its jobs wait, for a time or until somebody resumes it."""
        return self._pause_ends(timezone.now()) is not None

    @property
    def is_closed(self) -> bool:
        """True if none of its jobs begins: it is disabled, or its tenant is being moved to another site, or was."""
        return not self.enabled or bool(self.moved_to)

    def shut_until(self, now: datetime) -> datetime | None:
        """Until when none of its jobs may run, because it is paused or closed; None where they may.

        The claim in ``tasksapp/sql`` has the same rule in SQL; a test compares the two.
        """
        return UNTIL_RESUMED if self.is_closed else self._pause_ends(now)

    def is_shut(self, *, now: datetime) -> bool:
        """True if none of its jobs may run now, because it is paused or closed."""
        return self.shut_until(now) is not None

    def _new_queue_name(self, using: str | None) -> str:
        """The code, which people know, where nothing else has that name in Redis."""
        if self.tenant_id == DEFAULT_TENANT and not BizType.objects.using(using).filter(queue_name=self.code).exists():
            return self.code
        # No code has a tilde.
        return f"{self.code}~{token_hex(4)}"

    def _pause_ends(self, now: datetime) -> datetime | None:
        return self.paused_until if self.paused_until is not None and self.paused_until > now else None
