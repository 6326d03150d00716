"""Several beats of one schedule: each occurrence is published once, whatever becomes of a beat.

Their turns are those of SharedTicks, TendedEntries shows what each does about the others.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

import pytest
import redis
from celery import Celery
from celery.schedules import crontab
from celery.signals import after_task_publish, before_task_publish
from kombu import Exchange, Queue

from delayhub.beat import Scheduler
from delayhub.beat.shared_ticks import MISSED_HEADER
from delayhub.engine import DelayQueue
from delayhub.engine.occurrences import EntryLanes, OccurrenceBook
from delayhub.errors import OptionError
from delayhub.testing.movable_clock import MovableClock
from delayhub.transport import occurrence as occurrence_module
from delayhub.transport.occurrence import OCCURRENCE_HEADER
from tests.waiting import wait_until

Apps = Callable[..., Celery]
Beats = Callable[..., Scheduler]
Published = Callable[..., list[dict[str, Any]]]

HOURLY = {"close": {"task": "shop.close", "schedule": 3600.0, "args": ["order-1"]}}


def turns(*beats: Scheduler, rounds: int = 6) -> None:
    """Each beat learns where entries stand, as it does every five seconds, and does what is due at this moment."""
    for beat in beats:
        beat._look_again_ms = 0
    for _ in range(rounds):
        for beat in beats:
            beat.tick()


def count(client: redis.Redis, name: str = "shop/close") -> int:
    """How many occurrences of an entry were published."""
    return OccurrenceBook(client, "celery").all()[name].count


def nominal(message: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(message["headers"][OCCURRENCE_HEADER])


def test_three_beats_publish_each_occurrence_once_and_losers_send_no_signals(
    apps: Apps, beats: Beats, clock: MovableClock, published: Published
) -> None:
    three = [beats(apps(beat_schedule=HOURLY)) for _ in range(3)]
    turns(*three)
    signals: list[str] = []

    def note(**options: Any) -> None:
        signals.append(options["headers"]["id"])

    before_task_publish.connect(note)
    after_task_publish.connect(note)
    try:
        for number in range(12):
            clock.advance(hours=1)
            random.Random(number).shuffle(three)
            turns(*three, rounds=2)
    finally:
        before_task_publish.disconnect(note)
        after_task_publish.disconnect(note)

    messages = published()
    assert len(messages) == 12
    assert len(signals) == 24
    assert len({message["headers"]["id"] for message in messages}) == 12
    assert all(message["headers"]["task"] == "shop.close" for message in messages)


def test_an_occurrence_whose_unique_task_still_runs_is_left_out_and_the_schedule_moves_on(
    apps: Apps, beats: Beats, clock: MovableClock, published: Published, redis_client: redis.Redis
) -> None:
    app = apps(beat_schedule=HOURLY)

    @app.task(name="shop.close", unique=True, shared=False)
    def close(order: str) -> None:
        del order

    beat, queue = beats(app), DelayQueue(redis_client, "celery")
    turns(beat)
    clock.advance(hours=1)
    turns(beat)
    claim = queue.claim(lease_ms=86_400_000)
    (running,) = claim.entries

    clock.advance(hours=1)
    turns(beat)
    assert (count(redis_client), published()) == (2, [])

    queue.acknowledge([queue.lease(running.id, running.token)])
    clock.advance(hours=1)
    turns(beat)
    (message,) = published()
    assert (count(redis_client), message["headers"]["id"] != running.id) == (3, True)


def test_a_beat_that_is_killed_after_its_claim_is_followed_by_another_after_a_second(
    apps: Apps,
    beats: Beats,
    clock: MovableClock,
    published: Published,
    redis_client: redis.Redis,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    killed, other = (beats(apps(beat_schedule=HOURLY)) for _ in range(2))
    turns(killed, other)
    clock.advance(hours=1)

    def die(*_: Any, **__: Any) -> None:
        raise SystemExit

    monkeypatch.setattr(killed, "apply_entry", die)
    with pytest.raises(SystemExit):
        turns(killed)
    turns(other)
    assert published() == []
    wait_until(lambda: turns(other) or count(redis_client), otherwise="the other beat's turn")
    turns(other)

    assert len(published()) == 1


def test_a_beat_that_comes_too_late_publishes_nothing(
    apps: Apps,
    beats: Beats,
    clock: MovableClock,
    published: Published,
    redis_client: redis.Redis,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow, fast = (beats(apps(beat_schedule=HOURLY)) for _ in range(2))
    turns(slow, fast)
    clock.advance(hours=1)
    send = slow.apply_entry

    def send_late(entry: Any, producer: Any = None) -> Any:
        clock.advance(seconds=2)
        wait_until(lambda: turns(fast) or count(redis_client), otherwise="the faster beat's turn")
        return send(entry, producer=producer)

    monkeypatch.setattr(slow, "apply_entry", send_late)
    turns(slow, rounds=2)

    assert len(published()) == 1


def test_a_publish_whose_reply_was_lost_is_not_repeated(
    apps: Apps, beats: Beats, clock: MovableClock, published: Published, monkeypatch: pytest.MonkeyPatch
) -> None:
    beat = beats(apps(beat_schedule=HOURLY))
    turns(beat)
    clock.advance(hours=1)
    put, lost = occurrence_module.OccurrenceBook.put, []

    def put_and_lose(book: OccurrenceBook, *arguments: Any, **options: Any) -> Any:
        answer = put(book, *arguments, **options)
        if not lost:
            lost.append(answer)
            raise redis.ConnectionError("the line was cut")
        return answer

    monkeypatch.setattr(occurrence_module.OccurrenceBook, "put", put_and_lose)
    turns(beat)

    assert lost
    assert len(published()) == 1


@pytest.mark.parametrize(("policy", "expected"), [("once", 1), ("all", 100), ("skip", 0)])
def test_missed_occurrences(
    policy: str, expected: int, apps: Apps, beats: Beats, clock: MovableClock, published: Published
) -> None:
    schedule = {"often": {"task": "t", "schedule": 60.0, "options": {"headers": {MISSED_HEADER: policy}}}}
    beat = beats(apps(beat_schedule=schedule))
    turns(beat)
    clock.advance(hours=5, seconds=20)
    turns(beat, rounds=expected + 5)

    messages = published()
    assert len(messages) == expected
    times = [nominal(message) for message in messages]
    assert times == sorted(set(times))
    clock.advance(seconds=45)  # five seconds after the next one: late, but not missed
    turns(beat)
    [late] = published()
    assert not times or nominal(late) - times[-1] == timedelta(seconds=60 - 45)


def test_expires_counts_from_the_nominal_time(
    apps: Apps, beats: Beats, clock: MovableClock, published: Published
) -> None:
    beat = beats(apps(beat_schedule={"a": {"task": "t", "schedule": 3600.0, "options": {"expires": 90}}}))
    turns(beat)
    clock.advance(hours=1, minutes=1)
    turns(beat)

    [message] = published()
    expires = datetime.fromisoformat(message["headers"]["expires"])
    assert expires - nominal(message) == timedelta(seconds=90)


def test_an_entry_whose_queue_changes_goes_on_there_and_the_older_beat_stands_back(
    apps: Apps, beats: Beats, clock: MovableClock, published: Published, redis_client: redis.Redis
) -> None:
    old = beats(apps(beat_schedule=HOURLY))
    turns(old)
    clock.advance(hours=1)
    turns(old)
    before = OccurrenceBook(redis_client, "celery").all()["shop/close"]
    new = beats(apps(beat_schedule={"close": {**HOURLY["close"], "options": {"queue": "orders"}}}))
    turns(new, old)
    after = OccurrenceBook(redis_client, "orders").all()["shop/close"]
    clock.advance(hours=1)
    turns(old, new)

    assert (after.last, after.count, after.next) == (before.last, before.count, before.next)
    assert (len(published()), len(published("orders"))) == (1, 1)
    assert OccurrenceBook(redis_client, "celery").all() == {}
    assert EntryLanes(redis_client).all() == {"shop/close": "orders"}


def test_a_deserted_entry_goes_back_to_the_beats_that_are_left(
    apps: Apps, beats: Beats, clock: MovableClock, published: Published, redis_client: redis.Redis
) -> None:
    left = beats(apps(beat_schedule=HOURLY))
    turns(left)
    turns(beats(apps(beat_schedule={"close": {"task": "shop.close", "schedule": 86400.0}})))
    clock.advance(hours=1)
    turns(left)
    assert published() == []  # the newer definition counts

    book = OccurrenceBook(redis_client, "celery")
    [entry] = book.all().values()
    redis_client.hset(book.keys.schedules, "shop/close", json.dumps({**asdict(entry), "seen": entry.seen - 31_000}))
    turns(left)
    clock.advance(hours=1)
    turns(left)

    assert len(published()) == 1


@pytest.mark.parametrize("kind", ["fanout", "topic"])
def test_a_message_for_several_queues_moves_its_entry_first(
    kind: str, apps: Apps, beats: Beats, clock: MovableClock, published: Published, redis_client: redis.Redis
) -> None:
    exchange = Exchange("news", type=kind)
    queues = [Queue(name, exchange, routing_key="news.#") for name in ("celery", "left", "right")]
    options = {"exchange": "news", "exchange_type": kind, "routing_key": "news.all"}
    schedule = {"tell": {"task": "t", "schedule": 3600.0, "options": options}}
    two = [beats(apps(beat_schedule=schedule, task_queues=queues)) for _ in range(2)]
    with two[0].app.connection_for_write() as connection:
        for queue in queues:
            queue(connection.default_channel).declare()
    turns(*two)
    clock.advance(hours=1)
    turns(*two)

    if kind == "topic":
        assert [len(published(name)) for name in ("celery", "left", "right")] == [1, 1, 1]
    assert OccurrenceBook(redis_client, "celery").all()["shop/tell"].count == 1


def test_an_entry_that_cannot_be_published_does_not_stop_the_others(
    apps: Apps, beats: Beats, clock: MovableClock, published: Published, redis_client: redis.Redis
) -> None:
    bad = {"task": "t", "schedule": 3600.0, "args": [object()]}
    beat = beats(apps(beat_schedule={"bad": bad, **HOURLY}))
    turns(beat)
    clock.advance(hours=1)
    turns(beat)

    assert [message["headers"]["task"] for message in published()] == ["shop.close"]
    found = OccurrenceBook(redis_client, "celery").all()["shop/bad"]
    assert (found.count, found.last) == (0, 0)
    assert found.next > clock.now_ms() - 1 - 3_600_000


def test_an_eager_task_runs_in_one_beat(apps: Apps, beats: Beats, clock: MovableClock, published: Published) -> None:
    ran: list[str] = []
    made = []
    for _ in range(2):
        app = apps(beat_schedule=HOURLY, task_always_eager=True)

        @app.task(name="shop.close", shared=False)
        def close(order: str) -> None:
            ran.append(order)

        made.append(beats(app))
    turns(*made)
    clock.advance(hours=1)
    turns(*made)

    assert ran == ["order-1"]
    assert published() == []


def test_without_redis_a_beat_waits_and_then_goes_on(
    apps: Apps, beats: Beats, clock: MovableClock, published: Published, monkeypatch: pytest.MonkeyPatch
) -> None:
    beat = beats(apps(beat_schedule=HOURLY))
    turns(beat)
    clock.advance(hours=1)

    def fail(*_: Any, **__: Any) -> None:
        raise redis.ConnectionError("refused")

    with monkeypatch.context() as patch:
        patch.setattr(OccurrenceBook, "claim", fail)
        beat._look_again_ms = 0
        assert [beat.tick(), beat.tick()][1] == 1.0
    turns(beat)

    assert len(published()) == 1


def test_two_apps_on_one_broker_each_have_their_own_entries(
    apps: Apps, beats: Beats, clock: MovableClock, published: Published
) -> None:
    other = {"close": {"task": "bar.close", "schedule": 1800.0}}
    both = [beats(apps(beat_schedule=HOURLY)), beats(apps("bar", beat_schedule=other))]
    turns(*both)
    clock.advance(hours=1)
    turns(*both)

    assert {message["headers"]["task"] for message in published()} == {"shop.close", "bar.close"}


def test_a_beat_on_another_broker_is_refused_with_a_sentence() -> None:
    with pytest.raises(OptionError, match="the app's is redis://"):
        Scheduler(Celery("shop", broker="redis://127.0.0.1:1/0", set_as_current=False))


def test_a_wrong_policy_is_refused(apps: Apps) -> None:
    with pytest.raises(OptionError, match="beat_missed must be once, all or skip, got 'never'"):
        Scheduler(apps(beat_schedule=HOURLY, beat_missed="never"))


def test_what_is_wrong_with_an_entry_is_logged_once_and_the_others_go_on(
    apps: Apps, beats: Beats, clock: MovableClock, published: Published, caplog: pytest.LogCaptureFixture
) -> None:
    wrong = {
        "never": {"task": "t", "schedule": 0},
        "odd": {"task": "t", "schedule": crontab("*/61")},
        "huge": {"task": "t", "schedule": 3600.0, "options": {"expires": 1e300}},
    }
    beat = beats(apps(beat_schedule={**HOURLY, **wrong}))
    turns(beat)
    turns(beat)
    clock.advance(hours=1)
    turns(beat)

    said = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert sorted(said) == [
        "The entry never: it is left out: an interval must be at least 0.001 s, got 0 s",
        "The entry odd: the step of */61 is larger than what it counts through",
    ]
    tasks = [message["headers"]["task"] for message in published()]
    assert (tasks.count("shop.close"), "t" in tasks) == (1, True)
