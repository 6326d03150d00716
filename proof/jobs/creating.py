"""Verbs of those who create jobs: one, several, the same request again, and what takes the place of another."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from unittest.mock import patch

from delayhub.clock import moment
from proof.broken import Broken
from proof.jobs.kinds import KINDS
from proof.jobs.ledger import Expected
from proof.jobs.oracle import Fate
from proof.jobs.rows import Row
from proof.jobs.site import is_resting
from proof.jobs.sometimes import Sometimes
from proof.jobs.world import World, error_name
from tasksapp.errors import KeyResolved, OneIsLive
from tasksapp.jobs import creation
from tasksapp.jobs.creation import Created, create_many
from tasksapp.jobs.requests import JobRequest, Rejected

DELAYS_MS = (0, 0, 0, 700, 3000, 9000, 45_000, 700_000)
BIZ_IDS = ("b1", "b1", "b2", "")


@dataclass
class Asked:
    """A request for a job.

    Args:
        fields: its fields.
        job_id: the job that it made, as far as rows show it; '' for none.
        due_ms: when that is due.
    """

    fields: dict[str, Any]
    job_id: str = ""
    due_ms: int = 0

    @property
    def code(self) -> str:
        """The biz type."""
        return str(self.fields["biz_type"])

    @property
    def key(self) -> tuple[str, str | None]:
        """What it shares with those whose place it takes: biz type and debounce key, or biz id; None for none."""
        name = "biz_id" if KINDS[self.code].keeps_last else "debounce_key"
        return self.code, self.fields.get(name) or None

    def request(self) -> JobRequest:
        """The request as the product takes it."""
        given = dict(self.fields)
        if "due_at" in given:
            del given["delay"]
        return JobRequest(given.pop("biz_type"), **given)


def create(world: World, chance: random.Random) -> None:
    """A new job, or several, or the same request once more."""
    if len(world.live()) >= world.setting.most_live:
        return
    earlier = [asked for asked in world.asked if asked.fields.get("idempotency_key")]
    if earlier and chance.random() < 0.3:
        world.met.note(Sometimes.REPEATED)
        _create(world, [chance.choice(earlier)])
        return
    several = chance.choice([1, 1, 1, 2, 3])
    if several > 1:
        world.met.note(Sometimes.CREATED_MANY)
    _create(world, [_asked(world, chance) for _ in range(several)])


def _asked(world: World, chance: random.Random) -> Asked:
    code = chance.choice(world.setting.kinds)
    resolved = [(world.site.biz_types[number].code, biz_id) for number, biz_id in sorted(world.resolved)]
    biz_id = chance.choice(BIZ_IDS)
    if resolved and chance.random() < 0.4:
        code, biz_id = chance.choice(resolved)
    world.made += 1
    fields: dict[str, Any] = {
        "biz_type": code,
        "biz_id": biz_id,
        "delay": timedelta(milliseconds=chance.choice(DELAYS_MS)),
        "body": {"n": world.made},
    }
    if chance.random() < world.setting.ends:
        fields["expires_at"] = moment(world.now_ms) + fields["delay"] + timedelta(seconds=chance.choice([2, 5, 30]))
    if KINDS[code].order:
        fields["flow_key"] = chance.choice(["f1", "f1", "f2", ""])
        # Without a due time the database's own clock counts.
        fields["due_at"] = moment(world.now_ms) + fields["delay"]
    elif not (KINDS[code].keeps_one or KINDS[code].keeps_last):
        if chance.random() < world.setting.debounced:
            fields["debounce_key"] = chance.choice(["d1", "d2"])
        elif chance.random() < 0.4 and "expires_at" not in fields:
            fields["idempotency_key"] = f"k{world.made}"
    asked = Asked(fields)
    world.asked.append(asked)
    return asked


def _create(world: World, asked: Sequence[Asked]) -> None:
    now_ms = world.now_ms
    # A transaction that was open while a biz id was resolved had looked for the tombstone before.
    is_late = bool(world.resolved) and world.chance.random() < 0.5
    looks = creation.without_resolved if not is_late else (lambda found, **_: found)
    with patch.object(creation, "without_resolved", looks):
        outcomes, wrong = world.do(lambda: create_many([one.request() for one in asked]))
    told: dict[str, tuple[Asked, Created]] = {}
    for one, outcome in zip(asked, outcomes or [], strict=False):
        if isinstance(outcome, Created):
            told[str(outcome.job_id)] = one, outcome
    wanted = {one.fields["body"]["n"]: one for one in asked if not one.job_id}
    asks = any(KINDS[one.code].hears for one in asked)

    def is_wanted(row: Row) -> str:
        number = _number(row)
        one = wanted.pop(number, None)
        if one is None:
            return "nobody asked for it, or it was there already"
        due_ms = now_ms + int(one.fields["delay"].total_seconds() * 1000)
        one.job_id, one.due_ms = row.id, due_ms
        if row.status == "cancelled" and asks and world.is_resolved(row):
            # Where one of them may wait for an answer, it is looked for at once.
            world.met.note(Sometimes.ANSWERED_BEFORE)
            return ""
        if KINDS[one.code].hears and world.is_resolved(row) and not world.happened:
            return "it waits for what was answered before"
        return Fate("pending", due_ms, 0).complaint(row)

    # What a debounce key replaces; whose due time may be the earlier one where it was put off for long.
    keys = {(one.code, one.fields["debounce_key"]) for one in asked if one.fields.get("debounce_key")}
    replaced = {
        row.id: (Fate("pending", None, row.attempts),)
        for row in world.with_status("pending")
        if (world.kind(row).code, row.debounce_key) in keys
    }
    for one in asked:  # of several the last one counts
        for row in world.with_status("pending"):
            if row.waits and KINDS[one.code].keeps_last and (world.kind(row).code, row.biz_id) == one.key:
                due_ms = now_ms + int(one.fields["delay"].total_seconds() * 1000)
                replaced[row.id] = (Fate("pending", due_ms, row.attempts),)
    changed = world.settle(Expected(fates=replaced, new=is_wanted))
    late = ", committed after the resolve" * is_late
    world.tell(f"create {', '.join(_words(one) for one in asked)}{late}: {_answers(world, outcomes, wrong)}")
    if wrong is not None:
        return
    for one, outcome in zip(asked, outcomes, strict=True):
        _check_answer(world, one, outcome, changed)
    if told and not world.happened and not is_resting() and not any(outcome.armed for _, outcome in told.values()):
        raise Broken("said to have no timer, though Redis answered")


def _check_answer(world: World, one: Asked, outcome: Created | Rejected, changed: dict[str, Any]) -> None:
    kind, biz_id = KINDS[one.code], one.fields["biz_id"]
    if isinstance(outcome, Rejected):
        biz_type = world.site.biz_type(kind)
        is_resolved = (biz_type.pk, biz_id) in world.resolved
        match outcome.error:
            case OneIsLive():
                world.met.note(Sometimes.ONE_LIVE)
                is_live = any(row.biz_id == biz_id for row in world.live())
                # One that was made with it was live, until its answer was looked for.
                if not kind.keeps_one or not (is_live or (kind.hears and is_resolved)):
                    raise Broken(f"refused, though none is live: {one.code} {biz_id}")
            case KeyResolved() if is_resolved:
                world.met.note(Sometimes.RESOLVED)
            case error:
                raise Broken(f"a request is refused: {error}")
        return
    job_id = str(outcome.job_id)
    if job_id not in world.rows.by_id:
        raise Broken(f"created, and there is no row: {one.code}")
    if outcome.created:
        if (one.job_id != job_id and _last_of_its_key(world, one)) or job_id not in changed:
            raise Broken(f"said to be created, and was there: {world.name(job_id)}")
    elif outcome.replaced:
        world.met.note(Sometimes.KEPT_LAST if kind.keeps_last else Sometimes.DEBOUNCED)
        if _number(world.rows.by_id[job_id]) != one.fields["body"]["n"] and _last_of_its_key(world, one):
            raise Broken(f"said to be replaced, and has what it had: {world.name(job_id)}")
    elif one.job_id and one.job_id != job_id:
        raise Broken(f"a request that was sent again got another job: {world.name(job_id)}")


def _last_of_its_key(world: World, one: Asked) -> bool:
    """Whether no other request came with it, whose content counts in its place."""
    alike = [each for each in world.asked if each.key == one.key]
    return one.key[1] is None or alike[-1] is one


def _number(row: Row) -> int:
    number = row.body.partition('"n":')[2].partition("}")[0]
    return int(number) if number.strip().isdigit() else -1


def _words(one: Asked) -> str:
    given = one.fields
    said = f"{one.code} {given['biz_id'] or '-'} in {given['delay'].total_seconds():g} s"
    for name in ("idempotency_key", "debounce_key", "flow_key"):
        said += f", {name} {given[name]}" if name in given else ""
    return said + ", with an end" * ("expires_at" in given)


def _answers(world: World, outcomes: Any, wrong: BaseException | None) -> str:
    if wrong is not None:
        return error_name(wrong)
    return ", ".join(
        type(outcome.error).__name__ if isinstance(outcome, Rejected)
        else world.name(str(outcome.job_id)) + ("" if outcome.created else " as before")
        for outcome in outcomes
    )  # fmt: skip
