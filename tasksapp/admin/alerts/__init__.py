"""Alerts in the admin: the page that lists them, and silences."""
