"""Signed callbacks by Standard Webhooks: for whoever sends them and whoever receives them."""
