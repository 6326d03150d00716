"""What Django's page for errors in debug mode shows of the settings."""

from __future__ import annotations

import re
from typing import Any

from django.utils.module_loading import import_string
from django.views.debug import SafeExceptionReporterFilter

from delayhub.secrecy import is_shown


class ErrorReportFilter(SafeExceptionReporterFilter):
    """Hides, beside what Django hides by its name, the URLs of servers, this project's environment, and secret options.

    URLs hold passwords. Of the options in ``DELAYHUB`` only those are shown whose marks open them.
    """

    hidden_settings = re.compile(
        rf"{SafeExceptionReporterFilter.hidden_settings.pattern}"
        r"|(?:DATABASE|BROKER|REDIS|EMAIL)_URL|RESULT_BACKEND|^DELAYHUB_",
        re.IGNORECASE,
    )

    def cleanse_setting(self, key: str | int, value: Any) -> Any:
        """The value as the page shows it."""
        if key != "DELAYHUB" or not isinstance(value, dict):
            return super().cleanse_setting(key, value)
        # The app is named by dotted string only.
        secrecy_of = import_string("tasksapp.conf.secrecy_of")
        return {
            name: one if is_shown(one, secrecy_of(str(name).lower())) else self.cleansed_substitute
            for name, one in value.items()
        }
