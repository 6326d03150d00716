"""Processes on this machine: a private Redis server, services, their data folder. Also for the tests of users."""
