"""What a run of messages has to meet."""

from __future__ import annotations

from enum import StrEnum


class Sometimes(StrEnum):
    """Each of these happens in some histories of a run, or the run has failed."""

    CLAIM_LOST = "a claim's reply was lost"
    PUBLISH_REPEATED = "a publish whose reply was lost was sent again"
    ACKNOWLEDGED_TWICE = "an acknowledgement was sent twice"
    END_UNHEARD = "a consumer did not hear that it had ended a lease"
    CRASHED = "a consumer forgot what it held"
    RAN_OUT = "a message was given again after its lease had run out"
    LATE_END = "a consumer ended a message after its lease had run out"
    LATE_END_BESIDE_ANOTHER = "a message was ended while a later lease held it"
    ZOMBIE_REFUSED = "a verb with an old lease did nothing"
    STARTED_EARLY = "a message was acknowledged as it started, and kept its key or place"
    COPIED = "an id was published while it was taken"
    CANCELLED = "a message was cancelled"
    CANCEL_MISSED = "a cancel found a message with its consumer"
    RESCHEDULED = "a message was moved to another time"
    RELEASED_LATER = "a message was given back for later"
    REVIVED = "a dead message was revived"
    DIED = "a message had too many strikes"
    REFUSED = "a unique key was taken, and a message refused"
    TOOK_PLACE = "a message took the place of another of its unique key"
    FOLLOWED = "a message waited for its unique key"
    RETRY_OF_ZOMBIE = "a retry by a lease that was over did not get the key"
    KEY_FREED = "a person freed a unique key"
    PARKED = "a limit held a message back"
    LIMIT_CHANGED = "limits were changed while messages waited"
    WENT_BACK = "Redis went back to an earlier state"
    WENT_BACK_UNDER_LEASE = "Redis went back, and a consumer kept a lease that it has forgotten"
