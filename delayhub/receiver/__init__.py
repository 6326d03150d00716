"""For receivers of callbacks: is it genuine, and was it taken before?

Nothing here needs Django, SQLAlchemy or another library; what does is in a module of its name. docs/jobs/receivers.md
has an example of each.
"""

from __future__ import annotations

from delayhub.errors import BadCallback
from delayhub.receiver.answer import Answer
from delayhub.receiver.callback import ReceivedCallback
from delayhub.receiver.once import once
from delayhub.receiver.verifier import Verifier

__all__ = ["Answer", "BadCallback", "ReceivedCallback", "Verifier", "once"]
