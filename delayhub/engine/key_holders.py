"""Unique keys that are taken, as people look at them: some of all there are, with the message that has each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from delayhub.clock import SystemClock
from delayhub.engine.delay_queue import DelayQueue
from delayhub.engine.entry import Place, text
from delayhub.engine.keys import MAX_STEPS
from delayhub.engine.unique import Until

#: Fields of the hash of keys, and messages that wait for keys, that one look reads; all slots of a queue together.
LOOKED_AT = 2000
#: Fields that one step of a search reads in Redis.
PAGE = 1000
#: How long a search goes on, in seconds.
SEARCH_SECONDS = 2.0


class KeyHolder(NamedTuple):
    """A unique key that is taken, and the message that has it.

    Args:
        key: the key.
        id: the message's.
        until: until when it has the key.
        following: how many messages wait for the key.
        till_ms: when its time ends, where it is taken for a time.
        place: where the message is; None where it is gone, as one may be whose key is taken for a time.
        at_ms: since when, or until when, as ``Listed`` has it; None where that is not known.
        has_expired: the message would not run any more, so that the next publish takes the key.
    """

    key: str
    id: str
    until: Until
    following: int
    till_ms: int | None
    place: Place | None
    at_ms: int | None
    has_expired: bool


class KeyLook(NamedTuple):
    """What a look found: some keys, how many there are, and whether that is counted, not estimated.

    Of a search: what was found, how many, and whether it looked at all keys.
    """

    found: list[KeyHolder]
    total: int
    is_whole: bool


@dataclass(frozen=True, slots=True)
class _Taken:
    part: DelayQueue
    key: str
    id: str
    till_ms: int | None = None


def have_keys(queue: DelayQueue) -> bool:
    """Whether any unique key is taken on a queue, or was and its message is dead. One round trip."""
    with queue.client.pipeline(transaction=False) as pipeline:
        for part in queue.parts:
            pipeline.exists(part.keys.unique, part.keys.timed)
        return any(pipeline.execute())


def look_at_keys(queue: DelayQueue, *, limit: int) -> KeyLook:
    """Some of the keys that are taken: those for which most messages wait, then by name.

    It reads about 2 000 fields however many there are, and no payload; four round trips to each node.
    """
    share = max(20, LOOKED_AT // len(queue.parts))
    with queue.client.pipeline(transaction=False) as pipeline:
        pipeline.time()
        for part in queue.parts:
            pipeline.hlen(part.keys.unique)
            pipeline.hscan(part.keys.unique, count=share)
            pipeline.zrange(part.keys.followers, 0, share - 1)
        (seconds, micros), *replies = pipeline.execute()
    now_ms, total, is_whole = seconds * 1000 + micros // 1000, 0, True
    found: list[_Taken] = []
    waiting: Counter[tuple[str, str]] = Counter()
    for part, size, (cursor, fields), followers in zip(
        queue.parts, replies[::3], replies[1::3], replies[2::3], strict=True
    ):
        names = _names(fields)
        # A small sample of a hash is a fair one, since its order is that of hashed names.
        total += len(names) if not cursor else round(size * len(names) / max(1, len(fields)))
        is_whole &= not cursor
        wait_here = Counter(text(member).partition("\0")[0] for member in followers)
        waiting.update({(part.keys.base, key): count for key, count in wait_here.items()})
        more = [key for key in wait_here if key not in names]
        ids: Any = part.client.hmget(part.keys.unique, [f"key:{key}" for key in more]) if more else []
        names |= {key: text(holder) for key, holder in zip(more, ids, strict=True) if holder is not None}
        found += [_Taken(part, key, holder) for key, holder in names.items()]
    timed, count = _timed(queue, now_ms=now_ms, limit=limit)
    found += timed
    found.sort(key=lambda one: (-waiting[one.part.keys.base, one.key], one.key, one.id))
    shown = _with_states(found[:limit], now_ms=now_ms)
    gone = min(len(found), limit) - len(shown)  # they ended meanwhile
    return KeyLook(shown, total + count - gone, is_whole)


def search_keys(queue: DelayQueue, wanted: str, *, by_text: bool, limit: int) -> KeyLook:
    """The keys that a message of that id has, or that hold a text.

    Args:
        queue: the queue.
        wanted: an id, a whole key, or a part of one; upper and lower case of a part are the same.
        by_text: look for the text in keys too.
        limit: how many are enough; it ends after ``SEARCH_SECONDS``, too.
    """
    clock = SystemClock()
    end, is_whole = clock.monotonic() + SEARCH_SECONDS, True
    found = dict.fromkeys(_exact(queue, wanted, by_text=by_text))
    for part in queue.parts:
        for page in _pages(part, wanted, by_text=by_text):
            found |= dict.fromkeys(page)
            if len(found) >= limit or clock.monotonic() > end:
                is_whole = False
                break
        if not is_whole:
            break
    seconds, micros = queue.client.time()
    shown = _with_states(list(found)[:limit], now_ms=seconds * 1000 + micros // 1000)
    return KeyLook(shown, len(shown), is_whole)


def _names(fields: Mapping[Any, Any]) -> dict[str, str]:
    """By key, the id that has it, of fields of the hash."""
    named = ((text(field), value) for field, value in fields.items())
    return {field[4:]: text(value) for field, value in named if field.startswith("key:")}


def _timed(queue: DelayQueue, *, now_ms: int, limit: int) -> tuple[list[_Taken], int]:
    """The keys that are taken for a time, those that end first, and how many there are."""
    with queue.client.pipeline(transaction=False) as pipeline:
        for part in queue.parts:
            pipeline.zcount(part.keys.timed, now_ms, "+inf")
            pipeline.zrangebyscore(part.keys.timed, now_ms, "+inf", start=0, num=limit, withscores=True)
        replies = pipeline.execute()
    found: list[_Taken] = []
    for part, scored in zip(queue.parts, replies[1::2], strict=True):
        found += _with_ids(part, {text(key): int(till) for key, till in scored})
    return found, sum(replies[::2])


def _with_ids(part: DelayQueue, till: Mapping[str, int]) -> Iterator[_Taken]:
    ids: Any = part.client.hmget(part.keys.timed_ids, list(till)) if till else []
    for key, holder in zip(till, ids, strict=True):
        yield _Taken(part, key, text(holder or b""), till[key])


def _exact(queue: DelayQueue, wanted: str, *, by_text: bool) -> Iterator[_Taken]:
    """The key of that very name, and the key of the message of that id."""
    yield from _of_id(queue, wanted)
    for part in queue.parts if by_text else ():
        if holder := part.client.hget(part.keys.unique, f"key:{wanted}"):
            yield _Taken(part, wanted, text(holder))


def _of_id(queue: DelayQueue, holder: str) -> Iterator[_Taken]:
    for part in queue.parts:
        _, key = _about(part.client.hget(part.keys.unique, f"id:{holder}"))
        taken_by: Any = part.client.hget(part.keys.unique, f"key:{key}") if key else None
        if taken_by is not None and text(taken_by) == holder:
            yield _Taken(part, key, holder)


def _pages(part: DelayQueue, wanted: str, *, by_text: bool) -> Iterator[list[_Taken]]:
    """All keys of a slot that fit, a step at a time; of those that are taken for a time, also by id."""
    cursor, match = 0, f"key:*{_pattern(wanted)}*"
    while by_text:
        found: Any = part.client.hscan(part.keys.unique, cursor, match=match, count=PAGE)
        cursor, fields = found
        yield [_Taken(part, key, holder) for key, holder in _names(fields).items()]
        if not cursor:
            break
    needle = wanted.casefold()
    while True:
        found = part.client.hscan(part.keys.timed_ids, cursor, count=PAGE)
        cursor, fields = found
        named = {text(key): text(holder) for key, holder in fields.items()}
        keys = [key for key, holder in named.items() if holder == wanted or (by_text and needle in key.casefold())]
        scores: Any = part.client.zmscore(part.keys.timed, keys) if keys else []
        till = {key: int(score) for key, score in zip(keys, scores, strict=True) if score is not None}
        yield list(_with_ids(part, till))
        if not cursor:
            break


def _pattern(wanted: str) -> str:
    """A text as Redis' patterns have it, with either case of its letters."""

    def sign(found: re.Match[str]) -> str:
        one = found[0]
        return f"[{one.lower()}{one.upper()}]" if one.isalpha() else f"\\{one}"

    return re.sub(r"[A-Za-z*?\[\]\\^-]", sign, wanted)


def _about(value: Any) -> tuple[str, str]:
    """What is kept beside a message with a key, and the key: '' and '' where it has none."""
    about, expires, key = (*text(value or b"").split(":", 2), "", "")[:3]
    return (f"{about}:{expires}", key) if key else ("", "")


def _with_states(taken: Iterable[_Taken], *, now_ms: int) -> list[KeyHolder]:
    """The keys with where their messages are, in the same order; without those whose message is gone by now."""
    of_parts: dict[str, list[_Taken]] = {}
    listed = list(taken)
    for one in listed:
        of_parts.setdefault(one.part.keys.base, []).append(one)
    found: dict[_Taken, KeyHolder] = {}
    for of_part in of_parts.values():
        found |= {one: holder for one, holder in _states(of_part, now_ms=now_ms) if holder is not None}
    return [found[one] for one in listed if one in found]


def _states(taken: Sequence[_Taken], *, now_ms: int) -> Iterator[tuple[_Taken, KeyHolder | None]]:
    """Each key of one slot with where its message is; None where its time, or its message, is gone by now."""
    keys, ids = taken[0].part.keys, [one.id for one in taken]
    places = [(Place.WAITING, keys.waiting, 16.0), (Place.LEASED, keys.leased, 1.0), (Place.DEAD, keys.dead, 1.0)]
    places += [(Place.READY, keys.ready(step), 1000.0) for step in range(MAX_STEPS)]
    with taken[0].part.client.pipeline(transaction=False) as pipeline:
        pipeline.hmget(keys.unique, [f"id:{one}" for one in ids])
        for _, key, _ in places:
            pipeline.zmscore(key, ids)
        for one in taken:
            pipeline.hexists(keys.payload, one.id)
            pipeline.zlexcount(keys.followers, f"[{one.key}\0", f"({one.key}\1")
        abouts, *replies = pipeline.execute()
    scores, counts = replies[: len(places)], replies[len(places) :]
    for number, one in enumerate(taken):
        exists, following = bool(counts[2 * number]), counts[2 * number + 1]
        if (one.till_ms is None and not exists) or (one.till_ms or now_ms) < now_ms:
            yield one, None
            continue
        # What is stored and in none of these sets is held back by a limit, in a set of its task.
        place, at_ms = Place.PARKED if exists else None, None
        for (name, _, unit), of_place in zip(places, scores, strict=True):
            if of_place[number] is not None:
                place, at_ms = name, int(of_place[number] // unit)
        about, _ = _about(abouts[number])
        expires = int(about.partition(":")[2] or 0) if one.till_ms is None else 0
        until = Until.TIME if one.till_ms is not None else Until.START if about[:1] == "s" else Until.END
        has_expired = 0 < expires <= now_ms and place is not Place.LEASED
        yield one, KeyHolder(one.key, one.id, until, following, one.till_ms, place, at_ms, has_expired)
