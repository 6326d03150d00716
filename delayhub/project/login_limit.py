"""LoginLimit: failed logins of one user from one address, or from one address, make the next ones wait."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.admin.forms import AdminAuthenticationForm
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from delayhub.client_network import client_of
from delayhub.clock import Clock
from delayhub.failure_limit import FailureLimit

#: Failures after which a user has to wait at that address, and after which all users have to wait there.
USER_FAILURES, ADDRESS_FAILURES = 5, 50
#: How long failures count, from the first of them.
WINDOW_SECONDS = 300.0


class LoginLimit:
    """Counts failed logins in this process.

    Args:
        clock: tells the time.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._of_users = FailureLimit(most=USER_FAILURES, window_seconds=WINDOW_SECONDS, clock=clock)
        self._of_addresses = FailureLimit(most=ADDRESS_FAILURES, window_seconds=WINDOW_SECONDS, clock=clock)

    def wait_seconds(self, user: str, *, address: str) -> float:
        """How long that user has to wait at that address; 0 for not at all."""
        return max(self._of_users.wait_seconds((address, user)), self._of_addresses.wait_seconds(address))

    def failed(self, user: str, *, address: str) -> None:
        """Counts a failed login."""
        self._of_users.failed((address, user))
        self._of_addresses.failed(address)

    def succeeded(self, user: str, *, address: str) -> None:
        """Forgets the failures of that user at that address."""
        self._of_users.succeeded((address, user))

    def forget(self) -> None:
        """Forgets all failures."""
        self._of_users.forget()
        self._of_addresses.forget()


login_limit = LoginLimit()


class LimitedLoginForm(AdminAuthenticationForm):
    """The admin's login form; refuses, with the time to wait, who has failed too often, and asks no password then."""

    def clean(self) -> dict[str, Any]:
        """The user's name and password. Raises ValidationError where they are wrong, or too many were."""
        # One name however it is written, of a bounded length.
        user = str(self.cleaned_data.get("username") or "").casefold()[:150]
        proxies = 1 if settings.TRUST_PROXY else 0
        address = client_of(self.request.META, proxies=proxies) if self.request is not None else ""
        wait = login_limit.wait_seconds(user, address=address)
        if wait > 0:
            raise ValidationError(
                _("Too many failed logins. Try again in %(minutes)d min."),
                code="too_many_failures",
                params={"minutes": int(wait // 60) + 1},
            )
        try:
            found: dict[str, Any] = super().clean()
        except ValidationError:
            login_limit.failed(user, address=address)
            raise
        if self.get_user() is not None:
            login_limit.succeeded(user, address=address)
        return found
