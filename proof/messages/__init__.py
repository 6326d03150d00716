"""Histories of messages: consumers that crash, replies that get lost, zombies, and a Redis that goes back in time."""
