"""The public keys of a biz type, at an address that needs no login: by them receivers check ``v1a`` signatures."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from delayhub.api_models.biz_types import KeyPairs
from tasksapp.api.http.answers import json_of, serializer_of
from tasksapp.api.http.problems import nothing_there
from tasksapp.biz_types import verbs
from tasksapp.models import BizType

#: Shorter than any overlap that makes sense, so that a receiver has a new key before the old one ends.
MAX_AGE_SECONDS = 300
_COLUMNS = ("public_key", "previous_public_key", "previous_key_until")


@csrf_exempt
@login_not_required
@require_safe
def public_keys(request: HttpRequest, biz_type_id: int) -> HttpResponseBase:
    """``{"keys": ["whpk_…"]}``, the newest first; a problem document (404) where the biz type signs by no key.

    It says neither the code of a biz type nor whether there is one: only keys, which are no secrets.
    """
    found = BizType.objects.filter(pk=biz_type_id).only(*_COLUMNS).first() if biz_type_id < 2**63 else None
    keys = verbs.public_keys(found, now=timezone.now()) if found is not None else []
    if not keys:
        return nothing_there(request)
    return JsonResponse({"keys": keys}, headers={"Cache-Control": f"public, max-age={MAX_AGE_SECONDS}"})


def key_pairs_json(biz_type: BizType, *, now: datetime) -> dict[str, Any]:
    """The public keys, as :class:`KeyPairsSerializer` describes them."""
    keys = verbs.public_keys(biz_type, now=now)
    ends = biz_type.previous_key_until if len(keys) > 1 else None
    return json_of(KeyPairs, public_keys=keys, previous_key_until=ends)


KeyPairsSerializer = serializer_of(
    KeyPairs,
    example={
        "public_keys": ["whpk_mXZ0Nq3k0X9tWmJ3c2pX2m0n3s1c8kq0m4dY6mZt1dI="],
        "previous_key_until": None,
    },
)
