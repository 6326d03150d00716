"""The tests of the Python client can ask for the TypeScript client in its place."""

from __future__ import annotations

from tests.typescript_client import over, typescript

__all__ = ["over", "typescript"]
