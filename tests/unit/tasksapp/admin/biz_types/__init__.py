"""Biz types."""
