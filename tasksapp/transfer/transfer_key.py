"""TransferKey: secrets on their way between two sites, whose own keys differ."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from tasksapp.errors import InvalidExport
from tasksapp.models.encrypted_text import open_sealed, seal

if TYPE_CHECKING:
    from cryptography.fernet import Fernet


class TransferKey:
    """Encrypts secrets for an export, and opens those of one.

    Args:
        text: a Fernet key that both sites are given; '' for none: secrets are then left out.

    Raises InvalidExport where the text is no such key.
    """

    def __init__(self, text: str = "") -> None:
        self._text = text
        #: Secrets that were left out.
        self.left_out = 0
        #: Of these, all that an encrypted row carries.
        self.rows_left_out = 0
        if text:
            _ = self._box

    def pack(self, sealed: str) -> str:
        """What this site sealed, as an export carries it; '' where there is no key. Raises SecretUnreadable."""
        return self.pack_text(open_sealed(sealed)) if self._text or not sealed else self._leave_out()

    def pack_text(self, text: str) -> str:
        """The text, as an export carries it; '' where there is no key."""
        if not text:
            return ""
        return self._box.encrypt(text.encode()).decode() if self._text else self._leave_out()

    def unpack(self, packed: str) -> str:
        """What an export carries, sealed by this site. Raises InvalidExport where the key does not fit."""
        return seal(self.unpack_text(packed))

    def unpack_text(self, packed: str) -> str:
        """The text that an export carries. Raises InvalidExport where the key does not fit."""
        from cryptography.fernet import InvalidToken  # noqa: PLC0415  with the first secret, not at each start: 7 MB

        if not packed:
            return ""
        if not self._text:
            raise InvalidExport("it holds secrets: give the key that it was exported with, by --key")
        try:
            return self._box.decrypt(packed.encode()).decode()
        except InvalidToken:
            raise InvalidExport("its secrets were encrypted with another key than that of --key") from None

    def _leave_out(self) -> str:
        self.left_out += 1
        return ""

    @cached_property
    def _box(self) -> Fernet:
        from cryptography.fernet import Fernet  # noqa: PLC0415  as above

        try:
            return Fernet(self._text)
        except ValueError:
            said = "the key must be 32 bytes in URL-safe base64, as Fernet.generate_key() gives"
            raise InvalidExport(said) from None
