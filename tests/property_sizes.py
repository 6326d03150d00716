"""How many made-up inputs a property test tries: few here, and ten times as many in ``make nightly``."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

FACTOR = int(os.environ.get("DELAYHUB_EXAMPLES", "1"))


def examples(few: int) -> int:
    """How many a test tries now that tries ``few`` while people wait for it."""
    return few * FACTOR


def load_profile() -> None:
    """Makes both numbers hold for tests that name none."""
    # How long a generated input takes is the machine's matter: it may stand still for a second.
    patient = [HealthCheck.too_slow]
    settings.register_profile("delayhub", max_examples=examples(30), deadline=None, suppress_health_check=patient)
    settings.load_profile("delayhub")
    if FACTOR == 1:  # numbers and texts of all of our source are tried too: to find them costs each process seconds
        providers.is_local_module_file = lambda _: False
