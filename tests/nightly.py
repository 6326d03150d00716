"""All that proves something here, in the sizes of a night: ``make nightly``.

``make check``; all tests on both databases, with ten times as many examples; each chaos run, fuzz run and race of the
Makefile in a middle size; a part of the calendars, another one each night; both ends of the matrix of versions. What
fails does not stop the others. The log of each step is in ``var/nightly``; a table of all steps comes last, and the
exit code is 1 where one failed.

    python -m tests.nightly                   # all steps, some 90 minutes on two cores
    python -m tests.nightly check chaos-jobs  # some of them
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.run import runs
from delayhub.clock import SystemClock
from tests.repository import ROOT

LOGS = ROOT / "var" / "nightly"
#: What takes longer hangs: it is ended, and has failed.
LONGEST_SECONDS = 3600
#: Of the tests that `make test` runs, and of those that only the night runs.
ON_SQLITE = "not timing and not check"
ON_POSTGRESQL = "database and not timing and not check"
MANY_EXAMPLES = {"DELAYHUB_EXAMPLES": "10"}

#: The chaos runs that are asked for less than they do by themselves, so that each takes some minutes.
CHAOS = {
    "beat": "--simulated=2400",
    "cluster": "--tasks=3000 --jobs=600 --seconds=20",
    "jobs": "--jobs=3000 --seconds=40",
    "limits": "--seconds=30",
    "outages": "--outages 4 20 --at-once=2 --schemes delayhub",
    "receivers": "--jobs=300 --seconds=30 --kills=4",
    "redis-away": "--seconds=15",
    "series": "--days=10 --kills=10",
    "transport": "--tasks=4000 --kills=8 --restarts=2",
    "unique": "--seconds=60",
}
#: What else is run in less than its own size, so that each takes some minutes; `make` and the name alone run it whole.
MIDDLE = {
    "calendars": "PARTS=8",
    "faults": "RUNS=4",
    "fuzz": "EXAMPLES=20",
    "fuzz-messages": "MESSAGES=3000",
    "linear": "COUNT=400",
    "matrix": "ROWS=oldest newest",
    "mutants": "COUNT=2000",
    "race": "ROUNDS=40",
    "simulate": "COUNT=20000",
}


@dataclass(frozen=True)
class Step:
    """One line of the table: a command, and what it finds in its environment."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    """How a step went."""

    step: Step
    seconds: float
    passed: bool


def heavy_targets() -> list[str]:
    """The commands of the Makefile that prove something by racing, guessing or trying all, in its order; not chaos."""
    heavy = r"^((?:calendars|faults|fuzz|linear|matrix|mutants|race|simulate)[a-z-]*):"
    return re.findall(heavy, (ROOT / "Makefile").read_text(), re.MULTILINE)


def steps(workers: int) -> list[Step]:
    """All of them, in order."""
    pytest = (sys.executable, "-m", "pytest", "-q", "--timeout=3600")
    postgresql = {**MANY_EXAMPLES, "DELAYHUB_TEST_DATABASE": "postgresql", "DELAYHUB_OVERLAP_RACES": "1000"}
    others = {"SEED": str(SystemClock().now_ms() // 1000)}  # other histories than those of the night before
    return [
        Step("check", ("make", "check")),
        Step("timing", (*pytest, "-n0", "-m", "timing")),
        Step("sqlite", (*pytest, f"-n{workers}", "-m", ON_SQLITE), MANY_EXAMPLES),
        Step("postgresql", (*pytest, f"-n{workers}", "-m", ON_POSTGRESQL, "tests/integration"), postgresql),
        *(
            Step(f"chaos-{name}", ("make", "chaos", f"NAME={name}", f"OPTIONS={CHAOS.get(name, '')}"))
            for name in runs("chaos")
        ),
        *(Step(target, ("make", target, *filter(None, [MIDDLE.get(target)])), others) for target in heavy_targets()),
    ]


def run(step: Step, *, longest_seconds: float = LONGEST_SECONDS) -> Result:
    """Runs a step in a process group of its own, so that one that hangs leaves nothing behind."""
    LOGS.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with log_of(step).open("w") as log:
        process = subprocess.Popen(
            step.command, cwd=ROOT, env={**os.environ, **step.environment}, stdin=subprocess.DEVNULL,
            stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            code: int | None = process.wait(longest_seconds)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    return Result(step, time.monotonic() - began, code == 0)


def log_of(step: Step) -> Path:
    return LOGS / f"{step.name}.log"


def table(results: Sequence[Result]) -> str:
    """Name, seconds, passed or failed; with the log of what failed."""
    lines = ["", f"{'step':<20} {'seconds':>8}"]
    for result in results:
        said = "passed" if result.passed else f"failed: {log_of(result.step).relative_to(ROOT)}"
        lines.append(f"{result.step.name:<20} {result.seconds:>8.0f} {said}")
    lines.append(f"{'all':<20} {sum(result.seconds for result in results):>8.0f}")
    return "\n".join(lines) + "\n"


def main(words: Sequence[str] | None = None) -> int:
    """Runs the steps and prints the table; gives the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.nightly")
    parser.add_argument("--workers", type=int, default=8, help="test processes (default: 8)")
    parser.add_argument("steps", nargs="*", metavar="STEP", help="only these (default: all)")
    asked = parser.parse_args(words)
    known = steps(asked.workers)
    if strange := set(asked.steps) - {step.name for step in known}:
        parser.error(f"no such step: {', '.join(sorted(strange))}; there are {', '.join(step.name for step in known)}")
    results = []
    try:
        for step in known:
            if not asked.steps or step.name in asked.steps:
                results.append(run(step))
                sys.stdout.write(table(results[-1:]).splitlines()[2] + "\n")
                sys.stdout.flush()
    finally:  # also after Ctrl-C
        sys.stdout.write(table(results))
    return 0 if all(result.passed for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
