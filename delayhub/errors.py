"""The errors DelayHub raises, one tree.

::

    DelayHubError
    ├── OptionError          an option has a value that cannot work
    ├── EntryError           an entry cannot be stored as it is
    ├── RedisUnfit           the Redis server cannot be trusted with timers
    └── UnknownTask          a job names a task that this process does not know
"""

from __future__ import annotations


class DelayHubError(Exception):
    """Something DelayHub was asked to do cannot be done; the message says why and what to do."""


class OptionError(DelayHubError, ValueError):
    """An option has a value that cannot work; the message names the option and the value."""


class EntryError(DelayHubError, ValueError):
    """An entry cannot be stored as it is: its id is empty or too long, or its time is out of range."""


class RedisUnfit(DelayHubError):
    """The Redis server is too old, or is configured to throw data away."""


class UnknownTask(DelayHubError, LookupError):
    """No task of that name is registered in this process; import the module that defines it."""
