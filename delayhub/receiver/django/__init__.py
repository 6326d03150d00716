"""For receivers of callbacks that are Django projects: add ``delayhub.receiver.django`` to ``INSTALLED_APPS``."""

from __future__ import annotations

from delayhub.receiver.django.once import once, prune, verified

__all__ = ["once", "prune", "verified"]
