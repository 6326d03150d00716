"""A receiver of callbacks in Django: ``python django_receiver.py migrate``, then serve ``application``."""

import os
import sys

import django
from django.conf import settings
from django.core.management import execute_from_command_line
from django.core.wsgi import get_wsgi_application
from django.db import connection
from django.http import HttpResponse
from django.urls import path

settings.configure(
    SECRET_KEY=os.urandom(32).hex(),
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.environ["ORDERS"]}},
    INSTALLED_APPS=["delayhub.receiver.django"],
)
django.setup()

from delayhub.receiver import Verifier  # noqa: E402  settings come first in a program of one file
from delayhub.receiver.django import once  # noqa: E402  the same

verifier = Verifier(os.environ["DELAYHUB_SECRET"])


@once(verifier)
def close_order(request):
    """Closes an order; the transaction, the 401 and the answer to a repeated callback are the decorator's."""
    order = request.delayhub_callback.json()["order"]
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE IF NOT EXISTS closed (number integer)")
        cursor.execute("INSERT INTO closed (number) VALUES (%s)", [order])
    return HttpResponse(status=204)


urlpatterns = [path("hooks/order.close", close_order)]
application = get_wsgi_application()

if __name__ == "__main__":
    execute_from_command_line(sys.argv)
