"""BizType: the kind of a job, with its target, retry policy, limits and secrets."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.utils import timezone

from tasksapp.conf import DEFAULT_LANE
from tasksapp.models.encrypted_text import SealedText

#: ``paused_until`` of a biz type that waits for a person to resume it.
UNTIL_RESUMED = datetime(9999, 12, 31, tzinfo=UTC)

#: What a biz type's code is made of; it is also the name of its timer queue.
CODE = RegexValidator(r"\A[a-z0-9][a-z0-9._-]{0,99}\Z", "Use a-z, 0-9, '.', '_' and '-'; begin with a letter or digit.")


class BizType(models.Model):
    """The kind of job: where its jobs go, how often they are tried, and how fast."""

    class Target(models.TextChoices):
        HTTP = "http", "HTTP callback"
        CELERY = "celery", "Celery task"

    class Method(models.TextChoices):
        POST = "POST", "POST"
        PUT = "PUT", "PUT"
        PATCH = "PATCH", "PATCH"

    class Auth(models.TextChoices):
        NONE = "none", "none"
        BASIC = "basic", "Basic (user:password)"
        BEARER = "bearer", "Bearer (token)"

    class Backoff(models.TextChoices):
        FIXED = "fixed", "fixed"
        LINEAR = "linear", "linear"
        EXPONENTIAL = "exponential", "exponential"
        LIST = "list", "list of seconds"

    class Guarantee(models.TextChoices):
        AT_LEAST_ONCE = "at_least_once", "at least once"
        AT_MOST_ONCE = "at_most_once", "at most once"

    class WhenLate(models.TextChoices):
        FIRE = "fire", "fire all the same"
        SKIP = "skip", "skip"
        DEAD = "dead", "declare dead"

    code = models.CharField(max_length=100, unique=True, validators=[CODE], help_text="What callers name it by.")
    name = models.CharField(max_length=200, blank=True)
    description = models.TextField(blank=True)
    enabled = models.BooleanField(default=True, help_text="No jobs are taken while it is not, and none fire.")
    paused_until = models.DateTimeField(null=True, blank=True, help_text="No jobs fire before; they wait.")
    paused_by = models.CharField(max_length=150, blank=True, default="", db_default="", editable=False)
    pause_reason = models.CharField(max_length=500, blank=True, default="", db_default="", editable=False)
    resumed_at = models.DateTimeField(null=True, blank=True, editable=False)

    target = models.CharField(max_length=10, choices=Target, default=Target.HTTP)
    method = models.CharField(max_length=5, choices=Method, default=Method.POST)
    url = models.CharField(max_length=2000, blank=True, help_text="http:// or https://, where callbacks go.")
    headers = models.JSONField(default=dict, blank=True, help_text="Extra headers, a JSON object of strings.")
    auth = models.CharField(max_length=10, choices=Auth, default=Auth.NONE)
    auth_secret_sealed = models.TextField(blank=True, editable=False)
    auth_secret = SealedText("auth_secret_sealed")
    task_name = models.CharField(max_length=250, blank=True, help_text="The Celery task to run.")
    task_queue = models.CharField(max_length=200, blank=True, help_text="Its queue; empty for the task's own.")
    timeout_seconds = models.FloatField(default=10.0, validators=[MinValueValidator(0.1), MaxValueValidator(600)])

    max_attempts = models.PositiveIntegerField(default=16, validators=[MinValueValidator(1), MaxValueValidator(1000)])
    max_age = models.DurationField(null=True, blank=True, help_text="No attempt begins later after the due time.")
    backoff = models.CharField(max_length=12, choices=Backoff, default=Backoff.EXPONENTIAL)
    backoff_min_seconds = models.FloatField(default=10.0, validators=[MinValueValidator(0)])
    backoff_max_seconds = models.FloatField(default=3600.0, validators=[MinValueValidator(0)])
    backoff_factor = models.FloatField(default=2.0, validators=[MinValueValidator(1), MaxValueValidator(10)])
    backoff_max_doublings = models.PositiveSmallIntegerField(null=True, blank=True, validators=[MaxValueValidator(32)])
    backoff_list = models.JSONField(default=list, blank=True, help_text="Seconds before each retry; the last repeats.")
    jitter = models.FloatField(
        default=0.1,
        validators=[MinValueValidator(0), MaxValueValidator(1)],
        help_text="Up to this share is added to each backoff.",
    )
    permanent_status_codes = models.JSONField(default=list, blank=True, help_text="Never retried, beside 410.")

    insert_rate = models.FloatField(null=True, blank=True, validators=[MinValueValidator(0.001)])
    insert_burst = models.PositiveIntegerField(default=100, validators=[MinValueValidator(1)])
    delivery_rate = models.FloatField(null=True, blank=True, validators=[MinValueValidator(0.001)])
    delivery_burst = models.PositiveIntegerField(default=1, validators=[MinValueValidator(1)])
    max_in_flight = models.PositiveIntegerField(null=True, blank=True, validators=[MinValueValidator(1)])
    weight = models.PositiveSmallIntegerField(default=1, validators=[MinValueValidator(1), MaxValueValidator(1000)])
    priority = models.PositiveSmallIntegerField(
        default=5, validators=[MaxValueValidator(9)], help_text="0 goes first, 9 last."
    )

    guarantee = models.CharField(max_length=15, choices=Guarantee, default=Guarantee.AT_LEAST_ONCE)
    max_lateness = models.DurationField(null=True, blank=True, help_text="Judged before the first attempt only.")
    when_late = models.CharField(max_length=5, choices=WhenLate, default=WhenLate.FIRE)
    retention = models.DurationField(
        null=True, blank=True, default=timedelta(days=30), help_text="Finished jobs are kept this long; empty: always."
    )

    signing_secret_sealed = models.TextField(blank=True, editable=False)
    signing_secret = SealedText("signing_secret_sealed")
    previous_signing_secret_sealed = models.TextField(blank=True, editable=False)
    previous_signing_secret = SealedText("previous_signing_secret_sealed")
    previous_secret_until = models.DateTimeField(null=True, blank=True, editable=False)

    lane = models.CharField(max_length=100, default=DEFAULT_LANE, help_text="Which workers serve it.")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        db_table = "delayhub_biz_type"
        ordering = ["code"]
        verbose_name = "biz type"
        permissions = [
            ("pause_biztype", "Can pause and resume biz types"),
            ("test_biztype", "Can send test callbacks"),
            ("change_biztype_secrets", "Can change the secrets of biz types"),
        ]

    def __str__(self) -> str:
        return self.code

    @property
    def is_unsigned(self) -> bool:
        """Whether it has callbacks that its receiver cannot check, since there is no signing secret."""
        return self.target == BizType.Target.HTTP and not self.signing_secret_sealed

    @property
    def is_paused(self) -> bool:
        """Whether its jobs wait, for a time or until somebody resumes it."""
        return self._pause_ends(timezone.now()) is not None

    def shut_until(self, now: datetime) -> datetime | None:
        """Until when none of its jobs may run, because it is paused or disabled; None where they may.

        The claim in ``tasksapp/sql`` has the same rule in SQL; a test compares the two.
        """
        return self._pause_ends(now) if self.enabled else UNTIL_RESUMED

    def is_shut(self, *, now: datetime) -> bool:
        """Whether none of its jobs may run now, because it is paused or disabled."""
        return self.shut_until(now) is not None

    def _pause_ends(self, now: datetime) -> datetime | None:
        return self.paused_until if self.paused_until is not None and self.paused_until > now else None
