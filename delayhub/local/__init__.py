"""Processes on this machine: a private Redis server, services, and their data folder."""
