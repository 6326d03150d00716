"""What callers may send about biz types."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from tasksapp.access.audit import REASON_LENGTH
from tasksapp.api.biz_types.representation import described_field
from tasksapp.api.http.checked_request import CheckedRequest
from tasksapp.biz_types.certificate import LONGEST_PEM
from tasksapp.biz_types.definition import COLUMNS
from tasksapp.biz_types.document import MOST, VERSION
from tasksapp.biz_types.validation import LONGEST_SECRET
from tasksapp.models import BizType

#: The longest time for which a secret goes on signing beside a new one.
LONGEST_OVERLAP_SECONDS = 2_592_000

_AUTH_SECRET: dict[str, Any] = {
    "max_length": LONGEST_SECRET,
    "write_only": True,
    "help_text": "`user:password` for Basic, the token for Bearer, the client's secret for OAuth2. It is stored"
    " encrypted and never shown.",
}
_PEM: dict[str, Any] = {"required": False, "allow_blank": True, "write_only": True, "max_length": LONGEST_PEM}


class BizTypeDefinitionSerializer(serializers.Serializer[Any]):
    """What people set of a biz type. What is left out has its default."""

    example: dict[str, Any] = {
        "code": "order.close",
        "url": "https://shop.example/hooks/close",
        "max_attempts": 8,
        "delivery_rate": 200,
        "delivery_burst": 50,
    }

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Those of a definition; every one needs its code."""
        fields = {name: described_field(name, is_request=True) for name in COLUMNS}
        fields["code"].required = True
        return {**fields, **super().get_fields()}


class BizTypeRequestSerializer(BizTypeDefinitionSerializer):
    """A biz type to make: a code, and a URL or a task's name are enough."""

    auth_secret = serializers.CharField(required=False, allow_blank=True, **_AUTH_SECRET)


class ChangeBizTypeRequestSerializer(serializers.Serializer[Any]):
    """What is to change; everything else stays."""

    example: dict[str, Any] = {"max_attempts": 12, "delivery_rate": None}

    auth_secret = serializers.CharField(required=False, allow_blank=True, **_AUTH_SECRET)

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Those of a definition."""
        return {**{name: described_field(name, is_request=True) for name in COLUMNS}, **super().get_fields()}


class PauseBizTypeRequestSerializer(CheckedRequest):
    """Why its jobs wait, and until when."""

    example: dict[str, Any] = {"reason": "db move", "until": "2027-01-31T10:00:00Z"}

    reason = serializers.CharField(max_length=REASON_LENGTH, help_text="Everybody reads it who asks why a job waits.")
    until = serializers.DateTimeField(
        required=False, allow_null=True, help_text="A time to come; without it, until somebody resumes it."
    )


class ResumeBizTypeRequestSerializer(CheckedRequest):
    """Why it is resumed."""

    example: dict[str, Any] = {"reason": "the database has moved"}

    reason = serializers.CharField(required=False, allow_blank=True, max_length=REASON_LENGTH)


class MakeKeyPairRequestSerializer(CheckedRequest):
    """For how long the present key goes on signing."""

    example: dict[str, Any] = {"overlap_seconds": 86_400}

    overlap_seconds = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=LONGEST_OVERLAP_SECONDS,
        help_text="Callbacks have both signatures for so long; by default a day. 0: the old one ends at once.",
    )


class RotateSecretRequestSerializer(MakeKeyPairRequestSerializer):
    """For how long the present secret goes on signing, and the new one, where the caller brings it."""

    example: dict[str, Any] = {"overlap_seconds": 86_400}

    secret = serializers.CharField(
        required=False,
        write_only=True,
        max_length=100,
        help_text="`whsec_` and base64 of 24 to 64 bytes; without it, one is made and shown once.",
    )


class CredentialsRequestSerializer(CheckedRequest):
    """How callbacks are authorized, and with what."""

    example: dict[str, Any] = {"auth": "bearer", "auth_secret": "a-token"}

    auth = serializers.ChoiceField(choices=BizType.Auth.choices)
    auth_secret = serializers.CharField(required=False, allow_blank=True, **_AUTH_SECRET)
    token_url = described_field("token_url", is_request=True)
    client_id = described_field("client_id", is_request=True)
    token_fields = described_field("token_fields", is_request=True)


class CertificateRequestSerializer(CheckedRequest):
    """The certificate that receivers are shown, and its key. With neither, receivers are shown none."""

    example: dict[str, Any] = {
        "certificate": "-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----",
        "private_key": "-----BEGIN PRIVATE KEY-----\n…\n-----END PRIVATE KEY-----",
    }

    certificate = serializers.CharField(**_PEM, help_text="In PEM, with those that vouch for it.")
    private_key = serializers.CharField(
        **_PEM, help_text="In PEM, without a password. It is stored encrypted and never shown."
    )


class TestCallRequestSerializer(serializers.Serializer[Any]):
    """What is sent."""

    example: dict[str, Any] = {"body": {"test": True, "order": 42}}

    body = serializers.JSONField(required=False, allow_null=True, help_text="Signed and sent as it is; by default {}.")


class BizTypeDocumentSerializer(serializers.Serializer[Any]):
    """All biz types, without their secrets."""

    example: dict[str, Any] = {"version": VERSION, "biz_types": [BizTypeDefinitionSerializer.example]}

    version = serializers.IntegerField(min_value=VERSION, max_value=VERSION, help_text="Of the document's format.")
    biz_types = serializers.ListField(child=BizTypeDefinitionSerializer(), max_length=MOST)


class ImportBizTypesRequestSerializer(BizTypeDocumentSerializer):
    """The document of an export, and the credentials that it does not hold."""

    credentials = serializers.DictField(
        child=serializers.CharField(max_length=LONGEST_SECRET),
        required=False,
        write_only=True,
        help_text="By code, the `auth_secret` of biz types; it need not be repeated while it is stored.",
    )
