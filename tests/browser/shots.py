"""Pictures of pages, for those who want to look."""

from __future__ import annotations

import os
from pathlib import Path

from playwright.sync_api import Page


class Shots:
    """Takes pictures where DELAYHUB_SCREENSHOTS names a folder; elsewhere none, since each costs half a second."""

    def __init__(self) -> None:
        self._folder = os.environ.get("DELAYHUB_SCREENSHOTS")

    def take(self, page: Page, name: str) -> None:
        if self._folder:
            page.screenshot(path=Path(self._folder) / f"{name}.png", full_page=True)
