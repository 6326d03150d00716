"""The questions that people ask: each is on the page of questions, leads to a place, and that place answers it.

They are from issues of Celery and kombu, and from what people search for and ask of such tools.
"""

from __future__ import annotations

import re

import pytest

from tests.repository import ROOT

DOCS = ROOT / "docs"
LISTED = dict(re.findall(r"^\| ([^|]+\?) \| \[.*\]\((\S+)\) \|$", (DOCS / "questions.md").read_text(), re.MULTILINE))
#: Each question, where it is answered, and what stands in that section.
ANSWERED = {
    "Why does a task with a countdown run several times?": (
        "move/issues.md#a-task-with-a-countdown-runs-again",
        "visibility",
    ),
    "How long may `eta` or `countdown` be?": ("celery/broker.md#what-differs-from-redis", "Delays"),
    "Is a waiting task lost when its worker is killed?": ("celery/broker.md#what-you-get", "never left Redis"),
    "Can I list the tasks that wait?": ("celery/looking.md", "scheduled"),
    "How do I cancel a scheduled task before it runs?": ("celery/looking.md", "revoke"),
    "Can I move a waiting task to another time?": ("celery/looking.md", "reschedule"),
    "Why does the memory of a worker grow with tasks that wait?": ("celery/broker.md#what-you-get", "450 MB"),
    "My task runs for longer than the visibility timeout. Does it run twice?": (
        "celery/broker.md#how-long-a-task-may-run",
        "As long as it likes",
    ),
    "Why do tasks of high priority wait behind those of low priority?": (
        "celery/broker.md#what-differs-from-redis",
        "priorities",
    ),
    "Which settings keep Celery from losing a task?": ("celery/broker.md#settings-that-lose-no-task", "task_acks_late"),
    "What becomes of a task that kills its worker each time?": (
        "celery/broker.md#what-differs-from-redis",
        "16 strikes",
    ),
    "Why does a worker stop consuming after Redis was away?": (
        "move/issues.md#a-worker-stops-consuming-after-a-reconnect",
        "reconnect",
    ),
    "How do I limit a task over all workers, not for each of them?": ("celery/limits.md", "over all workers"),
    "How do I let only two of a task run at once?": ("celery/limits.md#how-many-run-at-once", "max_in_flight"),
    "How do I limit what one customer may use?": (
        "celery/limits.md#flow-keys-limits-for-each-customer",
        "key_rate_limit",
    ),
    "How do I keep the same task from being queued twice?": ("celery/unique_tasks.md", "unique=True"),
    "May I run two beats?": ("celery/schedules.md", "beat"),
    "Can periodic tasks stand in the database?": ("celery/schedules.md", "DatabaseScheduler"),
    "How do I publish thousands of tasks quickly?": ("celery/many.md#publishing-many-tasks", "publish_many"),
    "How much memory does a waiting task take?": ("celery/many.md#compact-messages", "1 101 bytes plain"),
    "How do I move from `redis://` without losing a task?": ("celery/moving.md#moving-over", "import-redis"),
    "How do I go back?": ("celery/moving.md#moving-back", "export-redis"),
    "Can a Redis Cluster be the broker?": ("celery/cluster.md", "delayhub-cluster"),
    "Does it run on ElastiCache, MemoryDB, Upstash, Azure, Dragonfly?": (
        "celery/managed_redis.md#services",
        "ElastiCache",
    ),
    "How do I use TLS or Sentinel?": ("celery/broker.md#addresses", "delayhubs://"),
    "Which access rules does the broker's user need?": ("celery/servers.md#access-rules-acl", "ACL SETUSER"),
    "How do I scale workers by the length of a queue (KEDA)?": (
        "celery/autoscaling.md#autoscalers-and-dashboards",
        "KEDA",
    ),
    "Does Flower work?": ("celery/autoscaling.md#flower", "flowerconfig.py"),
    "How do I close an order that is not paid within 30 minutes?": ("start/django.md", "place_order"),
    "How does a job wait for a person's answer, with a time-out?": ("jobs/answers.md", "on_resolved"),
    "How does a person approve something from a phone, without an account?": (
        "jobs/answers.md#by-a-link-from-a-phone",
        "make_link",
    ),
    "The order was paid. How do I call off its jobs?": ("jobs/resolve.md", "resolve"),
    "How do I call a webhook later, from any language?": ("start/rest.md", "curl"),
    "Is the job there if my transaction is rolled back?": ("jobs/jobs.md#from-python", "roll it back"),
    "How do I send one reminder for many changes (debounce)?": ("jobs/jobs.md#from-python", "debounce_key"),
    "How does a receiver know that a callback is genuine?": ("jobs/receivers.md#in-django", "Verifier"),
    "How does a receiver do its work only once?": ("jobs/receivers.md#what-once-promises", "once"),
    "What happens when the receiver is down?": ("jobs/retries.md#when-attempts-fail", "breaker"),
    "How do I run a job every day at nine, also when clocks change?": ("jobs/series.md#when-clocks-change", "clock"),
    "One customer has ten thousand jobs. Do the others wait?": ("jobs/flow_keys.md", "flow key"),
    "My program is behind a firewall. Can it fetch its jobs?": ("jobs/pull.md", "claims"),
    "How do I send XML, a form or bytes?": ("jobs/requests.md#a-body-that-is-no-json", "application/xml"),
    "How do I hear that a job is dead?": (
        "jobs/follow_ups.md#follow-ups-what-happens-after-a-success-or-a-death",
        "on_dead",
    ),
    "How do I test code that creates delayed jobs?": ("jobs/testing.md#jobs-in-a-testcase", "run_due_jobs"),
    "Is there a dead-letter queue?": ("run/admin.md#issues-what-is-dead-and-what-to-do", "Redrive"),
    "How do I try thousands of failed jobs again without a flood?": ("run/operations.md#how-to", "spread_seconds"),
    "What happens when Redis is down, or loses its data?": (
        "explanation/guarantees.md#while-redis-is-away",
        "looks into the database",
    ),
    "Is it exactly once?": ("explanation/guarantees.md#at-least-once-at-most-once", "At least once"),
    "Is anything delivered at this moment?": ("run/health.md", "no worker"),
    "An alert came. What do I do?": ("run/runbook.md#alerts", "look first"),
    "How do I upgrade without downtime?": ("run/deploying.md#upgrades-without-downtime", "changelog"),
    "How large must the machines be?": ("run/deploying.md#how-large", "|"),
    "How do I watch it with Prometheus and Grafana?": ("reference/metrics.md#how-to-scrape", "prometheus.yml"),
    "What does an error of the API mean?": ("reference/problems.md", "too_many_wrong_keys"),
    "Which versions of Celery, Django, Redis and Python does it run on?": ("reference/versions.md", "Python"),
    "How does it compare with RabbitMQ and its delayed delivery?": (
        "explanation/comparison.md#beside-rabbitmq-and-its-native-delayed-delivery",
        "28",
    ),
    "How does it compare with other transports?": ("explanation/comparison.md#where-others-are-better", "potatoq"),
    "Do chains, groups and chords work with a countdown?": ("celery/broker.md", "chains, groups, chords"),
    "My task with an eta runs at the wrong hour. Which clock and which zone count?": (
        "explanation/time.md",
        "An `eta` without one",
    ),
    "What becomes of running and fetched tasks when a deploy stops a worker?": (
        "celery/broker.md#when-a-worker-is-stopped",
        "SIGTERM",
    ),
    "Are tasks of one queue run in their order?": (
        "celery/broker.md#what-differs-from-redis",
        "Equal etas have no order",
    ),
    "How do I empty a queue?": ("celery/looking.md", "purge"),
    "Can a queue have a greatest length?": ("celery/broker.md#what-differs-from-redis", "greatest length"),
    "I use RedBeat. What becomes of my schedule?": ("celery/schedules.md", "From RedBeat"),
    "May the broker share a Redis with a cache, or with another project?": (
        "celery/servers.md#one-redis-for-several-things",
        "global_keyprefix",
    ),
    "What happens when Redis is full, or evicts keys?": ("celery/broker.md#what-differs-from-redis", "A full Redis"),
    "Which result backend may I use?": ("celery/broker.md", "You choose the result backend"),
    "Does it run with gevent, eventlet and threads?": ("celery/broker.md", "prefork, threads, solo, gevent, eventlet"),
    "Does it run on macOS or Windows?": ("reference/versions.md", "macOS and Windows"),
    "Do I need `transaction.on_commit`?": ("jobs/jobs.md#from-python", "transaction.on_commit"),
    "Which answers of a receiver are tried again?": ("jobs/receivers.md#what-you-may-answer", "410"),
    "Is the id the same on every attempt?": ("jobs/receivers.md#what-comes-in", "the same on every attempt"),
    "Do callbacks come in order?": ("jobs/retries.md#which-due-job-goes-first", "Jobs do not end in an order"),
    "How long may a receiver take to answer?": (
        "jobs/receivers.md#what-you-may-answer",
        "timeout (10 s)",
    ),
    "Can bodies be encrypted in the database?": ("run/encrypted.md", "Encrypted at rest"),
    "How do I change a signing secret without losing a callback?": (
        "run/security.md#keys-and-secrets",
        "both sign for a day",
    ),
    "May a caller make the site call my internal network?": ("run/security.md#what-may-be-called", "private networks"),
    "I come from Cloud Tasks, QStash or lmstfy. What is called what?": ("move/services.md", "maxRetryDuration"),
}


def test_the_front_page_leads_to_the_questions_and_they_are_forty_at_least() -> None:
    assert "(questions.md)" in (DOCS / "index.md").read_text()
    assert {question: place for question, (place, _) in ANSWERED.items()} == LISTED
    assert len(LISTED) >= 40


@pytest.mark.parametrize("question", ANSWERED)
def test_a_question_is_answered_where_it_leads(question: str) -> None:
    place, word = ANSWERED[question]

    assert word in section_at(place)


def section_at(place: str) -> str:
    """The text below a heading, up to the next one of its level; without an anchor, the whole page."""
    name, _, anchor = place.partition("#")
    text = (DOCS / name).read_text()
    if not anchor:
        return text
    # a comment in a block is no heading
    text = re.sub(r"^```.*?^```$", lambda block: block[0].replace("\n#", "\n #"), text, flags=re.MULTILINE | re.DOTALL)
    found = [heading for heading in re.finditer(r"^(#+) (.*)$", text, re.MULTILINE) if slug(heading[2]) == anchor]
    assert len(found) == 1, place
    rest = text[found[0].end() :]
    end = re.search(rf"^#{{1,{len(found[0][1])}}} ", rest, re.MULTILINE)
    return rest[: end.start()] if end else rest


def slug(heading: str) -> str:
    """The anchor that the site gives a heading."""
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())
