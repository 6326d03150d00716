"""Record: one row in an export, a JSON object with its columns by their names.

What refers to another row names it as callers do: a biz type by its code, a series by its name. So it means the same in
another database, where ids of such rows differ. Ids of jobs stay.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError
from django.db import models
from django.utils.timezone import is_naive

from tasksapp.delivery.own_request import read_own_request
from tasksapp.errors import InvalidExport
from tasksapp.models import ApiKey, BizType, Job, Series
from tasksapp.models.api_key import NO_BIZ_TYPE
from tasksapp.models.columns import sealed_texts
from tasksapp.models.job_keys import IdempotencyKey, PausedKey, Tombstone
from tasksapp.models.new_job import Carried
from tasksapp.models.sealable import CARRIED, stored
from tasksapp.models.sealed_value import is_sealed, seal_short
from tasksapp.transfer.transfer_key import TransferKey

#: Columns with what a row's own request has, secrets among it.
_REQUEST = "request"
#: The column of keys that are limited to some biz types.
_LIMITED = "biz_type_ids"
#: What a record has in place of the columns of an encrypted row, and which these are.
ENCRYPTED = "encrypted_row"
_ENCRYPTED = (*CARRIED, "last_error")


class Kind(NamedTuple):
    """A kind of rows.

    Args:
        model: its rows.
        without: columns that mean nothing on another site: it has its own.
    """

    model: type[models.Model]
    without: frozenset[str] = frozenset({"id"})

    @property
    def columns(self) -> list[models.Field[Any, Any]]:
        """Its columns, in the order of the model."""
        return [column for column in self.model._meta.concrete_fields if column.name not in self.without]


#: By its name in an export, in the order in which they are read: no row names one that comes later.
KINDS: Mapping[str, Kind] = {
    "biz_type": Kind(
        BizType, frozenset({"id", "tenant", "queue_name", "revision", "created_at", "updated_at", "moved_to"})
    ),
    "api_key": Kind(ApiKey, frozenset({"id", "tenant", "created_at", "last_used_at", "last_used_from", "moved_to"})),
    "series": Kind(Series),
    "paused_key": Kind(PausedKey),
    "tombstone": Kind(Tombstone),
    "idempotency_key": Kind(IdempotencyKey),
    # What a worker has of it is not carried, nor what an operation does with it: neither is there on the other site.
    "job": Kind(Job, frozenset({"lease_until", "lease_token", "worker", "operation_id"})),
}


@dataclass(slots=True)
class Names:
    """What rows of one site are called, both ways."""

    biz_types: dict[str, BizType] = field(default_factory=dict)
    series: dict[tuple[str, str], int] = field(default_factory=dict)
    codes: dict[int, str] = field(default_factory=dict)
    series_names: dict[int, str] = field(default_factory=dict)

    def add_biz_type(self, biz_type: BizType) -> None:
        """Notes a biz type that is stored."""
        self.biz_types[biz_type.code] = biz_type
        self.codes[biz_type.pk] = biz_type.code

    def add_series(self, series: Series) -> None:
        """Notes a series that is stored."""
        self.series[self.codes[series.biz_type_id], series.name] = series.pk
        self.series_names[series.pk] = series.name


def record_of(kind: str, row: models.Model, *, names: Names, key: TransferKey) -> dict[str, Any]:
    """The row as a JSON object. Raises SecretUnreadable where no key of the site opens one of its secrets."""
    record: dict[str, Any] = {"kind": kind}
    sealed = set(sealed_texts(type(row)).values())
    for column in KINDS[kind].columns:
        value = getattr(row, column.attname)
        if column.name == "biz_type":
            value = names.codes[value]
        elif column.name == "series":
            # One that was deleted leaves its jobs.
            value = names.series_names.get(value)
        elif column.name == _LIMITED:
            # With none it would be for all of them: one that is limited to what was deleted stays so.
            value = [names.codes[each] for each in value if each in names.codes] or [None for _ in value[:1]]
        elif column.name in sealed:
            value = key.pack(value)
        elif column.name == _REQUEST and value:
            own = read_own_request(value)
            packed = {name: key.pack(each) for name, each in own.sealed.items()}
            value = own._replace(sealed={name: each for name, each in packed.items() if each}).text()
        elif not isinstance(value, (str, int, float, list, dict, type(None))):
            value = column.value_to_string(row)
        record[column.name] = value
    hidden: tuple[str, ...] = _ENCRYPTED if isinstance(row, Carried) and row.is_sealed else ()
    if isinstance(row, Tombstone) and is_sealed(stored(row, "answer")):
        hidden = ("answer",)
    if hidden:
        said = {name: record.pop(name) for name in hidden if name in record}
        record[ENCRYPTED] = key.pack_text(json.dumps(said, ensure_ascii=False))
        key.rows_left_out += not record[ENCRYPTED]
    return record


def row_of(record: Mapping[str, Any], *, names: Names, key: TransferKey) -> models.Model:
    """The row that a record is about, not stored yet. Raises InvalidExport, which says what is wrong with it."""
    kind = KINDS[record["kind"]]
    columns = {column.name: column for column in kind.columns}
    seals, record = ENCRYPTED in record, _decrypted(record, key=key)
    if strange := record.keys() - columns.keys() - {"kind"}:
        raise InvalidExport(f"{record['kind']} has no column {min(strange)!r}: it is of a later release")
    row, sealed = kind.model(), set(sealed_texts(kind.model).values())
    for name, column in columns.items():
        if name in record:
            setattr(row, column.attname, _value(column, record, sealed=sealed, names=names, key=key))
    if isinstance(row, BizType) and not row.client_certificate_sealed:
        # It was left out as a secret; nobody may think that receivers are shown it.
        row.certificate_subject, row.certificate_ends_at = "", None
    try:
        row.clean_fields(exclude=[column.name for column in kind.model._meta.concrete_fields if column.is_relation])
    except ValidationError as error:
        name, messages = next(iter(error.message_dict.items()))
        raise InvalidExport(f"{record['kind']} {name}: {' '.join(messages)}") from None
    if seals and isinstance(row, Carried | Tombstone):
        row.seal()
    if seals and isinstance(row, Job):
        row.last_error = seal_short(row.last_error, place=f"{row.seal_place}/last_error")
    return row


def _decrypted(record: Mapping[str, Any], *, key: TransferKey) -> Mapping[str, Any]:
    """The record with what it has of an encrypted row in its place."""
    if ENCRYPTED not in record:
        return record
    if not record[ENCRYPTED]:
        raise InvalidExport("it was made without --key, so what encrypted jobs carry is not in it")
    rest = {name: value for name, value in record.items() if name != ENCRYPTED}
    return {**rest, **json.loads(key.unpack_text(record[ENCRYPTED]))}


def _value(
    column: models.Field[Any, Any], record: Mapping[str, Any], *, sealed: set[str], names: Names, key: TransferKey
) -> Any:
    """The value of a column, as its row keeps it."""
    name, value = column.name, record[column.name]
    if name == "biz_type":
        return _known(names, value).pk
    if name == "series":
        return names.series.get((record.get("biz_type", ""), value))
    if name == _LIMITED:
        return [NO_BIZ_TYPE if code is None else _known(names, code).pk for code in value]
    if name in sealed:
        return key.unpack(value)
    try:
        if name == _REQUEST and value:
            own = read_own_request(value)
            return own._replace(sealed={each: key.unpack(packed) for each, packed in own.sealed.items()}).text()
        read = value if isinstance(column, models.JSONField) else column.to_python(value)
    except InvalidExport:
        raise
    except (ValidationError, ValueError, TypeError):
        raise InvalidExport(f"{record['kind']} {name}: {value!r:.80} cannot be") from None
    if isinstance(read, datetime) and is_naive(read):
        raise InvalidExport(f"{record['kind']} {name}: {value!r:.80} has no time zone")
    return bytes(read) if isinstance(read, memoryview) else read


def _known(names: Names, code: Any) -> BizType:
    try:
        return names.biz_types[code]
    except (KeyError, TypeError):
        raise InvalidExport(f"it names the biz type {code!r:.80}, which it does not have") from None
