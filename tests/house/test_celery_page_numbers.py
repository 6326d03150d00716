"""The seconds that pages about Celery promise are those of the code."""

from __future__ import annotations

import re

import pytest

from delayhub.beat.definition import MISSED_AFTER_MS
from delayhub.beat.shared_ticks import LOOK_MS
from delayhub.beat.tended_entries import DESERTED_MS
from delayhub.celery_support import request
from delayhub.celery_support.install import RETRY_SECONDS
from delayhub.celery_support.queue_verbs import MOST_SECONDS
from delayhub.engine.key_holders import SEARCH_SECONDS
from delayhub.engine.occurrences import CLAIM_MS
from delayhub.engine.queue_slots import FRESH_SECONDS
from delayhub.transport.consuming.cluster_consumer import FIRST_SLOT_SECONDS
from delayhub.transport.consuming.lease_keeper import ACK_PATIENCE
from delayhub.transport.consuming.lookout import NODE_SECONDS
from delayhub.transport.options import ANSWER_SECONDS, CONNECT_SECONDS, TransportOptions
from delayhub.transport.waking.bell import TIMEOUT_SECONDS
from tests.repository import ROOT

LEASE = TransportOptions().lease_seconds
_KEY_HOLDER = (ROOT / "delayhub" / "engine" / "lua" / "parts" / "key_holder.lua").read_text()
LOOKED_AT_AGAIN = int(re.findall(r"now \+ (\d+)\)", _KEY_HOLDER)[0]) / 1000
#: What a page says, and the number in the code.
PROMISES = (
    ("broker.md", "come back after their lease, (30) s", LEASE),
    ("broker.md", "lease has run out, after (30) seconds at most", LEASE),
    ("broker.md", r"`lease_seconds` \| (30) ", LEASE),
    ("broker.md", "`socket_timeout` is (3) seconds", ANSWER_SECONDS),
    ("broker.md", "`socket_connect_timeout` (5) unless", CONNECT_SECONDS),
    ("broker.md", "returns after about (3) seconds", ANSWER_SECONDS),
    ("broker.md", "took less than (0.1) s shares", request.QUICK_SECONDS),
    ("broker.md", "up to (0.1) s", ACK_PATIENCE),
    ("broker.md", "comes again after (a minute)", request.LATER_SECONDS),
    ("many.md", "comes again after (a minute)", request.LATER_SECONDS),
    ("options.md", r"`socket_timeout` \| [^|]* \| (3) seconds", ANSWER_SECONDS),
    ("options.md", r"`socket_connect_timeout` \| [^|]* \| (5) seconds", CONNECT_SECONDS),
    ("options.md", "at most (2) seconds apart", RETRY_SECONDS),
    ("cluster.md", "Publishers learn of it within (5) seconds", FRESH_SECONDS),
    ("cluster.md", "workers learn of it within (8) seconds for each queue", FIRST_SLOT_SECONDS),
    ("cluster.md", "within the first (5) seconds", FRESH_SECONDS),
    ("cluster.md", "masters, and (two) seconds at least", NODE_SECONDS),
    ("managed_redis.md", "at most (30) seconds at a time", TIMEOUT_SECONDS),
    ("looking.md", "It ends after (two) seconds or 50 hits", SEARCH_SECONDS),
    ("looking.md", "10 000 messages or (two) seconds at a time", MOST_SECONDS),
    ("schedules.md", "gets a token for (a second)", CLAIM_MS / 1000),
    ("schedules.md", "Late by up to (ten) seconds is late", MISSED_AFTER_MS / 1000),
    ("schedules.md", "has tended it for (30) seconds", DESERTED_MS / 1000),
    ("schedules.md", "see it within (five) seconds", LOOK_MS / 1000),
    ("unique_tasks.md", "a time in the next (five minutes)", LOOKED_AT_AGAIN),
)
WORDS = {"a second": 1, "two": 2, "five": 5, "ten": 10, "a minute": 60, "five minutes": 300}


@pytest.mark.parametrize(("page", "promise", "seconds"), PROMISES)
def test_a_page_promises_what_the_code_does(page: str, promise: str, seconds: float) -> None:
    text = " ".join((ROOT / "docs" / "celery" / page).read_text().split())

    found = re.search(promise.replace(".", r"\.") if "\\" not in promise else promise, text)
    assert found, f"{page} does not say: {promise}"
    said = found[1]
    assert float(WORDS.get(said, 0) or said) == seconds
