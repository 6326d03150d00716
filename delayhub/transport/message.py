"""kombu's message with a shorter way to its JSON, since a worker decodes the body of every task before it runs it."""

from __future__ import annotations

import json
from typing import Any

from kombu import serialization
from kombu.transport import virtual
from kombu.utils import json as kombu_json

JSON = "application/json"

_registry: Any = serialization.registry  # type: ignore[attr-defined]  # its types forget it

#: What kombu's own JSON serializer does, without making a decoder for each message: 3 µs less, of some 90 a task.
_decode = json.JSONDecoder(object_hook=kombu_json.object_hook).decode


class Message(virtual.Message):
    """A message of one of our channels."""

    def _decode(self) -> Any:
        # All else is kombu's: other types, a project's own JSON serializer in place of kombu's, and every error.
        if (
            self.content_type == JSON
            and self.content_encoding == "utf-8"
            and (self.accept is None or JSON in self.accept)
            and _registry._decoders.get(JSON) is kombu_json.loads
        ):
            try:
                return _decode(self.body.decode())
            except (ValueError, AttributeError):
                pass
        return super()._decode()
