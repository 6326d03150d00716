"""All biz types as one document, to be kept in Git: exported without secrets, and imported as often as one likes.

An import makes what is missing and changes what differs. What the document does not say stays as it is: fields, such as
a mask that an export of an earlier release knows nothing of, biz types, pauses and signing secrets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import QuerySet

from tasksapp.access import audit
from tasksapp.access.actors import Actor
from tasksapp.biz_types import verbs
from tasksapp.biz_types.definition import FIELDS, definition_of, json_names
from tasksapp.biz_types.editing import add, prepare
from tasksapp.errors import Fault, InvalidBizType
from tasksapp.models import BizType
from tasksapp.models.conflicts import repeated

#: The version of the document's format.
VERSION = 1
#: Biz types of one document.
MOST = 1_000
_MEMBERS = frozenset({"version", "biz_types"})


class Change(NamedTuple):
    """What an import does to one biz type.

    Args:
        code: its code.
        action: ``create``, ``change`` or ``none``.
        before: the fields that change, as they were; empty for a new one.
        after: the same as they are then.
        needs: secrets that are set elsewhere, and that it does not have yet: ``signing_secret``.
    """

    code: str
    action: str
    before: dict[str, Any]
    after: dict[str, Any]
    needs: list[str]


class Imported(NamedTuple):
    """What an import did, or would do.

    Args:
        changes: one for each biz type of the document, in its order.
        left_alone: the codes of biz types that the document does not name.
    """

    changes: list[Change]
    left_alone: list[str]


def export_document(biz_types: Iterable[BizType]) -> dict[str, Any]:
    """The document of those biz types, by code."""
    listed = sorted(biz_types, key=lambda biz_type: biz_type.code)
    return {"version": VERSION, "biz_types": [definition_of(biz_type) for biz_type in listed]}


@repeated
def import_document(
    document: Any,
    *,
    within: QuerySet[BizType],
    tenant_id: int,
    credentials: Mapping[str, str] | None = None,
    dry_run: bool = False,
    by: Actor | None = None,
) -> Imported:
    """Brings the biz types to what the document says, all of them or none.

    Args:
        document: what :func:`export_document` gives.
        within: the biz types that are compared with it.
        tenant_id: whose new ones are.
        credentials: by code, the ``auth_secret`` of those whose callbacks carry one; stored ones stay where they may.
        dry_run: find the differences and store nothing.
        by: who does it, for the audit.

    Raises InvalidBizType, which names every fault of the document; CodeTaken where another transaction adds a biz type
    at the same time.
    """
    entries, secrets = _entries(document), dict(credentials or {})
    with transaction.atomic(using=within.db):
        stored = {row.code: row for row in within.select_for_update(no_key=True).order_by("pk")}
        faults = [
            Fault(f"credentials.{code}"[:100], "unknown", f"the document has no biz type {code!r:.100}")
            for code in secrets
            if code not in {entry["code"] for entry in entries}
        ]
        found: list[Change] = []
        for number, entry in enumerate(entries):
            biz_type = stored.pop(entry["code"], None)
            try:
                found.append(
                    _brought(
                        biz_type or _new(tenant_id, using=within.db),
                        entry,
                        auth_secret=secrets.get(entry["code"], ""),
                        stores=not (dry_run or faults),
                        by=by,
                    )
                )
            except InvalidBizType as error:
                faults += [Fault(f"biz_types.{number}.{field}", code, said) for field, code, said in error.faults]
        if faults:
            raise InvalidBizType(faults)  # which rolls back what was stored before the first of them
    return Imported(found, sorted(stored))


def _new(tenant_id: int, *, using: str) -> BizType:
    biz_type = BizType(tenant_id=tenant_id)
    biz_type._state.db = using
    return biz_type


def _brought(
    biz_type: BizType, entry: Mapping[str, Any], *, auth_secret: str, stores: bool, by: Actor | None
) -> Change:
    """Brings one biz type to what its entry says."""
    is_new = biz_type.pk is None
    before = definition_of(biz_type)
    changed = prepare(biz_type, entry, auth_secret=auth_secret)
    after = definition_of(biz_type)
    if stores and is_new:
        add(biz_type, by=by)
    elif stores and changed:
        verbs.edit(biz_type, changed, by=by)
    names = FIELDS if is_new else json_names(changed)
    said = {name: after[name] for name in names}
    if "auth_secret" in changed:
        said["auth_secret"] = audit.CHANGED
    action = "create" if is_new else "change" if changed else "none"
    needs = ["signing_secret"] if biz_type.is_unsigned else []
    return Change(biz_type.code, action, {} if is_new else {name: before[name] for name in names}, said, needs)


def _entries(document: Any) -> list[dict[str, Any]]:
    """The entries of the document. Raises InvalidBizType where it is none of ours."""
    if not isinstance(document, dict):
        raise InvalidBizType([Fault("biz_types", "invalid", "the document must be a JSON object")])
    faults = [
        Fault(name[:100], "unknown", f"there is no field {name[:100]!r}") for name in document if name not in _MEMBERS
    ]
    if document.get("version") != VERSION or type(document["version"]) is not int:
        faults.append(Fault("version", "invalid", f"version must be {VERSION}"))
    entries = document.get("biz_types")
    if not isinstance(entries, list) or len(entries) > MOST:
        raise InvalidBizType(
            [*faults, Fault("biz_types", "invalid", f"biz_types must be a list of at most {MOST} biz types")]
        )
    seen: set[str] = set()
    for number, entry in enumerate(entries):
        code = entry.get("code") if isinstance(entry, dict) else None
        if not isinstance(code, str):
            said = "each biz type must be a JSON object with a code"
            faults.append(Fault(f"biz_types.{number}.code", "required", said))
        elif code in seen:
            faults.append(Fault(f"biz_types.{number}.code", "twice", f"the document names {code!r:.100} twice"))
        else:
            seen.add(code)
    if faults:
        raise InvalidBizType(faults)
    return entries
