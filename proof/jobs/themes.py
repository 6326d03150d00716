"""What a history may be about: a few kinds of jobs, and verbs that meet on them more often than by chance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Theme:
    """What one history in two is about.

    Args:
        kinds: the codes of its biz types.
        verbs: verbs that come more often, and how many times as often; all others come half as often.
        setting: fields of its setting that are no matter of chance.
    """

    kinds: tuple[str, ...]
    verbs: Mapping[str, float]
    setting: Mapping[str, Any] = field(default_factory=dict)


#: No trouble on the wire: what went wrong before blurs what may be asked of a verb.
_QUIET = {"troubles": 0.0, "goes_back": False}

THEMES: dict[str, Theme] = {
    # Jobs that are claimed late, before and after an attempt or a redrive.
    "lateness": Theme(
        kinds=("aged", "narrow"),
        verbs={"serve": 3, "pass_time": 3, "redrive": 4, "reschedule": 2},
        setting={**_QUIET, "says": "500", "longest_ms": 25_000},
    ),
    # Jobs that expire: never tried, tried, redriven.
    "expiry": Theme(
        kinds=("again", "once", "single"),
        verbs={"serve": 3, "pass_time": 3, "redrive": 5, "edit": 2},
        setting={**_QUIET, "ends": 0.9, "says": "500", "longest_ms": 12_000},
    ),
    # Workers that wake when others have their jobs.
    "zombies": Theme(
        kinds=("again", "once", "narrow"),
        verbs={"stand_still": 8, "work": 3, "serve": 1, "write": 2, "load": 2, "crash": 2},
        setting={**_QUIET, "has_loader": True, "most_open": 100},
    ),
    # Receivers that ask for an end of the others of their biz id.
    "others": Theme(
        kinds=("again", "once"),
        verbs={"create": 4, "serve": 4, "work": 2, "answer": 3, "write": 2},
        setting={**_QUIET, "says": "200 and calls off the others", "most_live": 8, "most_open": 100},
    ),
    # Requests that take the place of others, and jobs whose place nobody may take any more.
    "debounce": Theme(
        kinds=("again", "once"),
        verbs={"create": 4, "serve": 3, "pass_time": 1, "load": 1},
        setting={**_QUIET, "debounced": 0.9, "says": "500", "most_live": 8},
    ),
    # A limit of callbacks at once.
    "places": Theme(
        kinds=("narrow", "narrow", "aged"),
        verbs={"create": 4, "work": 4, "serve": 2, "answer": 3, "write": 3, "cancel": 4, "stand_still": 3, "crash": 2},
        setting={**_QUIET, "most_live": 8, "most_open": 100, "longest_ms": 31_000},
    ),
    # A database that is away, and a loader that comes back with it.
    "outage": Theme(
        kinds=("again", "once"),
        verbs={"outage": 12, "work": 4, "load": 3, "serve": 1},
        setting={**_QUIET, "has_loader": True},
    ),
    # Timers that fire before their jobs are due, at all, or twice.
    "early": Theme(
        kinds=("again", "once", "single"),
        verbs={"early_timer": 20, "doubled_timer": 8, "stray_timer": 8, "work": 4, "reschedule": 3},
        setting=_QUIET,
    ),
    # What the loader has to bring.
    "loading": Theme(
        kinds=("again", "single", "narrow"),
        verbs={"load": 6, "lose_timer": 10, "pass_time": 2, "crash": 2, "work": 3, "save": 2, "go_back": 8},
        setting={"has_loader": True, "goes_back": True, "troubles": 0.0},
    ),
    # Troubles on the wire, most of all.
    "wires": Theme(
        kinds=("again", "narrow", "narrow"),
        verbs={"create": 3, "serve": 4, "work": 3, "write": 4, "reschedule": 4, "run_now": 6, "load": 3},
        setting={"has_loader": True, "troubles": 0.4, "most_live": 8, "goes_back": False},
    ),
    # Callbacks that wait for their turn until their leases are too short, or lost.
    "waiting": Theme(
        kinds=("once", "again"),
        verbs={"create": 4, "work": 4, "pass_time": 3, "answer": 3, "write": 4, "load": 3},
        setting={**_QUIET, "has_loader": True, "most_open": 1, "most_live": 8, "longest_ms": 9000},
    ),
    # Timers that consumers hold, and lose, while their jobs are moved.
    "timers": Theme(
        kinds=("again", "single"),
        verbs={
            "work": 8,
            "go_on": 10,
            "pass_time": 2,
            "reschedule": 6,
            "edit": 4,
            "cancel": 3,
            "answer": 4,
            "write": 4,
        },
        setting={**_QUIET, "has_loader": False, "says": "500", "longest_ms": 31_000},
    ),
    # Jobs that grow old, whose receivers ask for a wait.
    "ageing": Theme(
        kinds=("aged",),
        verbs={"serve": 6, "pass_time": 4, "answer": 2, "write": 2, "redrive": 3},
        setting={**_QUIET, "says": "503, again in 12 s", "longest_ms": 14_000, "most_live": 2},
    ),
    # Retries: all waits of a policy, and its end.
    "retries": Theme(
        kinds=("again", "once", "aged", "narrow", "single"),
        verbs={"serve": 6, "pass_time": 4, "redrive": 3},
        setting={**_QUIET, "says": "500", "most_live": 2},
    ),
    # Jobs whose workers are lost again and again.
    "losses": Theme(
        kinds=("again", "single", "narrow"),
        verbs={"work": 6, "crash": 6, "load": 6, "redrive": 4, "pass_time": 3},
        setting={**_QUIET, "has_loader": True, "most_live": 2},
    ),
    # Biz ids that are resolved, in several biz types, while their jobs wait, run and are made.
    "resolving": Theme(
        kinds=("again", "once", "single"),
        verbs={"create": 3, "resolve": 6, "lift": 3, "work": 3, "write": 2, "redrive": 2, "bulk": 6},
        setting={**_QUIET, "most_live": 8, "says": "410"},
    ),
    # Biz ids of which one job is live.
    "single": Theme(
        kinds=("single",),
        verbs={"create": 6, "serve": 2, "redrive": 4, "bulk": 3},
        setting={**_QUIET, "says": "410", "most_live": 8},
    ),
    # Biz ids of which one job runs, and the last of those that come meanwhile waits for its end.
    "keeping": Theme(
        kinds=("last",),
        verbs={
            "create": 5,
            "serve": 3,
            "work": 4,
            "answer": 3,
            "write": 3,
            "redrive": 3,
            "stand_still": 2,
            "pass_time": 2,
        },
        setting={**_QUIET, "most_live": 8, "most_open": 100, "longest_ms": 12_000},
    ),
    # Flow keys whose jobs run one after the other.
    "lines": Theme(
        kinds=("lined", "loose"),
        verbs={
            "create": 4,
            "serve": 4,
            "work": 3,
            "cancel": 2,
            "edit": 3,
            "run_now": 3,
            "drop": 4,
            "redrive": 3,
            "load": 2,
        },
        setting={**_QUIET, "most_live": 8, "most_open": 100, "longest_ms": 9000},
    ),
    # The same, with workers and timers that are lost.
    "lost lines": Theme(
        kinds=("lined", "loose"),
        verbs={"create": 4, "work": 6, "crash": 6, "load": 6, "lose_timer": 10, "pass_time": 3},
        setting={**_QUIET, "has_loader": True, "most_live": 8},
    ),
    # Jobs that wait for an answer, which comes before, while or after they run.
    "answers": Theme(
        kinds=("asked",),
        verbs={
            "create": 4,
            "resolve": 5,
            "lift": 3,
            "work": 3,
            "serve": 2,
            "write": 2,
            "redrive": 3,
            "crash": 2,
            "load": 3,
        },
        setting={"goes_back": False, "troubles": 0.3, "has_loader": True, "most_live": 8, "says": "410"},
    ),
    # The same, with workers that are lost.
    "lost answers": Theme(
        kinds=("asked",),
        verbs={"work": 8, "crash": 8, "load": 8, "pass_time": 4, "resolve": 3, "create": 2},
        setting={**_QUIET, "has_loader": True, "most_live": 2, "longest_ms": 16_000},
    ),
    # What callers and people ask for, one verb after the other on one job.
    "asking": Theme(
        kinds=("again", "aged"),
        verbs={
            "serve": 2,
            "cancel": 3,
            "reschedule": 5,
            "edit": 8,
            "run_now": 4,
            "redrive": 4,
            "drop": 2,
            "bulk": 3,
            "operate": 4,
        },
        setting={**_QUIET, "most_live": 2, "says": "500"},
    ),
}
