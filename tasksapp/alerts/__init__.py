"""Alerts: owners are told when something is wrong, and when it is well again; docs/run/alerts.md describes it."""
