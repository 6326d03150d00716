"""Checks models by SPIN: over all orders in which their steps can happen, does a property hold."""

from __future__ import annotations

import re
import resource
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOM = Path(__file__).parent
MISSING = "there is no SPIN; on Debian: apt install spin gcc"
#: What a check may take at most, in MB; all of ours take a fraction.
MEMORY_MB = 2000


@dataclass(frozen=True, slots=True)
class Check:
    """A property of a model.

    Args:
        model: the name of its file.
        property: the name of its formula there.
        variant: what is defined for it: a mistake, or a finer step; '' for the model as it is.
        holds: what the answer has to be.
    """

    model: str
    property: str
    variant: str = ""
    holds: bool = True

    def __str__(self) -> str:
        return f"{self.model}: {self.property}{f' with {self.variant}' if self.variant else ''}"


#: Variants must not hold: a model that no mistake breaks says nothing.
CHECKS = (
    Check("handover", "nothing_after_cancel"),
    Check("handover", "cancelled_stays"),
    Check("handover", "called_if_done"),
    Check("handover", "nothing_after_cancel", "WINDOW", holds=False),
    Check("handover", "cancelled_stays", "WINDOW"),
    Check("handover", "called_if_done", "WINDOW"),
    Check("lease", "one_at_a_time"),
    Check("lease", "a_place_is_kept"),
    Check("lease", "old_tokens_end_nothing"),
    Check("lease", "done_is_done"),
    Check("lease", "old_tokens_end_nothing", "COUNTED_TOKENS", holds=False),
    Check("lease", "a_place_is_kept", "FREE_AT_LATE_END", holds=False),
    Check("resolve", "nothing_fires_after_a_resolve"),
    Check("resolve", "nothing_fires_after_a_resolve", "WITHOUT_VERSION", holds=False),
    Check("resolve", "nothing_fires_after_a_resolve", "PASS_LOCKED", holds=False),
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What SPIN says.

    Args:
        holds: whether the property does.
        states: how many states it looked at; of one that does not hold, until it found that.
        seconds: CPU seconds, with the compiler's.
    """

    holds: bool
    states: int
    seconds: float


def is_there() -> bool:
    """Whether this machine has what checks need."""
    return all(shutil.which(each) for each in ("spin", "gcc"))


def verdict(check: Check) -> Verdict:
    """Checks one property.

    Raises:
        RuntimeError: SPIN did not come to an end; the text is what it said.
    """
    before = _seconds()
    with tempfile.TemporaryDirectory() as folder:
        defined = [f"-D{check.variant}"] if check.variant else []
        _run(["spin", *defined, "-a", str(ROOM / f"{check.model}.pml")], folder)
        # What must not hold is found in no time: there the compiler would take most of it.
        effort = "-O1" if check.holds else "-O0"
        _run(["gcc", effort, "-w", f"-DMEMLIM={MEMORY_MB}", "-o", "pan", "pan.c"], folder)
        said = _run(["./pan", "-a", "-n", "-m1000000", "-N", check.property], folder)
    errors, states = re.search(r"errors: (\d+)", said), re.search(r"(\d+) states, stored", said)
    if (
        errors is None
        or states is None
        or (errors[1] == "0" and ("max search depth" in said or "Search not comp" in said))
    ):
        raise RuntimeError(said)
    return Verdict(errors[1] == "0", int(states[1]), round(_seconds() - before, 1))


def _run(command: list[str], folder: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed: {done.stdout}{done.stderr}")
    return done.stdout


def _seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
