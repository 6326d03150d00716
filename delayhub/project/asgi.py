"""The ASGI application, for servers that speak ASGI only; WSGI is the faster of the two here."""

from __future__ import annotations

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "delayhub.project.settings")

application = get_asgi_application()
