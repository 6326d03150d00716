"""What the form of a biz type says beside its fields: their names, their units, and what each of them does."""

from __future__ import annotations

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

#: Where that is not the name of the column.
LABELS = {
    "headers": _("Extra headers"),
    "auth": _("Authorization"),
    "token_url": _("Token server"),
    "client_id": _("Client id"),
    "token_fields": _("Asked beside it"),
    "timeout_seconds": _("Timeout"),
    "task_name": _("Task"),
    "task_queue": _("Queue"),
    "max_attempts": _("Give up after"),
    "max_age": _("Give up by age"),
    "backoff": _("The wait grows"),
    "backoff_min_seconds": _("First wait"),
    "backoff_max_seconds": _("Longest wait"),
    "backoff_factor": _("Each wait is"),
    "backoff_max_doublings": _("Grows so for"),
    "backoff_list": _("Waits"),
    "permanent_status_codes": _("Never tried again"),
    "insert_rate": _("New jobs"),
    "insert_burst": _("New jobs at once"),
    "delivery_burst": _("Delivered at once"),
    "max_in_flight": _("In flight"),
    "key_rate": _("Delivery rate of each key"),
    "key_burst": _("Delivered at once of each key"),
    "key_max_in_flight": _("In flight of each key"),
    "max_lateness": _("Late after"),
    "masked_fields": _("Masked fields"),
    "retention": _("Keep finished jobs for"),
    "encrypted": _("Encrypted at rest"),
    "owner_mail": _("Mail addresses"),
    "owner_url": _("Webhook"),
}

_SPAN = _("As days and hours:minutes:seconds: 1 06:00:00 is 30 hours, 00:05:00 is 5 minutes.")

HELP = {
    "tenant": _("Whose it is. Its keys see it, those of others do not. It cannot be changed later."),
    "code": _("What callers name it by, such as order.close. After a change, callers must use the new one."),
    "name": _("For people: lists show it beside the code."),
    "description": _("For people: what these jobs are, and whom to ask."),
    "enabled": _("While it is off, new jobs are refused and none of the waiting ones goes out."),
    "target": _("What happens when a job is due."),
    "url": _("Where callbacks go: http:// or https://."),
    "url_hosts": _(
        "A job may bring a URL of its own that leads to one of these: hooks.example.com, *.example.net, with commas"
        " between them. Empty: no job may."
    ),
    "headers": _('Sent with each callback: {"X-Source": "shop"}. Keys and tokens belong under Secrets.'),
    "masked_fields": _(
        'A list of JSON Pointers into bodies: ["/card/number", "/items/*/name"]. Receivers get these values; all others'
        " get a mask, also of what receivers repeat of them."
    ),
    "auth": _("How the receiver knows that it is you, beside the signature."),
    "ca_bundle": _(
        "Certificates in PEM of those who may vouch for the receiver. Empty: those that the system trusts. The client"
        " certificate is set under Secrets."
    ),
    "token_url": _("Where access tokens are asked for: https://login.example.com/oauth2/token."),
    "client_id": _("Who asks, as the token server knows it. Its secret is the credentials."),
    "token_fields": _('Fields of the request: {"scope": "orders"}. Some servers want an "audience" or a "resource".'),
    "timeout_seconds": _(
        "A callback without a whole answer by then has failed. Of jobs that are pulled: how long a claim lasts, where"
        " its puller says nothing else."
    ),
    "task_name": _("The name of the Celery task that runs, such as shop.tasks.close_order."),
    "task_queue": _("Empty for the task's own queue. A queue= of @delayed_task comes before this one."),
    "max_attempts": _("The first attempt counts. After the last one has failed, the job is dead."),
    "max_age": format_lazy(
        "{} {}", _("No attempt begins later than so long after the due time; empty for no such end."), _SPAN
    ),
    "backoff": _("How the wait before the next attempt grows."),
    "backoff_min_seconds": _("Before the second attempt. A linear wait grows by it each time."),
    "backoff_max_seconds": _("No wait is longer, before jitter."),
    "backoff_factor": _("So many times the one before. Only where the wait grows exponentially."),
    "backoff_max_doublings": _("After that it grows by its last step instead. Empty for no end."),
    "backoff_list": _("The waits in seconds, one for each retry: [10, 60, 600]. The last one repeats."),
    "jitter": _("Up to this share is added to each wait by chance, so that failed jobs do not come back all at once."),
    "permanent_status_codes": _("Answers after which the job is dead at once: [404, 422]. 410 always is one."),
    "insert_rate": _("New jobs beyond this are refused with 429. Empty for no limit."),
    "insert_burst": _("So many may come at once, before the rate counts."),
    "delivery_rate": _("The receiver gets no more; jobs beyond it wait. Empty for no limit."),
    "delivery_burst": _(
        "So many may go out at once, before the rate counts. Busy workers catch up on a tenth of a second at most."
    ),
    "max_in_flight": _("So many callbacks may wait for their answers at the same time. Empty for no limit."),
    "one_live": _("What a new job meets whose biz id has a live one. It counts for jobs created from now on."),
    "on_success": _("The code of a biz type: a job of it is made when one of these has succeeded. Empty for none."),
    "on_dead": _("The code of a biz type: a job of it is made when one of these is dead. Empty for none."),
    "on_resolved": _(
        "The code of a biz type: a job of it is made when one of these was answered before its time was over. Empty:"
        " they wait for no answer."
    ),
    "debounce_max_wait": format_lazy(
        "{} {}",
        _("Requests with a debounce key put a job off so long, unless they say otherwise. Empty: ten times the delay."),
        _SPAN,
    ),
    "key_rate": _("The same for the jobs of one flow key, such as one customer. Empty for no limit."),
    "key_burst": _("So many of one flow key may go out at once, before its rate counts."),
    "key_max_in_flight": _("So many callbacks of one flow key may wait for their answers at once. Empty for no limit."),
    "ordered": _(
        "Jobs of one flow key run one after the other, by due time; a dead one blocks those behind it, or lets them go."
        " It counts for jobs created from now on."
    ),
    "weight": _("Its share when biz types compete for the workers: 2 gets twice as much as 1."),
    "priority": _(
        "Of its own due jobs, 0 goes first and 9 last; each step counts as a minute of delay. A job may have its own."
    ),
    "guarantee": _("At least once: a job may arrive twice after a crash. At most once: it may not arrive at all."),
    "max_lateness": format_lazy(
        "{} {}", _("A job is late if its first attempt begins later than this; empty for never."), _SPAN
    ),
    "when_late": _("What becomes of a late job."),
    "retention": format_lazy("{} {}", _("Then they are deleted; empty for always."), _SPAN),
    "encrypted": _(
        "What its jobs carry and what is answered and said about them is encrypted in the database, by ENCRYPTION_KEYS."
        " It counts for jobs created from now on; manage.py reseal does the others. Nothing can be found in bodies."
    ),
    "lane": _("Which workers serve it: those that have this lane in their -Q."),
    "owner_mail": _("Alerts go to these addresses, with commas between them. Empty: to the owner of the site."),
    "owner_url": _(
        "Alerts are posted there too, signed: https://…; or to a chat or pager: slack+https://…, teams+https://…,"
        " pagerduty+https://KEY@…."
    ),
}

#: By field, its unit and the step of its arrows.
UNITS = {
    "timeout_seconds": (_("seconds"), "any"),
    "max_attempts": (_("attempts"), "1"),
    "backoff_min_seconds": (_("seconds"), "any"),
    "backoff_max_seconds": (_("seconds"), "any"),
    "backoff_factor": (_("times the one before"), "any"),
    "backoff_max_doublings": (_("retries"), "1"),
    "jitter": (_("of the wait: 0.1 is 10 %"), "any"),
    "insert_rate": (_("jobs per second"), "any"),
    "insert_burst": (_("jobs"), "1"),
    "delivery_rate": (_("jobs per second"), "any"),
    "delivery_burst": (_("jobs"), "1"),
    "max_in_flight": (_("callbacks"), "1"),
    "key_rate": (_("jobs per second"), "any"),
    "key_burst": (_("jobs"), "1"),
    "key_max_in_flight": (_("callbacks"), "1"),
    "weight": (_("shares"), "1"),
    "priority": (_("0 to 9"), "1"),
}
