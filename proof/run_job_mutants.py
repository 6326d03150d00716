"""Makes each mistake between a job's creation and its callback, and plays histories: a part of ``make mutants``."""

from __future__ import annotations

import sys

from proof.catching import asked, catch_all
from proof.jobs.standing import set_up

options = asked("run_job_mutants", most=1000, about=__doc__, databases=["sqlite", "postgresql"])
set_up(options.database)  # before models are imported

from delayhub.local.redis_server import RedisServer  # noqa: E402  as above
from proof.histories import spare_the_collector  # noqa: E402  as above
from proof.jobs.history import Player, drawn  # noqa: E402  as above
from proof.jobs.ledger import Setting  # noqa: E402  as above
from proof.jobs.mutants.table import MUTANTS, ON_POSTGRESQL, JobMutant, made  # noqa: E402  as above
from proof.jobs.site import site  # noqa: E402  as above
from proof.jobs.sometimes import Sometimes  # noqa: E402  as above
from proof.met import Met  # noqa: E402  as above
from proof.plan import Failure  # noqa: E402  as above
from proof.quick_redis import QuickRedis  # noqa: E402  as above


def catch(mutant: JobMutant, server: RedisServer, *, most: int) -> tuple[int, Failure[Setting]] | None:
    """How many histories it took until one broke a law, and that one; None where all kept them.

    Raises:
        LookupError: nothing has the text that it replaces, or what stands there cannot run.
    """
    with made(mutant), site(QuickRedis(server.port), server.url) as here:
        player = Player(here, Met(Sometimes))
        for seed in range(1, most + 1):
            failure = player.play(drawn(seed, mutant.theme))
            if failure is None:
                continue
            if str(failure.broken).startswith(("TypeError", "NameError", "AttributeError")):
                raise LookupError(f"{mutant.name!r} is code that cannot run: {failure.broken}")
            return seed, failure
    return None


def main() -> int:
    """0 where every mistake was caught, but those that are told why they cannot be."""
    spare_the_collector()
    table = ON_POSTGRESQL if options.database == "postgresql" else MUTANTS
    with RedisServer() as server:
        return catch_all(table, lambda mutant, most: catch(mutant, server, most=most), options)


if __name__ == "__main__":
    sys.exit(main())
