"""Alerts: owners are told when something is wrong, and when it is well again; docs/alerts.md describes it."""
