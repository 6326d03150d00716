"""Claims of consumers, and all that their answers may and may not say."""

from __future__ import annotations

import random
from collections.abc import Sequence, Set

from delayhub.engine import Claimed
from delayhub.engine.claim import Claim
from delayhub.engine.unique import Until
from proof.broken import Broken
from proof.messages.ledger import Message
from proof.messages.sometimes import Sometimes
from proof.messages.world import CONSUMERS, LEASE_MS, Held, World

#: More than any history has: a claim of so many takes all that may be taken.
ALL = 100


def claim(world: World, chance: random.Random) -> None:
    """A consumer claims some messages, and may never hear of it."""
    is_lost = chance.random() < 0.12
    take(world, chance.randrange(CONSUMERS), chance.choice([1, 3, ALL]), chance.choice([None, 0, 2]), is_lost=is_lost)


def take(world: World, consumer: int, limit: int, free: int | None, *, is_lost: bool = False) -> Claim:
    """A claim, with all that its answer may and may not say.

    Raises:
        Broken: it gives what it must not, or leaves what it must give.
    """
    in_line = line(world)
    found = world.queues[consumer].claim(limit, free=free)
    given = [world.grant(consumer, one.id, one.token, world.now_ms + LEASE_MS) for one in found.entries]
    for message in given:
        if message.unique and message.unique.until is Until.START and world.has_key(message):
            raise Broken(f"has its unique key after its start: {message.name}")
    _check_revoked(world, found.entries)
    _check_strikes(world, found.entries)
    seen = world.look()
    died = seen.dead  # a claim reaps, too
    in_line = [message for message in in_line if message.name not in died]
    _check_order(in_line, given)
    if limit == ALL and free is None and not found.more:
        _check_all_given(world, found, in_line, given, died)
    if not is_lost:
        world.held[consumer] += [Held(consumer, one.id, one.token) for one in found.entries]
    elif given:
        world.met.note(Sometimes.CLAIM_LOST)
    if seen.parked:
        world.met.note(Sometimes.PARKED)
    if died:
        world.met.note(Sometimes.DIED)
    names = ", ".join(f"{one.id} by {one.token % 1_000_000}" for one in found.entries)
    world.tell(f"consumer {consumer} claims {limit}: {names or 'nothing'}{', and never hears of it' * is_lost}")
    return found


def line(world: World) -> list[Message]:
    """Messages that stand in line, and that neither limit nor unique key holds back, as they have to be given."""
    in_line = [
        message
        for message in world.ledger.live()
        if message.ready_ms <= world.now_ms
        and not (message.is_held(world.now_ms) or message.unique or message.may_be_settled or world.has_limits(message))
        and message.name not in world.seen.dead
    ]
    return sorted(in_line, key=lambda message: (message.step, message.ready_ms))


def _check_revoked(world: World, entries: Sequence[Claimed]) -> None:
    for one in entries:
        is_revoked = world.ledger.revoked_until_ms[one.id.partition("#")[0]] > world.now_ms
        if one.revoked != is_revoked:
            raise Broken(f"given as revoked, or not, where it should be otherwise: {one.id} {one.revoked}")


def _check_strikes(world: World, entries: Sequence[Claimed]) -> None:
    for one in entries:
        message = world.ledger.messages[one.id]
        most = 0 if message.is_revived else world.setting.max_strikes - 1
        if one.strikes > most:
            raise Broken(f"given though it has too many strikes: {one.id} has {one.strikes} of {most}")
        message.is_revived = False


def _check_order(in_line: Sequence[Message], given: Sequence[Message]) -> None:
    places = [(message.step, message.ready_ms) for message in given if message in in_line]
    if places != sorted(places):
        raise Broken(f"given out of line: {[message.name for message in given]}")
    left = [message for message in in_line if message not in given]
    if places and left and (left[0].step, left[0].ready_ms) < places[-1]:
        raise Broken(f"passed over: {left[0].name} by {[message.name for message in given]}")


def _check_all_given(
    world: World, found: Claim, in_line: Sequence[Message], given: Sequence[Message], died: Set[str]
) -> None:
    left = [message.name for message in in_line if message not in given]
    left += [
        message.name for message in world.ledger.live() if message.name not in died and _has_its_turn(world, message)
    ]
    if left:
        raise Broken(f"left though it is due, and nothing holds it back: {left}")
    nexts = [
        message.ready_ms
        for message in world.ledger.live()
        if not (message.grant or message.unique or message.may_be_settled)
    ]
    nexts += [message.grant.until_ms for message in world.ledger.live() if message.grant and not message.may_be_settled]
    soonest = min((at for at in nexts if at > world.now_ms), default=None)
    if soonest is not None and (found.come_back_ms is None or found.come_back_ms > soonest):
        raise Broken(f"told to come back at {found.come_back_ms} where something is due at {soonest}")


def _has_its_turn(world: World, message: Message) -> bool:
    """Whether nothing but its unique key could hold a message back, which it has."""
    if message.unique is None or message.may_be_settled or world.has_limits(message):
        return False
    is_waiting = message.ready_ms <= world.now_ms and not message.is_held(world.now_ms)
    return is_waiting and world.has_key(message)
