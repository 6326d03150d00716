"""Unit."""
