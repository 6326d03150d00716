"""Biz types over REST."""
