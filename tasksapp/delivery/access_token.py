"""AccessToken: what a token server gives for a client's credentials (RFC 6749, section 4.4), and how it is read."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple

#: The life of a token whose server does not say how long it is, and the bounds of what a server may say, in seconds.
USUAL_LIFE, SHORTEST_LIFE, LONGEST_LIFE = 300, 30, 86_400
#: A token is not used in the last seconds of its life, a tenth of that at most: it has to arrive before it ends.
SKEW_SECONDS, SKEW_SHARE = 60, 0.1
#: More is not read of a token server's answer.
LONGEST_ANSWER = 65_536
#: The longest token that is sent: receivers take 8 KB of headers, as a rule.
LONGEST_TOKEN = 8_192
#: What a reason begins with, before the host of the token server.
LACK = "no access token from "
#: A token as RFC 6750 has it in a header; what else it held could begin another header.
_TOKEN = re.compile(r"[\x21-\x7e]+")
#: What RFC 6749 lets a token server say is wrong. Anything else may be an echo of what it was asked.
_ERRORS = frozenset(
    {
        "invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type",
        "invalid_scope",
    }
)  # fmt: skip


class NoToken(Exception):
    """There is no access token; the message says why, and nothing of what the token server wrote but RFC 6749's words.

    Args:
        reason: why, a short sentence.
        until_ms: until when nobody asks again, Unix ms; 0 where that is not said yet.
    """

    def __init__(self, reason: str, *, until_ms: int = 0) -> None:
        super().__init__(reason)
        self.reason, self.until_ms = reason, until_ms


@dataclass(frozen=True, kw_only=True, slots=True)
class Grant:
    """What an access token is asked for with, and where it is used.

    Args:
        url: the address of the token server.
        client_id: who asks.
        secret: its secret.
        in_form: whether both stand in the form, and not in an Authorization header.
        fields: what else the form has, such as the scope.
        receiver: scheme, host and port that the token goes to.
        lane: the lane of the biz type whose callbacks it authorizes.
        queue: that biz type.
    """

    url: str
    client_id: str
    secret: str = field(repr=False)
    in_form: bool = False
    fields: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    receiver: str
    lane: str
    queue: str

    @property
    def digest(self) -> str:
        """Another one for each other request or receiver. It is as secret as the secret: a short one could be found."""
        parts = [self.url, self.client_id, self.secret, self.in_form, self.fields, self.receiver]
        return sha256(json.dumps(parts).encode()).hexdigest()


class AccessToken(NamedTuple):
    """A token.

    Args:
        value: what callbacks carry.
        made_ms: when it was asked for, Unix ms; of two tokens of a grant, the later one counts.
        ends_ms: until when it is used.
        is_second: whether it was asked for since the receiver had refused the one before.
    """

    value: str
    made_ms: int
    ends_ms: int
    is_second: bool = False


def read_token(status_code: int, body: bytes, *, made_ms: int) -> AccessToken:
    """The token in a token server's answer.

    Args:
        status_code: of the answer.
        body: of the answer, or more of it than ``LONGEST_ANSWER``.
        made_ms: when it was asked for, Unix ms.

    Raises NoToken.
    """
    if 300 <= status_code < 400:
        raise NoToken(f"status {status_code}: redirects are not followed")
    if len(body) > LONGEST_ANSWER:
        raise NoToken(f"its answer has more than {LONGEST_ANSWER} bytes")
    said = _object(body)
    if not 200 <= status_code < 300:
        error = said.get("error")
        raise NoToken(f"status {status_code}" + (f" ({error})" if isinstance(error, str) and error in _ERRORS else ""))
    if not said:
        raise NoToken("its answer is no JSON object")
    kind, value = said.get("token_type"), said.get("access_token")
    if not isinstance(kind, str) or kind.lower() != "bearer":
        raise NoToken("its answer has a token_type other than bearer")
    if not isinstance(value, str) or len(value) > LONGEST_TOKEN or not _TOKEN.fullmatch(value):
        raise NoToken("its answer has no access_token that a header can hold")
    life = _life_seconds(said.get("expires_in"))
    used_seconds = life - min(SKEW_SECONDS, life * SKEW_SHARE)
    return AccessToken(value, made_ms, made_ms + round(used_seconds * 1000))


def _object(body: bytes) -> dict[str, Any]:
    """The JSON object of an answer; an empty one where it is none."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _life_seconds(said: Any) -> float:
    if isinstance(said, str) and re.fullmatch(r"[0-9]{1,15}", said):
        said = int(said)  # some servers write it so
    if type(said) not in (int, float) or said != said:  # noqa: PLR0124  NaN, which Python's JSON has
        return USUAL_LIFE
    return float(min(max(said, SHORTEST_LIFE), LONGEST_LIFE))
