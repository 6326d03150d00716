"""The part of the views of biz types that changes their secrets, and the one that sends a test."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponseBase, JsonResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe
from drf_spectacular.utils import OpenApiResponse
from rest_framework.request import Request
from rest_framework.response import Response

from delayhub.api_models.biz_types import KeyPairs, RotatedSecret, TestCall, TestRequest, TestResponse
from tasksapp.api.biz_types.access import find_biz_type, locked_biz_type, shown_biz_type
from tasksapp.api.biz_types.requests import (
    CertificateRequestSerializer,
    CredentialsRequestSerializer,
    MakeKeyPairRequestSerializer,
    RotateSecretRequestSerializer,
    TestCallRequestSerializer,
)
from tasksapp.api.http.answers import json_of, serializer_of
from tasksapp.api.http.authentication import actor_of
from tasksapp.api.http.endpoint import endpoint
from tasksapp.api.http.problems import Refused, nothing_there, refused
from tasksapp.biz_types import editing, verbs
from tasksapp.biz_types.certificate import BadPem, set_certificate
from tasksapp.biz_types.sample_call import Busy, SampleAnswer, TooManySamples, send_recorded_sample
from tasksapp.biz_types.validation import auth_complaint, secret_complaint
from tasksapp.jobs.validation import Body
from tasksapp.models import BizType
from tasksapp.models.api_key import Scope
from tasksapp.models.encrypted_text import SecretUnreadable

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


def sample_json(answer: SampleAnswer) -> dict[str, Any]:
    """A test call, as :class:`TestCall` describes it."""
    request, received = answer.request, None
    sent = request and json_of(TestRequest, request, headers=dict(request.headers), body=answer.body)
    if answer.status_code is not None:
        headers, body = answer.response_headers, answer.response_body
        received = json_of(TestResponse, status_code=answer.status_code, headers=headers, body=body)
    return json_of(TestCall, answer, request=sent, response=received)


_EXAMPLE: dict[str, Any] = {
    "verdict": "succeeds",
    "reason": "",
    "address": "allowed",
    "is_sent": True,
    "request": {
        "line": "POST https://shop.example/hooks/close",
        "headers": {"content-type": "application/json", "delayhub-test": "1", "webhook-signature": "…"},
        "body": '{"test": true, "order": 42}',
    },
    "response": {"status_code": 200, "headers": {"content-type": "text/plain"}, "body": "ok"},
    "duration_ms": 41,
    "timeout_seconds": 10.0,
    "cancels_others": False,
}
SentRequestSerializer = serializer_of(TestRequest, name="SentRequest", example=_EXAMPLE["request"])
ReceivedAnswerSerializer = serializer_of(TestResponse, name="ReceivedAnswer", example=_EXAMPLE["response"])
TestCallSerializer = serializer_of(TestCall, example=_EXAMPLE)
RotatedSecretSerializer = serializer_of(
    RotatedSecret,
    example={
        "signing_secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "previous_secret_until": "2027-02-01T08:30:00Z",
    },
)


_BODY = Body(field="body", help="What is sent.")


class BizTypeSecrets:
    """Secrets of biz types can be made, set and ended, and are never shown again."""

    @endpoint(
        "Rotate the signing secret",
        Scope.BIZ_TYPES_WRITE,
        post="rotate",
        takes=RotateSecretRequestSerializer,
        gives=RotatedSecretSerializer,
    )
    def rotate(self, request: Request, code: str, fields: dict[str, Any]) -> Response:
        """Signs callbacks with a new secret; the one before signs beside it, so that the receiver can change over."""
        lasts, own = _overlap(fields), _own_secret(fields)
        by = actor_of(request)
        with locked_biz_type(request, code) as biz_type:
            if own is None:
                made: str | None = verbs.make_signing_secret(biz_type, overlap=lasts, by=by)
            else:
                verbs.rotate_signing_secret(biz_type, own, overlap=lasts, by=by)
                made = None
        return Response(json_of(RotatedSecret, biz_type, signing_secret=made))

    @endpoint("End the previous signing secret", Scope.BIZ_TYPES_WRITE, post="end-rotation")
    def end_rotation(self, request: Request, code: str) -> Response:
        """Signs callbacks with the present secret only, from now on."""
        with locked_biz_type(request, code) as biz_type:
            verbs.end_previous(biz_type, verbs.Signing.SECRET, by=actor_of(request))
        return shown_biz_type(request, biz_type)

    @endpoint("Stop signing callbacks", Scope.BIZ_TYPES_WRITE, post="stop-signing")
    def stop_signing(self, request: Request, code: str) -> Response:
        """Deletes the signing secret. A receiver that checks signatures refuses the callbacks from now on."""
        with locked_biz_type(request, code) as biz_type:
            verbs.stop_signing(biz_type, verbs.Signing.SECRET, by=actor_of(request))
        return shown_biz_type(request, biz_type)

    @endpoint("List key pairs", Scope.BIZ_TYPES_READ, get="key-pairs", gives=KeyPairsSerializer)
    def key_pairs(self, request: Request, code: str) -> Response:
        """The public keys by which `v1a` signatures can be checked, the newest first; none where no key signs."""
        return Response(key_pairs_json(find_biz_type(request, code), now=timezone.now()))

    @key_pairs.mapping.post  # type: ignore[untyped-decorator]  # an endpoint may be any method
    @endpoint("Make a key pair", Scope.BIZ_TYPES_WRITE, takes=MakeKeyPairRequestSerializer, gives=KeyPairsSerializer)
    def make_key_pair(self, request: Request, code: str, fields: dict[str, Any]) -> Response:
        """Signs callbacks by a new key too (`v1a`); the one before signs beside it, so that the receiver can change.

        The private key stays here and is never shown.
        """
        overlap = _overlap(fields)
        with locked_biz_type(request, code) as biz_type:
            _refuse_without_callbacks(biz_type)
            verbs.make_key_pair(biz_type, overlap=overlap, by=actor_of(request))
        return Response(key_pairs_json(biz_type, now=timezone.now()))

    @endpoint(
        "End the previous key pair", Scope.BIZ_TYPES_WRITE, post="key-pairs/end-rotation", gives=KeyPairsSerializer
    )
    def end_key_rotation(self, request: Request, code: str) -> Response:
        """Signs callbacks by the present key only, from now on."""
        with locked_biz_type(request, code) as biz_type:
            verbs.end_previous(biz_type, verbs.Signing.KEY_PAIR, by=actor_of(request))
        return Response(key_pairs_json(biz_type, now=timezone.now()))

    @endpoint("Retire the key pairs", Scope.BIZ_TYPES_WRITE, post="key-pairs/retire", gives=KeyPairsSerializer)
    def retire_key_pairs(self, request: Request, code: str) -> Response:
        """Signs callbacks by no key any more, and deletes them. The signing secret, if there is one, goes on."""
        with locked_biz_type(request, code) as biz_type:
            verbs.stop_signing(biz_type, verbs.Signing.KEY_PAIR, by=actor_of(request))
        return Response(key_pairs_json(biz_type, now=timezone.now()))

    @endpoint("Set credentials", Scope.BIZ_TYPES_WRITE, put="credentials", takes=CredentialsRequestSerializer)
    def credentials(self, request: Request, code: str, fields: dict[str, Any]) -> Response:
        """Sets how callbacks are authorized. With `none`, the stored credentials are deleted."""
        auth, secret = fields["auth"], fields.pop("auth_secret", "")
        if auth == BizType.Auth.NONE and secret:
            raise refused("auth_secret", "invalid", "auth_secret must be left out where auth is none")
        if complaint := auth_complaint(auth, secret):
            raise refused("auth_secret", "invalid", f"auth_secret: {complaint}")
        with locked_biz_type(request, code) as biz_type:
            editing.change(biz_type, fields, auth_secret=secret, by=actor_of(request))
        return shown_biz_type(request, biz_type)

    @endpoint("Set a client certificate", Scope.BIZ_TYPES_WRITE, put="certificate", takes=CertificateRequestSerializer)
    def certificate(self, request: Request, code: str, fields: dict[str, Any]) -> Response:
        """Shows receivers that certificate, where they ask for one. With neither it nor a key, they are shown none."""
        given = {name: fields.get(name, "") for name in ("certificate", "private_key")}
        with locked_biz_type(request, code) as biz_type:
            try:
                set_certificate(biz_type, **given, by=actor_of(request))
            except BadPem as error:
                raise refused(error.name, "invalid", f"{error.name}: {error.message}") from None
        return shown_biz_type(request, biz_type)


class BizTypeTests:
    """Test calls of biz types."""

    @endpoint(
        "Send a test call",
        Scope.BIZ_TYPES_WRITE,
        post="test",
        once=True,
        takes=TestCallRequestSerializer,
        gives=OpenApiResponse(TestCallSerializer, "What was sent, and what was answered."),
    )
    def test(self, request: Request, code: str, fields: dict[str, Any]) -> Response:
        """Sends one callback to the receiver now, signed and authorized as always, and waits for the answer.

        It has the header `delayhub-test: 1`, makes no job, and works while the biz type is paused or disabled. It waits
        for 20 seconds at most. A key may send 10 a minute.
        """
        body = _BODY(fields["body"]) if "body" in fields else "{}"
        biz_type = find_biz_type(request, code)
        if biz_type.target != BizType.Target.HTTP:
            does = "is pulled" if biz_type.is_pulled else "runs a Celery task"
            raise Refused.of("no_callback", f"{code} {does}: there is nothing that a test could call.")
        try:
            answer = send_recorded_sample(
                biz_type, body=body, sender=getattr(request.user, "pk", None), by=actor_of(request)
            )
        except TooManySamples as error:
            raise Refused.of("too_many_tests", str(error), again_seconds=error.wait_seconds) from None
        except Busy:
            detail = "Other test calls are waiting for their answers. Send it again in a moment."
            raise Refused.of("busy", detail, again_seconds=1) from None
        except SecretUnreadable:
            detail = "The stored secrets cannot be decrypted: bring the old encryption key back, or set them again."
            raise Refused.of("secrets_unreadable", detail) from None
        return Response(sample_json(answer))


def _overlap(fields: dict[str, Any]) -> timedelta:
    """How long what was there before signs beside what is new."""
    return timedelta(seconds=fields["overlap_seconds"]) if "overlap_seconds" in fields else verbs.ROTATION


def _refuse_without_callbacks(biz_type: BizType) -> None:
    if biz_type.target != BizType.Target.HTTP:
        raise Refused.of("no_callback", f"{biz_type.code} has no callbacks: there is nothing that a key could sign.")


def _own_secret(fields: dict[str, Any]) -> str | None:
    """The signing secret that the caller brings; None where one is to be made. Raises Refused."""
    secret: str | None = fields.get("secret")
    if secret is not None and (complaint := secret_complaint(secret)):
        raise refused("secret", "invalid", f"secret: {complaint}")
    return secret
