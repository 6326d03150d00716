"""Signed callbacks by Standard Webhooks, for their senders and their receivers."""
