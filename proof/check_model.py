"""Checks all properties of all models, and prints what SPIN says of each: a part of ``make simulate``."""

from __future__ import annotations

import sys

from proof.model.checking import CHECKS, MISSING, is_there, verdict


def main() -> int:
    """0 where each answer is as it has to be, and where there is no SPIN, which it says."""
    if not is_there():
        print(f"the models are not checked: {MISSING}")
        return 0
    wrong = 0
    print(f"{'property':66} {'holds':>6} {'states':>10} {'CPU s':>6}")
    for check in CHECKS:
        found = verdict(check)
        is_wrong = found.holds is not check.holds
        wrong += is_wrong
        said = ("yes" if found.holds else "no") + ", WRONG" * is_wrong
        print(f"{check!s:66} {said:>6} {found.states:>10,} {found.seconds:>6}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
