"""Alerts in the admin: what is wrong now, what was, and what was sent about it."""
