"""The WSGI application: ``granian --interface wsgi delayhub.project.wsgi:application``."""

from __future__ import annotations

import gc
import os

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "delayhub.project.settings")

application = get_wsgi_application()

# Modules that are loaded by now stay for good. Frozen, they are not visited by the garbage collector again and again,
# which took a tenth of a request.
get_resolver().url_patterns  # noqa: B018  loads the views, which Django would do with the first request
gc.collect()
gc.freeze()
