"""A person logs in to the admin in a browser."""

from __future__ import annotations

from playwright.sync_api import Page


def log_in(page: Page, site: str) -> None:
    """Logs in as the person of the fixture ``site``."""
    page.goto(f"{site}/admin/")
    page.fill("#id_username", "ada")
    page.fill("#id_password", "analytical")
    page.click("input[type=submit]")
