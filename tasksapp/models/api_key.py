"""ApiKey: who may call the API."""

from __future__ import annotations

import hashlib
import secrets
from typing import NamedTuple

from django.db import models

#: How a key begins, so that a leaked one is known for what it is.
MARK = "dh_"
PREFIX_LENGTH = 11


class IssuedKey(NamedTuple):
    """A new key: its row, and the key itself, which is nowhere else."""

    row: ApiKey
    key: str


class ApiKeyManager(models.Manager["ApiKey"]):
    """Issues keys and finds whom a key belongs to."""

    def issue(self, name: str, *, key: str | None = None) -> IssuedKey:
        """A key for that caller: a new one, or the one given."""
        key = key or new_key()
        row = self.model(name=name)
        row.set_key(key)
        row.save(using=self.db)
        return IssuedKey(row, key)

    def owner_of(self, key: str) -> ApiKey | None:
        """The enabled row of that key, or None."""
        row = self.filter(prefix=key[:PREFIX_LENGTH], enabled=True).first()
        if row is None or not secrets.compare_digest(row.hashed_key, hash_key(key)):
            return None
        return row


class ApiKey(models.Model):
    """A caller's key. The key itself is shown once and kept as a hash."""

    name = models.CharField(max_length=200, unique=True)
    prefix = models.CharField(max_length=16, unique=True, help_text="How the key begins; finds the row.")
    hashed_key = models.CharField(max_length=128)
    enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    objects = ApiKeyManager()

    class Meta:
        db_table = "delayhub_api_key"
        ordering = ["name"]
        verbose_name = "API key"

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    def set_key(self, key: str) -> None:
        """Makes that the row's key, of which it keeps a hash."""
        self.prefix, self.hashed_key = key[:PREFIX_LENGTH], hash_key(key)


def new_key() -> str:
    """A key that nobody can guess: 256 random bits."""
    return MARK + secrets.token_urlsafe(32)


def hash_key(key: str) -> str:
    """SHA-256 of a key. Keys are 256 random bits: there is nothing to guess, so nothing slow is needed."""
    return hashlib.sha256(key.encode()).hexdigest()
