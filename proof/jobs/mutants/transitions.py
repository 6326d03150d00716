"""Mistakes of the table of transitions."""

from __future__ import annotations

from proof.code_mutant import ValueMutant
from tasksapp.models import Status

_TRANSITION = "tasksapp.models.transition"

TRANSITIONS = (
    ValueMutant(
        "a cancel is taken of what runs",
        _TRANSITION,
        "Transition.CANCEL",
        "source",
        Status.RUNNING,
    ),
    ValueMutant(
        "what is cancelled waits on",
        _TRANSITION,
        "Transition.CANCEL",
        "target",
        Status.PENDING,
    ),
    ValueMutant(
        "what failed runs on",
        _TRANSITION,
        "Transition.RETRY",
        "target",
        Status.RUNNING,
    ),
    ValueMutant(
        "what succeeded is dead",
        _TRANSITION,
        "Transition.SUCCEED",
        "target",
        Status.DEAD,
    ),
    ValueMutant(
        "what gave up has succeeded",
        _TRANSITION,
        "Transition.GIVE_UP",
        "target",
        Status.SUCCEEDED,
    ),
    ValueMutant(
        "a redrive is taken of what waits",
        _TRANSITION,
        "Transition.REDRIVE",
        "source",
        Status.PENDING,
    ),
    ValueMutant(
        "a resolve calls off what is dead",
        _TRANSITION,
        "Transition.RESOLVE",
        "source",
        Status.DEAD,
    ),
    ValueMutant(
        "a claim leaves what waits",
        _TRANSITION,
        "Transition.CLAIM",
        "source",
        Status.DEAD,
    ),
)
