"""The moment of the last claim: a child of the process sees what its parent claims."""

from __future__ import annotations

import os
import time

from delayhub.transport.consuming.last_claim import LastClaim


def test_before_the_first_claim_there_is_none() -> None:
    assert LastClaim().at == 0


def test_a_forked_child_sees_the_claims_of_its_parent() -> None:
    claim = LastClaim()
    reading, writing = os.pipe()
    began = time.monotonic()
    child = os.fork()
    if not child:
        os.read(reading, 1)
        os._exit(0 if claim.at >= began else 1)

    claim.note()
    os.write(writing, b".")

    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    os.close(reading)
    os.close(writing)
