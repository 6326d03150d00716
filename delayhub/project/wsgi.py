"""The WSGI application: ``granian --interface wsgi delayhub.project.wsgi:application``."""

from __future__ import annotations

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "delayhub.project.settings")

application = get_wsgi_application()
