"""Draws a history by its seed: how the job begins, who asks what, and what the receiver will say."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import StrEnum

from proof.order.job import FAILED, NEVER, TAKEN

#: How a change may say what its caller saw; half of them by If-Match.
CONDITIONS = ("if_match", "if_match", "if_match", "version", "", "")
FEWEST, MOST = 2, 6


class Beginning(StrEnum):
    """Where the job stands when its clients begin."""

    NOT_THERE = "not there"
    WAITING = "waiting"
    DUE = "due"
    DEAD = "dead"
    RETRYING = "retrying"


#: What is asked of a job that begins so.
_VERBS = {
    Beginning.NOT_THERE: "create create create create read cancel patch resolve resolve run lift",
    Beginning.WAITING: "read patch patch cancel cancel run run resolve create",
    Beginning.DUE: "read patch cancel cancel run resolve resolve",
    Beginning.DEAD: "read redrive redrive redrive drop drop resolve resolve cancel lift",
    Beginning.RETRYING: "read patch cancel run run resolve",
}


@dataclass(frozen=True, slots=True)
class Turn:
    """A verb of a client, and what it waits before.

    Args:
        verb: its name.
        by_key: whether it names the job by its business key.
        condition: ``if_match``, ``version``, or '' for none.
        pause: in seconds.
        draw: from which its fields are made.
    """

    verb: str
    by_key: bool
    condition: str
    pause: float
    draw: int


@dataclass(frozen=True, slots=True)
class Plan:
    """A history to be played.

    Args:
        seed: what it was drawn from.
        beginning: where its job stands first.
        clients: of each, its turns.
        replies: what the receiver says to each attempt, and after how many seconds.
    """

    seed: int
    beginning: Beginning
    clients: tuple[tuple[Turn, ...], ...]
    replies: tuple[tuple[int, float], ...]

    @classmethod
    def drawn(cls, seed: int) -> Plan:
        """The same for the same seed."""
        chance = random.Random(seed)
        beginning = chance.choice(list(Beginning))
        count = chance.randint(FEWEST, MOST)
        turns: list[list[Turn]] = [[] for _ in range(min(count, chance.randint(2, 4)))]
        for number in range(count):
            verb = chance.choice(_VERBS[beginning].split())
            by_key = beginning is Beginning.NOT_THERE or chance.random() < 0.25
            pause = chance.choice([0.0, 0.0, 0.003, 0.02])
            turn = Turn(verb, by_key, chance.choice(CONDITIONS), pause, chance.randrange(1 << 30))
            turns[number % len(turns)].append(turn)
        replies = [(chance.choice([TAKEN, TAKEN, FAILED, NEVER]), chance.choice([0.0, 0.01, 0.05])) for _ in range(8)]
        if beginning in (Beginning.DEAD, Beginning.RETRYING):
            replies[0] = (NEVER if beginning is Beginning.DEAD else FAILED, 0.0)
        return cls(seed, beginning, tuple(map(tuple, turns)), tuple(replies))
