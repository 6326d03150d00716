"""Where a text stands: in any column of any table, in Redis, plain or in the forms in which texts are often kept."""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from typing import Any

import redis
from django.apps import apps
from django.db import connection


def places_of(text: str, server: redis.Redis) -> list[str]:
    """The tables and columns, and the keys of Redis, that hold the text."""
    forms = list(_forms(text.encode()))
    return [place for place, held in (*_columns(), *_keys(server)) if any(form in held for form in forms)]


def _forms(text: bytes) -> Iterator[bytes]:
    """The text, its digits, and all that base64 makes of it wherever it stands in a longer text."""
    yield from (text, text.hex().encode(), text.hex().upper().encode())
    for ahead in range(3):
        for encode in (b64encode, urlsafe_b64encode):
            # Without the characters at both ends, which depend on what stands beside it.
            yield encode(b"-" * ahead + text)[(4 if ahead else 0) : -4]


def _columns() -> Iterator[tuple[str, bytes]]:
    for model in apps.get_app_config("tasksapp").get_models(include_auto_created=True):
        if not model._meta.managed:
            continue
        names = [connection.ops.quote_name(column.column) for column in model._meta.concrete_fields]
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {', '.join(names)} FROM {model._meta.db_table}")
            for row in cursor.fetchall():
                for name, value in zip(names, row, strict=True):
                    yield f"{model._meta.db_table}.{name}", _bytes(value)


def _bytes(value: Any) -> bytes:
    return bytes(value) if isinstance(value, bytes | memoryview) else str(value).encode()


def _keys(server: redis.Redis) -> Iterator[tuple[str, bytes]]:
    readers: dict[str, Any] = {
        "string": server.get,
        "hash": server.hgetall,
        "list": lambda key: server.lrange(key, 0, -1),
        "set": server.smembers,
        "zset": lambda key: server.zrange(key, 0, -1, withscores=True),
        "stream": server.xrange,
    }
    for key in server.scan_iter():
        yield f"redis {key!r}", repr((key, readers[server.type(key).decode()](key))).encode()
