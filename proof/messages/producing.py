"""Verbs of those who publish, cancel and move messages."""

from __future__ import annotations

import random

from delayhub.engine import Entry
from delayhub.engine.unique import UniqueKey, Until, WhenTaken, free_key, offer
from proof.broken import Broken
from proof.messages.ledger import Message, State
from proof.messages.sometimes import Sometimes
from proof.messages.world import FLOW_KEYS, INTERVALS_MS, TASKS, World

DELAYS_MS = (0, 0, 0, 1, 500, 3000, 20_000)
UNIQUE_KEYS = ("k1", "k2")
#: What an answer about a unique key says, and what is noted of it.
OUTCOMES = {
    "refused": Sometimes.REFUSED,
    "replaced": Sometimes.TOOK_PLACE,
    "follows": Sometimes.FOLLOWED,
    "copied": Sometimes.COPIED,
}


def publish(world: World, chance: random.Random) -> None:
    """A new message, with or without a unique key."""
    if len(world.ledger.live()) >= world.setting.most_messages:
        return
    world.published += 1
    message = Message(
        f"m{world.published}", chance.choice(TASKS), chance.choice(FLOW_KEYS), chance.choice([0, 0, 3]), 0, 0
    )
    if chance.random() < 0.5:
        until = chance.choice([Until.END, Until.END, Until.START])
        message.unique = UniqueKey(
            key=chance.choice(UNIQUE_KEYS), until=until, when_taken=chance.choice(list(WhenTaken))
        )
    store(world, chance, message)


def store(world: World, chance: random.Random, message: Message) -> None:
    """Publishes a message, under an id that may be taken; the reply may be lost, and then it is sent again."""
    delay = chance.choice(DELAYS_MS)
    due = world.now_ms + delay if delay else 0
    world.published += 1
    token = f'"n":{world.published}'
    header = f',"x-delayhub-key":"{message.flow_key}"' if message.flow_key else ""
    payload = f'{{"headers":{{"task":"{message.task}"{header}}},{token}}}'.encode()
    entry = Entry(message.name, due, payload, message.step, token)

    message.not_before_ms, message.ready_ms = due, max(due, world.now_ms)
    outcome = _send(world, entry, message)
    repeated = chance.random() < 0.15
    if repeated:
        world.met.note(Sometimes.PUBLISH_REPEATED)
        world.time.move(chance.choice([0, 7, 11_000]))
        again = _send(world, entry, message)
        if again not in ("repeated", "refused") or (again == "refused") != (outcome == "refused"):
            raise Broken(f"stored twice: {message.name}, {outcome} and then {again}")
    if outcome in OUTCOMES:
        world.met.note(OUTCOMES[outcome])
    world.tell(
        f"publish {entry.id} of {message.task}"
        + f", flow key {message.flow_key}" * bool(message.flow_key)
        + f", priority {message.step}" * bool(message.step)
        + f", in {delay} ms" * bool(delay)
        + (f", unique {_words(message.unique)}" if message.unique else "")
        + ", sent twice" * repeated
        + f": {outcome}"
    )


def _words(unique: UniqueKey) -> str:
    return f"{unique.key} until its {unique.until}, {unique.when_taken} where taken"


def _send(world: World, entry: Entry, message: Message) -> str:
    """Sends a publish once and enters what it did; the outcome that was answered."""
    if message.unique is None:
        (answer,) = world.office.schedule([entry])
        outcome, name, replaced = answer.outcome, answer.id, ""
    else:
        offered = offer(world.queue, entry, message.unique)
        outcome, name, replaced = offered.outcome, offered.id, offered.replaced_id
    if outcome == "follows" and message.unique and message.unique.when_taken is WhenTaken.REFUSE:
        raise Broken(f"not refused where its key is taken: {entry.id}")
    if outcome in ("repeated", "refused"):
        return outcome
    if replaced:
        _enter_replaced(world, replaced)
    known = world.ledger.messages.get(name)
    # One whose end came late may be settled, which its consumer was not told: then its id is free.
    is_there = known is not None and known.state is State.LIVE and not known.may_be_settled
    if name.partition("#")[0] != entry.id or is_there:
        raise Broken(f"stored under another's id: {entry.id} as {name}")
    message.name = name
    world.ledger.messages[name] = message
    return outcome


def _stored(world: World, base: str) -> list[Message]:
    """A message and its copies, where they are live and in Redis; those that are done there may be gone at any time."""
    found = world.queue.stored([message.name for message in world.ledger.of_base(base)])
    return [message for message in world.ledger.of_base(base) if message.name in found]


def _enter_replaced(world: World, base: str) -> None:
    left = _stored(world, base)
    gone = [message for message in world.ledger.of_base(base) if message not in left]
    if any(message.is_held(world.now_ms) for message in gone):
        raise Broken(f"replaced under its lease: {base}")
    for message in gone:
        message.end(State.REPLACED)


def cancel(world: World, chance: random.Random) -> None:
    """Cancels a message with its copies, maybe for good."""
    message = _any(world, chance)
    if message is None:
        return
    tombstone = chance.choice([0, 60_000])
    before = _stored(world, message.base)
    (removed,) = world.office.cancel([message.base], tombstone_ms=tombstone)
    if tombstone:
        world.ledger.revoked_until_ms[message.base] = world.now_ms + tombstone
    left = _stored(world, message.base)
    gone = [one for one in before if one not in left]
    world.tell(f"cancel {message.base}: {removed}")
    world.met.note(Sometimes.CANCELLED if gone else Sometimes.CANCEL_MISSED)
    for one in before:
        if one in gone and one.is_held(world.now_ms):
            raise Broken(f"cancelled under its lease: {one.name}")
        if one not in gone and one.grant is None and not one.may_be_settled:
            raise Broken(f"not cancelled, though nobody holds it: {one.name}")
    if removed != len(gone):
        raise Broken(f"cancel says {removed} where {len(gone)} are gone: {message.base}")
    for one in gone:
        one.end(State.CANCELLED)


def reschedule(world: World, chance: random.Random) -> None:
    """Moves a message with its copies to another time."""
    message = _any(world, chance)
    if message is None:
        return
    due = world.now_ms + chance.choice([0, 100, 9000])
    leased, dead = world.look().leased, world.look().dead
    (outcome,) = world.office.reschedule([message.base], due_ms=due)
    world.tell(f"move {message.base} to {due - world.now_ms} ms from now: {outcome}")
    if outcome == "moved":
        world.met.note(Sometimes.RESCHEDULED)
    still_dead = world.look().dead
    for one in world.ledger.of_base(message.base):
        if one.name in leased:
            continue
        if outcome != "moved" and one.unique is None and not one.may_be_settled:
            raise Broken(f"not moved, though nobody holds it: {one.name} is {outcome}")
        if one.is_settled or outcome != "moved":
            continue
        if one.name in still_dead:  # "moved" was said of a copy
            if not world.lacks_key(one):
                raise Broken(f"left with the dead, though no other has its unique key: {one.name}")
            continue
        one.not_before_ms, one.ready_ms, one.grant = due, max(due, world.now_ms), None
        if one.name in dead:
            one.revive()


def redrive(world: World, chance: random.Random) -> None:
    """Revives dead messages."""
    del chance
    before = world.look().dead
    revived = world.office.redrive()
    now_dead = world.look().dead
    if len(before - now_dead) != revived:
        raise Broken(f"redrive says {revived} where {len(before - now_dead)} live again")
    for name in before - now_dead:
        message = world.ledger.messages[name]
        message.revive()
        message.not_before_ms, message.ready_ms = 0, world.now_ms
        world.met.note(Sometimes.REVIVED)
    if before:
        world.tell(f"redrive: {revived} of {len(before)}")


def free(world: World, chance: random.Random) -> None:
    """A person frees a unique key; the message that had it runs on without."""
    key = chance.choice(UNIQUE_KEYS)
    holder = world.client.hget(world.queue.keys.unique, f"key:{key}")
    if free_key(world.queue, key):
        world.met.note(Sometimes.KEY_FREED)
        world.ledger.messages[holder.decode()].has_lost_key = True
        world.tell(f"free {key}, which {holder.decode()} had")


def change_rates(world: World, chance: random.Random) -> None:
    """A person sets other rates, or none."""
    world.set_rates({task: chance.choice([0, ms, 2 * ms]) for task, ms in INTERVALS_MS.items()})
    world.met.note(Sometimes.LIMIT_CHANGED)
    world.tell(f"set rates: {world.ledger.intervals_ms or 'none'}")


def _any(world: World, chance: random.Random) -> Message | None:
    live = world.ledger.live()
    return chance.choice(live) if live else None
