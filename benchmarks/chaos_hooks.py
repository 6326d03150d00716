"""The receivers that the chaos run kills, in Django, FastAPI with SQLAlchemy, and plain SQLite.

Each notes an effect in its own database, in a table where nothing keeps an effect from being noted twice, and kills
itself with -9 by chance at the worst moments: within the transaction, and between the commit and the answer.
``granian --interface asgi benchmarks.chaos_hooks:application``, with ``CHAOS_KIND``, ``CHAOS_DATABASE``,
``CHAOS_DEATHS`` (a share) and ``DELAYHUB_SECRET`` in the environment.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sqlite3
import time
from pathlib import Path
from typing import Any

from delayhub.receiver import ReceivedCallback, Verifier, once

KIND, DATABASE = os.environ["CHAOS_KIND"], os.environ["CHAOS_DATABASE"]
DEATHS = float(os.environ["CHAOS_DEATHS"])
VERIFIER = Verifier(os.environ["DELAYHUB_SECRET"])
FIRST_DEATH = Path(f"{DATABASE}.died")
#: How long a work takes at most: so that several are under way when the process dies.
WORK_SECONDS = 0.01


def maybe_die() -> None:
    """kill -9 of this process, at its first work and then by chance: nothing is flushed, closed or rolled back."""
    is_first = not FIRST_DEATH.exists()
    if is_first or random.random() < DEATHS / 2:
        FIRST_DEATH.touch()
        os.kill(os.getpid(), signal.SIGKILL)


def made_by_django() -> Any:
    import django
    from django.conf import settings

    settings.configure(
        SECRET_KEY="chaos",
        ALLOWED_HOSTS=["*"],
        ROOT_URLCONF=__name__,
        DATABASES={
            "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": DATABASE, "ATOMIC_REQUESTS": True},
        },
        INSTALLED_APPS=["delayhub.receiver.django"],
    )
    django.setup()
    from django.core.asgi import get_asgi_application
    from django.core.management import call_command
    from django.db import connection
    from django.http import HttpResponse
    from django.urls import path

    from delayhub.receiver.django import once as once_in_django

    call_command("migrate", verbosity=0, interactive=False)
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE IF NOT EXISTS effect (job text)")

    @once_in_django(VERIFIER)
    def note(request: Any) -> Any:
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO effect (job) VALUES (%s)", [request.delayhub_callback.id])
        time.sleep(random.random() * WORK_SECONDS)
        maybe_die()
        return HttpResponse(status=204)

    def dying(request: Any) -> Any:
        response = note(request)
        if response.status_code == 204:
            maybe_die()
        return response

    dying.csrf_exempt = True  # type: ignore[attr-defined]  # what note has
    dying._non_atomic_requests = note._non_atomic_requests  # type: ignore[attr-defined]  # what note has
    globals()["urlpatterns"] = [path("hook", dying)]
    return get_asgi_application()


def made_by_fastapi() -> Any:
    from fastapi import FastAPI, Request, Response
    from sqlalchemy import Column, MetaData, String, Table, create_engine, insert
    from sqlalchemy.ext.asyncio import async_sessionmaker, create_async_engine

    from delayhub.receiver.sqlalchemy import AsyncSessionInbox, inbox_table

    metadata = MetaData()
    inbox_table(metadata)
    effect = Table("effect", metadata, Column("job", String))
    metadata.create_all(create_engine(f"sqlite:///{DATABASE}"))
    sessions = async_sessionmaker(create_async_engine(f"sqlite+aiosqlite:///{DATABASE}"))
    app = FastAPI()

    @once(VERIFIER, AsyncSessionInbox(sessions))
    async def note(callback: ReceivedCallback, session: Any) -> None:
        await session.execute(insert(effect).values(job=callback.id))
        await asyncio.sleep(random.random() * WORK_SECONDS)
        maybe_die()

    async def hook(request: Request) -> Response:
        answer = await note(request.headers.items(), await request.body())
        if answer.status == 204:
            maybe_die()
        return Response(answer.body, answer.status, dict(answer.headers))

    # Its annotations are names of this function, which FastAPI would look for in the module.
    app.router.add_route("/hook", hook, methods=["POST"])
    return app


def made_by_sqlite() -> Any:
    from delayhub.receiver.asgi import AsgiHook
    from delayhub.receiver.dbapi import ConnectionInbox

    inbox = ConnectionInbox(lambda: sqlite3.connect(DATABASE))
    inbox.create_table()
    with sqlite3.connect(DATABASE) as database:
        database.execute("CREATE TABLE IF NOT EXISTS effect (job text)")

    @once(VERIFIER, inbox)
    def note(callback: ReceivedCallback, connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO effect (job) VALUES (?)", [callback.id])
        time.sleep(random.random() * WORK_SECONDS)
        maybe_die()

    def dying(headers: Any, body: bytes) -> Any:
        answer = note(headers, body)
        if answer.status == 204:
            maybe_die()
        return answer

    hook: Any = dying
    return AsgiHook(hook)


application = {"django": made_by_django, "fastapi": made_by_fastapi, "sqlite": made_by_sqlite}[KIND]()
