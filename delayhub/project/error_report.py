"""What Django's page for errors in debug mode shows of the settings."""

from __future__ import annotations

import re

from django.views.debug import SafeExceptionReporterFilter


class ErrorReportFilter(SafeExceptionReporterFilter):
    """Hides, beside what Django hides by its name, the URLs of servers: they hold passwords."""

    hidden_settings = re.compile(
        rf"{SafeExceptionReporterFilter.hidden_settings.pattern}|(?:DATABASE|BROKER|REDIS)_URL|RESULT_BACKEND",
        re.IGNORECASE,
    )
