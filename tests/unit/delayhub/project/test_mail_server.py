"""The address of a mail server."""

from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.mail import EmailMessage, get_connection

from delayhub.project.mail_server import MailServer, NoMailServer, mail_server

SMTP = "django.core.mail.backends.smtp.EmailBackend"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("smtp://mx.example", MailServer(backend=SMTP, host="mx.example", port=587, starttls=True)),
        ("smtps://mx.example", MailServer(backend=SMTP, host="mx.example", port=465, tls=True)),
        ("smtp+plain://127.0.0.1:2525", MailServer(backend=SMTP, host="127.0.0.1", port=2525)),
        (
            "smtp://ann%40x.example:p%2Fw@mx.example:25",
            MailServer(backend=SMTP, host="mx.example", port=25, user="ann@x.example", password="p/w", starttls=True),
        ),
        ("console://", MailServer(backend="django.core.mail.backends.console.EmailBackend")),
    ],
)
def test_an_address_names_the_server_and_how_it_is_reached(url: str, expected: MailServer) -> None:
    assert mail_server(url) == expected


@pytest.mark.parametrize(
    "url", ["mx.example", "http://mx.example", "smtp://", "smtp://mx.example:0", "smtp://mx:x", "smtp://[mx"]
)
def test_what_is_no_address_is_refused_with_an_example(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="smtp://user:password@host:587"):
        mail_server(url)


def test_a_password_is_never_shown() -> None:
    assert "secret" not in repr(mail_server("smtp://ann:secret@mx.example"))


def test_without_an_address_mail_is_refused_with_what_to_do() -> None:
    connection = get_connection(mail_server("").backend)

    with pytest.raises(NoMailServer, match="DELAYHUB_EMAIL_URL"):
        EmailMessage("a", "b", "c@d.example", ["e@f.example"], connection=connection).send()
    assert get_connection(mail_server("").backend, fail_silently=True).send_messages([EmailMessage()]) == 0
