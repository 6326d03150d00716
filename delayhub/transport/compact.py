"""Compact messages: what follows the name of a message's task is deflated with a dictionary that all releases have.

A compact payload is what the scripts read (``{"headers":{"task":"…"``), the ids of the message with 16 bytes each, the
deflated rest, and six bytes about it. In the rest, a control character stands for each id: JSON has none.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterable

from delayhub.engine.task_name import head_of

#: The longest message that is made compact, in bytes: deflating costs more the longer it is, and saves little then.
LONGEST = 4096
#: What of zlib's options suits messages so short: a window that holds the dictionary and the message, little to set up.
WINDOW, MEMORY = -13, 5
#: The last bytes of a compact payload: where the ids begin, how many there are, which dictionary, and these two.
TRAILER = struct.Struct(">HBBBB")
MARK, FORMAT = 0x1F, 1
#: Later releases may count the format up to this.
LAST_FORMAT = 0x1F
#: So many control characters, from 1 on, may stand for ids.
MOST_IDS = 8

_UUID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

#: What messages often have, the most frequent last. A dictionary never changes: messages that wait were made with it.
DICTIONARIES = {
    1: (
        b'"compression":"application/x-gzip","chord":{"task":"celery.chord_unlock","args":[],"kwargs":{},"options":'
        b'{"task_id":"","reply_to":"","queue":""},"subtask_type":"chord","chord_size":null,"immutable":true}'
        b'\\"callbacks\\": [{\\"task\\": \\"errbacks\\": [{\\"chain\\": [{\\"task\\": \\"args\\": [\\"kwargs\\": {'
        b'\\"options\\": {\\"task_id\\": \\"reply_to\\": \\"subtask_type\\": null, \\"immutable\\": false, true'
        b'0123456789 None, True, False, datetime.datetime(2026, 2027, Decimal(\'"timelimit":[300,240],"retries":1,'
        b'"expires":"2026-01-01T00:00:00.000000+00:00","redelivered":true,"exchange":"celery","priority":9'
        b'"ignore_result":false,"replaced_task_nesting":0,"stamped_headers":null,"stamps":{},"x-delayhub-due":17'
        b',"lang":"py","id":"\x01","shadow":null,"eta":null,"expires":null,"group":null,"group_index":null,"retries":0,'
        b'"timelimit":[null,null],"root_id":"\x01","parent_id":"\x02","argsrepr":"()","kwargsrepr":"{\'","origin":"gen1@'
        b'","ignore_result":true,"replaced_task_nesting":0,"stamped_headers":null,"stamps":{}"parent_id":null,"argsrepr'
        b'":"(\'\',)","kwargsrepr":"{}","origin":"gen","x-delayhub-due":1795},"body":"[[\\"'
        b'\\"], {}, {\\"callbacks\\": null, \\"errbacks\\": null, \\"chain\\": null, \\"chord\\": null}]",'
        b'"content-encoding":"utf-8","content-type":"application/json","properties":{"correlation_id":"\x01","reply_to":"\x02",'
        b'"delivery_mode":2,"delivery_info":{"exchange":"","routing_key":"celery"},"priority":0,"body_encoding":"utf-8",'
        b'"delivery_tag":"\x03"}}'
    ),
}
DICTIONARY = 1


class NotCompact(ValueError):
    """A payload ends like a compact message, and is none."""


class LaterFormat(ValueError):
    """A message has a form that only later releases read."""


def packed(payload: bytes, *, ids: Iterable[object], delivery_tag: str) -> bytes | None:
    """The compact form of a message; None for one that has none: it calls no task, is long, or its tag is no UUID.

    Args:
        payload: the message as JSON without characters beyond ASCII.
        ids: texts that may be in it; those that are UUIDs take 16 bytes, however often they are there.
        delivery_tag: of the message. A publish that is sent again is known by it, so it must be found in the payload.
    """
    head = head_of(payload)
    if not head or len(payload) > LONGEST or not _UUID.fullmatch(delivery_tag):
        return None
    kept = [delivery_tag]
    for one in ids:
        if isinstance(one, str) and one not in kept and _UUID.fullmatch(one):
            kept.append(one)
    del kept[MOST_IDS:]
    rest = payload[len(head) :]
    for number, one in enumerate(kept, 1):
        rest = rest.replace(one.encode(), bytes((number,)))
    deflate = zlib.compressobj(6, zlib.DEFLATED, WINDOW, MEMORY, zlib.Z_DEFAULT_STRATEGY, DICTIONARIES[DICTIONARY])
    parts = [head, *map(token_of, kept), deflate.compress(rest), deflate.flush()]
    found = b"".join([*parts, TRAILER.pack(len(head), len(kept), DICTIONARY, MARK, FORMAT)])
    return found if len(found) < len(payload) else None


def unpacked(payload: bytes) -> bytes:
    """The message of a payload as JSON; one that is not compact as it is.

    Raises:
        LaterFormat: only later releases read it.
        NotCompact: it is damaged.
    """
    if len(payload) <= TRAILER.size or payload[-2] != MARK or not FORMAT <= payload[-1] <= LAST_FORMAT:
        return payload
    if payload[-1] > FORMAT:
        raise LaterFormat(f"format {payload[-1]}; this release reads up to {FORMAT}")
    at, count, dictionary, _, _ = TRAILER.unpack(payload[-TRAILER.size :])
    if dictionary not in DICTIONARIES:
        raise LaterFormat(f"dictionary {dictionary}; this release has {max(DICTIONARIES)}")
    start = at + 16 * count
    inflate = zlib.decompressobj(WINDOW, DICTIONARIES[dictionary])
    try:
        rest = inflate.decompress(payload[start : -TRAILER.size], LONGEST)
    except zlib.error as error:
        raise NotCompact(str(error)) from error
    if not inflate.eof or count > MOST_IDS:
        raise NotCompact(f"it is cut off, or longer than {LONGEST} bytes")
    for number in range(1, count + 1):
        rest = rest.replace(bytes((number,)), _uuid(payload[at + 16 * number - 16 : at + 16 * number]))
    return payload[:at] + rest


def token_of(uuid: str) -> bytes:
    """What of a UUID is in a compact payload: its 16 bytes."""
    return bytes.fromhex(uuid.replace("-", ""))


def _uuid(raw: bytes) -> bytes:
    digits = raw.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}".encode()
