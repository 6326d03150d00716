"""Verbs of consumers: they work, end what they hold, crash, and act on leases that they have lost."""

from __future__ import annotations

import random
from dataclasses import replace

from delayhub.engine.unique import WhenTaken, start
from proof.broken import Broken
from proof.messages.ledger import Message, State
from proof.messages.producing import store
from proof.messages.sometimes import Sometimes
from proof.messages.world import CONSUMERS, LEASE_MS, Held, World


def _picked(world: World, chance: random.Random) -> tuple[int, Held] | None:
    """What a consumer ends; where it does not hear of that, it believes that it holds it still."""
    holding = [consumer for consumer in range(CONSUMERS) if world.held[consumer]]
    if not holding:
        return None
    consumer = chance.choice(holding)
    held = world.held[consumer].pop(chance.randrange(len(world.held[consumer])))
    if chance.random() < 0.1:
        world.met.note(Sometimes.END_UNHEARD)
        world.held[consumer].append(held)
    return consumer, held


def acknowledge(world: World, chance: random.Random) -> None:
    """A consumer has done its work; maybe long after its lease has run out."""
    if picked := _picked(world, chance):
        end(world, *picked, is_sent_twice=chance.random() < 0.1)


def end(world: World, consumer: int, held: Held, *, is_sent_twice: bool = False) -> None:
    """Acknowledges what a consumer holds.

    Raises:
        Broken: the answer is not what it has to be.
    """
    message, owned = world.ledger.messages.get(held.name), world.owner(held)
    ended = world.queues[consumer].acknowledge([world.lease(held)])
    if is_sent_twice:
        world.met.note(Sometimes.ACKNOWLEDGED_TWICE)
        if world.queues[consumer].acknowledge([world.lease(held)]):
            if ended:
                raise Broken(f"ended twice: {held.name}")
            ended = 1
    world.tell(f"consumer {consumer} ends {held.name} by {held.token % 1_000_000}: {ended}")
    if message is None or message.state is not State.LIVE:
        if ended:
            raise Broken(f"ended what is not there: {held.name}")
        world.met.note(Sometimes.ZOMBIE_REFUSED)
        return
    if ended:
        if owned is None:
            world.met.note(Sometimes.LATE_END)
            if held.token in message.old_tokens:
                raise Broken(f"ended by a lease from before it was revived: {held.name}")
            lost = message.tokens - ({message.grant.token} if message.grant else set())
            if message.is_held(world.now_ms) and not lost:
                raise Broken(f"ended under the only lease that there was, by another: {held.name}")
            if message.is_held(world.now_ms) and (message.keeps_key or world.counts(message)):
                raise Broken(f"freed the key or place of another that runs it: {held.name}")
        message.end(State.DONE)
    elif owned is not None:
        if not message.may_be_settled:
            raise Broken(f"not ended by the one who holds it: {held.name}")
    elif held.token not in message.tokens:
        world.met.note(Sometimes.ZOMBIE_REFUSED)  # it was revived since, or Redis has forgotten that lease
        if message.grant and (message.unique or world.counts(message)):
            message.is_settled = message.is_settled or None
    elif message.grant is None or not (message.unique or world.counts(message)):
        if not message.may_be_settled:
            raise Broken(f"not ended by one whose lease ran out while it worked: {held.name}")
    else:
        world.met.note(Sometimes.LATE_END_BESIDE_ANOTHER)
        message.is_settled = True


def begin(world: World, chance: random.Random) -> None:
    """A consumer starts a task that is acknowledged early: it keeps its key and its place until its lease ends."""
    consumer = chance.randrange(CONSUMERS)
    if not world.held[consumer]:
        return
    held = chance.choice(world.held[consumer])
    message = world.owner(held)
    kept = start(world.queues[consumer], [world.lease(held)])
    world.tell(f"consumer {consumer} starts {held.name} early: {kept}")
    if kept:
        if message is None:
            raise Broken(f"started with a lease that another has: {held.name}")
        message.is_settled = True
        world.met.note(Sometimes.STARTED_EARLY)


def give_back(world: World, chance: random.Random) -> None:
    """A consumer gives a message back: at once, or for later."""
    if picked := _picked(world, chance):
        consumer, held = picked
        delay = chance.choice([0, 0, 1500])
        delivered = chance.random() < 0.5
        held_still = world.queues[consumer].release([world.lease(held)], delay_ms=delay, delivered=delivered)
        world.tell(f"consumer {consumer} gives {held.name} back for {delay} ms: {held_still}")
        message = _lease_over(world, held, held_still)
        if message is not None:
            message.tokens.discard(held.token)  # it was not lost: who gave it back has not done its work
        if message is not None and delay:
            world.met.note(Sometimes.RELEASED_LATER)
            message.not_before_ms = world.now_ms + delay
            message.ready_ms = message.not_before_ms


def bury(world: World, chance: random.Random) -> None:
    """A consumer puts a message with the dead."""
    if picked := _picked(world, chance):
        consumer, held = picked
        buried = world.queues[consumer].bury([world.lease(held)], reason="it can't work")
        world.tell(f"consumer {consumer} buries {held.name}: {buried}")
        if message := _lease_over(world, held, buried):
            message.tokens.discard(held.token)


def strike(world: World, chance: random.Random) -> None:
    """The process that ran a message is gone, and its consumer says so."""
    if picked := _picked(world, chance):
        consumer, held = picked
        answer = world.queues[consumer].strike([world.lease(held)], why="its process died")
        world.tell(f"consumer {consumer} strikes {held.name}: {tuple(answer)}")
        message = world.owner(held)
        settled = message is not None and message.may_be_settled
        _lease_over(world, held, 1 if settled else sum(answer))


def _lease_over(world: World, held: Held, held_still: int) -> Message | None:
    """Enters that a lease was ended by its consumer; the message, where it is to be given again.

    Raises:
        Broken: it took another's lease, or was refused its own.
    """
    message = world.owner(held)
    if message is None:
        if held_still:
            raise Broken(f"took another's lease: {held.name}")
        world.met.note(Sometimes.ZOMBIE_REFUSED)
        return None
    if not held_still:
        if message.is_held(world.now_ms):
            raise Broken(f"refused to the one who holds it: {held.name}")
        return None
    message.grant = None
    if message.is_settled:
        message.end(State.DONE)
        return None
    return message


def extend(world: World, chance: random.Random) -> None:
    """A consumer puts off the end of all leases that it believes to hold."""
    consumer = chance.randrange(CONSUMERS)
    holding = world.held[consumer]
    if not holding:
        return
    extended = world.queues[consumer].extend([world.lease(held) for held in holding])
    world.tell(f"consumer {consumer} extends its leases: {', '.join(sorted(extended)) or 'none'}")
    for held in holding:
        message = world.owner(held)
        if message is not None and held.name in extended and message.grant:
            message.grant = replace(message.grant, until_ms=world.now_ms + LEASE_MS)
        elif message is not None and message.is_held(world.now_ms) and held.name not in extended:
            raise Broken(f"not extended for the one who holds it: {held.name}")
        elif held.name in extended and not any(world.owner(other) for other in holding if other.name == held.name):
            raise Broken(f"extended a lease that another has: {held.name}")


def retry(world: World, chance: random.Random) -> None:
    """A task publishes itself once more under its own id, and ends its message then.

    Raises:
        Broken: its unique key did not go to its retry, though it holds the message that has it.
    """
    if picked := _picked(world, chance):
        consumer, held = picked
        message = world.ledger.messages.get(held.name)
        if message is None:
            return
        again = Message(message.base, message.task, message.flow_key, message.step, 0, 0)
        if message.unique is not None:
            again.unique = replace(message.unique, when_taken=WhenTaken.CONTINUE, continued=world.lease(held).mark)
        is_owner = world.owner(held) is not None
        passes = is_owner and message.is_held(world.now_ms) and message.unique and world.has_key(message)
        store(world, chance, again)
        if again.unique is not None and world.has_key(again):
            message.has_passed_key |= is_owner  # of another it was not the publisher's to pass
        elif passes:
            raise Broken(f"its retry did not get its unique key: {held.name}")
        elif again.unique is not None and not is_owner:
            world.met.note(Sometimes.RETRY_OF_ZOMBIE)
        if chance.random() < 0.3:
            world.tell(f"consumer {consumer} forgets {held.name}")
        else:
            end(world, consumer, held)


def crash(world: World, chance: random.Random) -> None:
    """A consumer is gone with all that it knew; another takes its place."""
    consumer = chance.randrange(CONSUMERS)
    if world.held[consumer]:
        world.met.note(Sometimes.CRASHED)
        world.tell(f"consumer {consumer} crashes with {', '.join(held.name for held in world.held[consumer])}")
        world.held[consumer].clear()


def reap(world: World, chance: random.Random) -> None:
    """Leases that ran out are taken back, as each claim does it too."""
    del chance
    returned, died = world.office.reap()
    if returned or died:
        world.tell(f"reap: {returned} go back, {died} die")
