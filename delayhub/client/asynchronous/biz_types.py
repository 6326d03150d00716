"""The verbs of biz types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Unpack

from delayhub.api_models.biz_types import (
    Auth,
    BizType,
    BizTypeFields,
    BizTypeImport,
    CreatedBizType,
    FlowKeys,
    KeyPairs,
    PausedFlowKey,
    RotatedSecret,
    TestCall,
)
from delayhub.client.asynchronous.connection import AsyncConnection
from delayhub.client.request import Request, given, parameters, plain, read, segment

_DOCUMENT = "/biz-type-definitions"


class AsyncBizTypes:
    """Biz types, the kinds of jobs. Every verb raises :class:`delayhub.client.ApiError`."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    # ------------------------------------------------------------ reading

    async def list(self) -> Sequence[BizType]:
        """All biz types that the key may see, by code. It reads all pages."""
        return [row async for row in self._connection.pages(BizType, "/biz-types", query=parameters(limit=1_000))]

    async def read(self, code: str) -> BizType:
        """The biz type with that code."""
        return await self._connection.one(BizType, read(_path(code)))

    # ------------------------------------------------------------ changing

    async def create(self, code: str, **fields: Unpack[BizTypeFields]) -> CreatedBizType:
        """Makes a biz type; gives it with the secret that its callbacks are signed with."""
        return await self._connection.one(CreatedBizType, Request("POST", "/biz-types", body={"code": code, **fields}))

    async def change(
        self, code: str, *, new_code: str | None = None, etag: str = "*", **fields: Unpack[BizTypeFields]
    ) -> BizType:
        """Changes the fields that are given, and no others.

        Args:
            code: its code.
            new_code: another code; callers have to use that one from then on.
            etag: the ``etag`` of the biz type that you read; if it has changed since, nothing changes:
                PreconditionFailed. ``*``: change it whatever it is now.
            fields: the fields.
        """
        request = Request("PATCH", _path(code), body={**fields, **given(code=new_code)}, headers={"If-Match": etag})
        return await self._connection.one(BizType, request)

    async def delete(self, code: str, *, etag: str = "*") -> None:
        """Deletes a biz type that has no jobs."""
        await self._connection.ask(Request("DELETE", _path(code), headers={"If-Match": etag}))

    async def pause(self, code: str, *, reason: str, until: datetime | str | None = None) -> BizType:
        """Holds its jobs, until that time or until it is resumed. New ones are still taken."""
        return await self._connection.post(BizType, f"{_path(code)}/pause", reason=reason, until=until)

    async def resume(self, code: str, *, reason: str | None = None) -> BizType:
        """Lets its jobs run again, slowly at first."""
        return await self._connection.post(BizType, f"{_path(code)}/resume", reason=reason)

    # ------------------------------------------------------------ flow keys

    async def flow_keys(self, code: str, *, flow_key: str | None = None) -> FlowKeys:
        """Its flow keys with most jobs that wait, 50 at most, or the one that is given; and all paused ones."""
        return await self._connection.one(
            FlowKeys, read(f"{_path(code)}/flow-keys", query=parameters(flow_key=flow_key))
        )

    async def pause_flow_key(
        self, code: str, flow_key: str, *, reason: str, until: datetime | str | None = None
    ) -> PausedFlowKey:
        """Holds the jobs of one flow key, until that time or until it is resumed; those of other keys go on."""
        fields = {"flow_key": flow_key, "reason": reason, "until": until}
        return await self._connection.post(PausedFlowKey, f"{_path(code)}/flow-keys/pause", **fields)

    async def resume_flow_key(self, code: str, flow_key: str, *, reason: str | None = None) -> PausedFlowKey:
        """Lets the jobs of a paused flow key run again, within its limits. One that runs stays as it is."""
        path = f"{_path(code)}/flow-keys/resume"
        return await self._connection.post(PausedFlowKey, path, flow_key=flow_key, reason=reason)

    # ------------------------------------------------------------ secrets and tests

    async def rotate_secret(
        self, code: str, *, overlap: timedelta | None = None, secret: str | None = None
    ) -> RotatedSecret:
        """Signs callbacks with a new secret; the one before signs beside it for that time.

        Args:
            code: its code.
            overlap: how long; a day, where it is not given.
            secret: your own; without it, the site makes one, and shows it this once.
        """
        seconds = None if overlap is None else int(overlap.total_seconds())
        path = f"{_path(code)}/rotate"
        return await self._connection.post(RotatedSecret, path, overlap_seconds=seconds, secret=secret)

    async def end_rotation(self, code: str) -> BizType:
        """Signs callbacks with the present secret only, from now on."""
        return await self._connection.post(BizType, f"{_path(code)}/end-rotation")

    async def stop_signing(self, code: str) -> BizType:
        """Deletes the signing secret; a receiver that checks signatures refuses callbacks from now on."""
        return await self._connection.post(BizType, f"{_path(code)}/stop-signing")

    async def key_pairs(self, code: str) -> KeyPairs:
        """The public keys by which its callbacks can be checked (``v1a``); none where no key signs."""
        return await self._connection.one(KeyPairs, read(f"{_path(code)}/key-pairs"))

    async def make_key_pair(self, code: str, *, overlap: timedelta | None = None) -> KeyPairs:
        """Signs callbacks by a new key too; the one before signs beside it for that time, or for a day."""
        seconds = None if overlap is None else int(overlap.total_seconds())
        return await self._connection.post(KeyPairs, f"{_path(code)}/key-pairs", overlap_seconds=seconds)

    async def end_key_rotation(self, code: str) -> KeyPairs:
        """Signs callbacks by the present key only, from now on."""
        return await self._connection.post(KeyPairs, f"{_path(code)}/key-pairs/end-rotation")

    async def retire_key_pairs(self, code: str) -> KeyPairs:
        """Signs callbacks by no key any more, and deletes them; the signing secret goes on."""
        return await self._connection.post(KeyPairs, f"{_path(code)}/key-pairs/retire")

    async def set_credentials(
        self,
        code: str,
        auth: Auth,
        *,
        auth_secret: str | None = None,
        token_url: str | None = None,
        client_id: str | None = None,
        token_fields: Mapping[str, str] | None = None,
    ) -> BizType:
        """Sets how callbacks are authorized; ``none`` deletes the stored credentials.

        Args:
            code: the biz type's.
            auth: how.
            auth_secret: ``user:password``, the token, or the client's secret.
            token_url: where OAuth2 access tokens are asked for; what is left out stays.
            client_id: who asks for them.
            token_fields: what else is asked, such as the scope.
        """
        body = given(
            auth=auth, auth_secret=auth_secret, token_url=token_url, client_id=client_id, token_fields=token_fields
        )
        request = Request("PUT", f"{_path(code)}/credentials", body=body, repeatable=True)
        return await self._connection.one(BizType, request)

    async def set_certificate(self, code: str, *, certificate: str = "", private_key: str = "") -> BizType:
        """Shows receivers that certificate, where they ask for one: both are PEM; with neither they are shown none."""
        body = given(certificate=certificate, private_key=private_key)
        request = Request("PUT", f"{_path(code)}/certificate", body=body, repeatable=True)
        return await self._connection.one(BizType, request)

    async def test(self, code: str, *, body: Any = None) -> TestCall:
        """Sends one callback to the receiver now, and waits for its answer. It makes no job."""
        request = Request("POST", f"{_path(code)}/test", body={} if body is None else {"body": body})
        return await self._connection.one(TestCall, request)

    # ------------------------------------------------------------ all as one document

    async def export(self) -> Mapping[str, Any]:
        """All biz types as one document, without secrets, for Git or another site."""
        exported: Mapping[str, Any] = await self._connection.ask(read(_DOCUMENT))
        return exported

    async def import_document(
        self, document: Mapping[str, Any], *, credentials: Mapping[str, str] | None = None, dry_run: bool = False
    ) -> BizTypeImport:
        """Makes what is missing and changes what differs, all or nothing. Biz types that it does not name stay.

        Args:
            document: as :meth:`export` gives it.
            credentials: by code, the ``auth_secret`` of biz types, which the document does not hold.
            dry_run: gives the differences, and changes nothing.
        """
        request = Request(
            "PUT",
            _DOCUMENT,
            query=parameters(dry_run=dry_run or None),
            body={**plain(document), **given(credentials=credentials)},
            repeatable=True,
        )
        return await self._connection.one(BizTypeImport, request)


def _path(code: str) -> str:
    return f"/biz-types/{segment(code)}"
