"""A keeper's thread and eventlet's greenlets that log at the same time."""

from __future__ import annotations

import subprocess
import sys

#: Lines of the keeper and of greenlets meet in a handler that lets go of the processor while it holds its lock.
PROGRAM = """
import eventlet

eventlet.monkey_patch()
import logging, sys
from eventlet.patcher import original
from delayhub.transport.consuming.lease_keeper import LeaseKeeper
from delayhub.transport.consuming import lease_keeper

lease_keeper.PAUSE_SECONDS = 0.01
main, said = original("_thread").get_ident(), set()


class Slow:
    def write(self, text):
        said.add(text.strip())
        is_main = original("_thread").get_ident() == main
        (eventlet.sleep if is_main else original("time").sleep)(0.001)

    def flush(self):
        pass


class Book:
    holds_leases = False

    def keep(self, client):
        raise ConnectionError("Redis is away")


logging.basicConfig(stream=Slow(), level=logging.INFO, format="%(message)s")
LeaseKeeper(Book(), None, lease_seconds=0.003).start()
for number in range(300):
    logging.getLogger("greenlet").warning("a greenlet")
    eventlet.sleep(0)
while len(said) < 2:
    eventlet.sleep(0.01)
print(sorted(said))
"""


def test_neither_waits_for_the_other_and_all_lines_are_logged() -> None:
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM]

    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert done.stdout.strip() == "['a greenlet', 'could not renew leases, trying again: Redis is away']", done.stderr
