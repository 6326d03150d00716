"""The Django project of docs/start/django.md with one setting left out or wrong: who reports it, and what to write."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pytest
import redis

from delayhub.local.redis_server import RedisServer
from tests.acceptance.first_shop import CHECK, MIGRATE, PLACE_ORDER, WORK, FirstShop
from tests.acceptance.typed_commands import environment
from tests.acceptance.warm_python import WarmPython

pytestmark = pytest.mark.slow

SETTINGS, CELERY, URLS = "shop/settings.py", "shop/celery.py", "shop/urls.py"
CLOSED = "order 42 is closed"

Change = Callable[[FirstShop], None]


class Wrong(NamedTuple):
    """What is changed, and what is said then: the id of the check's message, and what to write."""

    change: Change
    id: str
    says: str


def adding(text: str, to: str = SETTINGS) -> Change:
    return lambda shop: shop.add(to, text)


def replacing(old: str, new: str, within: str = SETTINGS) -> Change:
    return lambda shop: shop.replace(within, old, new)


def options(text: str) -> Change:
    """Options beside those that another change has set."""
    return adding(f"DELAYHUB = {{**globals().get('DELAYHUB', {{}}), **{text}}}")


def broker(url: str) -> Change:
    return adding(f"CELERY_BROKER_URL = {url!r}")


def mysql(shop: FirstShop) -> None:
    """A database that is MySQL by its name; the check asks no server."""
    (shop.folder / "mysql").mkdir()
    (shop.folder / "mysql/__init__.py").touch()
    shop.add("mysql/base.py", "from django.db.backends.sqlite3 import base")
    shop.add("mysql/base.py", 'class DatabaseWrapper(base.DatabaseWrapper):\n    vendor = "mysql"')
    shop.add(SETTINGS, 'DATABASES["default"]["ENGINE"] = "mysql"')


def jobs_elsewhere(shop: FirstShop) -> None:
    shop.add("orders/models.py", "class Order(models.Model):\n    pass")
    shop.add(SETTINGS, 'DATABASES["jobs"] = {**DATABASES["default"], "NAME": BASE_DIR / "jobs.sqlite3"}')
    shop.add(SETTINGS, 'DATABASE_ROUTERS = ["shop.routers.Router"]')
    body = (
        '    def db_for_write(self, model, **hints):\n        return "jobs" if "tasksapp" in model.__module__ else None'
    )
    shop.add("shop/routers.py", f"class Router:\n{body}\n    db_for_read = db_for_write")


def no_celery_app(shop: FirstShop) -> None:
    (shop.folder / "shop/__init__.py").write_text("")


def second_app(broker: str) -> Change:
    return adding(f'second = celery.Celery("second", broker="{broker}")', CELERY)


REPORTED_BY_CHECK = {
    # the Celery app
    "no install": Wrong(replacing("delayhub.install(app)\n", "", CELERY), "E014", "Write `import delayhub` and"),
    "no import of the app": Wrong(no_celery_app, "W020", "from shop.celery import app as celery_app"),
    "no namespace": Wrong(replacing(', namespace="CELERY"', "", CELERY), "E013", 'namespace="CELERY"'),
    "no settings for the app": Wrong(
        replacing('app.config_from_object("django.conf:settings", namespace="CELERY")\n', "", CELERY),
        "E013",
        "Write app.config_from_object(",
    ),
    "no autodiscover": Wrong(
        replacing("app.autodiscover_tasks()\n", "", CELERY), "W021", "Write app.autodiscover_tasks()"
    ),
    "two apps on two brokers": Wrong(second_app("redis://127.0.0.1/0"), "E017", "write app.set_default() and"),
    # the broker
    "redis://": Wrong(broker("redis://127.0.0.1/0"), "E004", "redis:// is no broker of DelayHub's: use delayhub://"),
    "amqp://": Wrong(broker("amqp://127.0.0.1//"), "E004", "amqp:// is no broker of DelayHub's"),
    "memory://": Wrong(broker("memory://"), "E004", "memory:// is no broker of DelayHub's: use delayhub://"),
    "no broker": Wrong(adding("del CELERY_BROKER_URL"), "E013", "CELERY_BROKER_URL = 'delayhub://host:6379/0'"),
    "one slash": Wrong(broker("delayhub:/127.0.0.1/0"), "E004", "Celery takes a URL without :// for one"),
    "a scheme misspelt": Wrong(broker("delayhb://127.0.0.1/0"), "E004", "write the broker's URL as delayhub://host"),
    "two servers": Wrong(broker("delayhub://a/3;delayhub://b/3"), "E004", "name one, or use delayhub-sentinel://"),
    "no number": Wrong(broker("delayhub://a/zero"), "E004", "must be like delayhub://host:6379/0"),
    # the options
    "another Redis": Wrong(options("{'REDIS_URL': 'redis://b:1/0'}"), "W003", "Leave DELAYHUB['REDIS_URL'] out"),
    "no URL": Wrong(options("{'REDIS_URL': 'cache:6379'}"), "E004", "DELAYHUB['REDIS_URL']: a broker URL begins with"),
    "another prefix": Wrong(options("{'KEY_PREFIX': 'b:'}"), "E004", "leave DELAYHUB['KEY_PREFIX'] out"),
    "unknown option": Wrong(options("{'LEASE_SECOND': 5}"), "E002", "write LEASE_SECONDS, or leave it out"),
    "text for a number": Wrong(options("{'LEASE_SECONDS': '5'}"), "E002", "must be a number, got '5'"),
    "no dict": Wrong(adding("DELAYHUB = ['LANES']"), "E001", "DELAYHUB must be a dict"),
    "a lane in braces": Wrong(options("{'LANES': ['{a}']}"), "E002", "names of Celery queues, of letters"),
    "a blank lane": Wrong(options("{'LANES': [' ']}"), "E002", "names of Celery queues, of letters"),
    "no Fernet key": Wrong(options("{'ENCRYPTION_KEYS': ['secret']}"), "E003", "Fernet.generate_key()"),
    # Celery's settings
    "a bare timer queue": Wrong(
        adding('import kombu\nCELERY_TASK_QUEUES = [kombu.Queue("delayhub.timers")]'),
        "E004",
        'leave it out of task_queues, or write Queue("delayhub.timers", queue_arguments=',
    ),
    "no JSON": Wrong(adding('CELERY_ACCEPT_CONTENT = ["pickle"]'), "E015", "Add 'json' to CELERY_ACCEPT_CONTENT"),
    "unknown zone": Wrong(adding('CELERY_TIMEZONE = "Mars/Phobos"'), "E016", "Leave CELERY_TIMEZONE out"),
    "eager": Wrong(adding("CELERY_TASK_ALWAYS_EAGER = True"), "W022", "Leave CELERY_TASK_ALWAYS_EAGER out"),
    # Django's settings
    "no time zones": Wrong(adding("USE_TZ = False"), "E010", "Write USE_TZ = True"),
    "MySQL": Wrong(mysql, "E011", "Use PostgreSQL"),
    "another database": Wrong(jobs_elsewhere, "E012", "leave the app label 'tasksapp' in the database of your own"),
    "SQLite as it comes": Wrong(adding('del DATABASES["default"]["OPTIONS"]'), "W002", 'Write "transaction_mode":'),
    "no htmx": Wrong(replacing('"django_htmx", ', ""), "W011", 'Add "django_htmx" to INSTALLED_APPS'),
    "no pages for errors": Wrong(adding("del handler404", URLS), "W010", "handler404 ="),
}  # fmt: skip


#: One check tells of several, since none of them hides another; of those that are not here, each is alone.
TOGETHER = [
    ("no autodiscover", "another Redis", "eager", "SQLite as it comes", "no htmx", "no pages for errors"),
    ("redis://", "unknown option", "no JSON", "no time zones", "MySQL"),
    ("amqp://", "text for a number", "unknown zone", "another database"),
    ("memory://", "a lane in braces"),
    ("one slash", "a blank lane"),
    ("a scheme misspelt", "no Fernet key"),
    ("two servers", "no dict"),
    ("no number", "no install"),
]
ALONE = [(name,) for name in REPORTED_BY_CHECK if name not in chain.from_iterable(TOGETHER)]

#: The messages for which a check reads the URL conf: it takes most of the time, since all pages are imported for it.
ABOUT_PAGES = {"W010", "W011"}


@pytest.fixture(scope="module")
def good_shop(tmp_path_factory: pytest.TempPathFactory, redis_server: RedisServer) -> FirstShop:
    """The page's shop, with its tables."""
    shop = FirstShop(tmp_path_factory.mktemp("good"), port=redis_server.port)
    shop.run(MIGRATE)
    return shop


class Warm:
    """Types the page's commands, as ``hear`` of a shop does; Python is warm already."""

    def __init__(self, python: WarmPython) -> None:
        self._python = python

    def hear(self, command: str, shop: FirstShop) -> tuple[int, str]:
        python, *words = shlex.split(command)
        assert python == "python"
        return self._python.hear(words, folder=shop.folder, environment=environment())

    def run(self, command: str, shop: FirstShop) -> None:
        code, said = self.hear(command, shop)
        assert code == 0, said

    def work(self, shop: FirstShop, *, until: str, pool: str = "solo", options: str = "") -> str:
        if pool == "gevent":  # it replaces what is imported already
            return shop.work(until=until, pool=pool, options=options)
        program, *words = shlex.split(f"{WORK} --pool {pool} {options}")
        found = shutil.which(program, path=environment()["PATH"])
        assert found is not None
        return self._python.hear([found, *words], folder=shop.folder, environment=environment(), until=until)[1]


@pytest.fixture(scope="module")
def warm() -> Iterator[Warm]:
    with WarmPython() as python:
        yield Warm(python)


@pytest.fixture
def shop(good_shop: FirstShop, tmp_path: Path, redis_client: redis.Redis) -> FirstShop:
    """A copy of it, which a test may spoil; its Redis is empty."""
    assert redis_client.dbsize() == 0
    return good_shop.copy(tmp_path)


@pytest.mark.parametrize("names", TOGETHER + ALONE, ids=", ".join)
def test_the_check_says_what_to_write(shop: FirstShop, names: tuple[str, ...], warm: Warm) -> None:
    wrongs = {name: REPORTED_BY_CHECK[name] for name in names}
    ids = {wrong.id for wrong in wrongs.values()}
    if not ids & ABOUT_PAGES:
        (shop.folder / URLS).write_text("urlpatterns = []")
    for wrong in wrongs.values():
        wrong.change(shop)

    code, said = warm.hear(CHECK, shop)

    for name, wrong in wrongs.items():
        assert f"(delayhub.{wrong.id}) " in said, name
        assert wrong.says in said, name
    assert code == (1 if any(id_.startswith("E") for id_ in ids) else 0)
    assert "Traceback" not in said


#: What a worker says, and that it ends by itself.
REFUSED_BY_THE_WORKER = {
    # The API is in the URL conf: without the app, Django says so of its first model.
    "no app": (replacing('"tasksapp", ', ""), 'add "tasksapp" to INSTALLED_APPS'),
    "no settings module": (
        replacing('os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")\n', "", CELERY),
        "You must either define the environment variable DJANGO_SETTINGS_MODULE",
    ),
    "no tables": (adding('DATABASES["default"]["NAME"] = BASE_DIR / "new.sqlite3"'), "type python manage.py migrate"),
    "another Redis database": (
        lambda shop: shop.add(SETTINGS, f"DELAYHUB = {{'REDIS_URL': 'redis://127.0.0.1:{shop.port}/3'}}"),
        "the timers are in another Redis server or database than the broker: leave DELAYHUB['REDIS_URL'] out",
    ),
    "timers acknowledged early": (
        adding('CELERY_TASK_ANNOTATIONS = {"*": {"acks_late": False}}'),
        "tasksapp.deliver of the timer queue delayhub.timers needs acks_late=True",
    ),
    "no time zones": (adding("USE_TZ = False"), "with USE_TZ = False, times have no zone: Write USE_TZ = True"),
    "old messages": (adding("CELERY_TASK_PROTOCOL = 1"), "task_protocol is 1"),
}


@pytest.mark.parametrize(("change", "says"), REFUSED_BY_THE_WORKER.values(), ids=REFUSED_BY_THE_WORKER)
def test_the_worker_does_not_start_and_says_what_to_write(
    shop: FirstShop, warm: Warm, change: Change, says: str
) -> None:
    (shop.folder / URLS).write_text("urlpatterns = []")
    change(shop)

    said = warm.work(shop, until=" ready.")

    assert says in said
    assert " ready." not in said


#: Options of the worker, a change, and what the worker logs though it starts.
LOGGED_BY_THE_WORKER = {
    "-Q celery": ("solo", "-Q celery", adding(""), "start one with these queues in its -Q, or without -Q"),
    "-P gevent": ("gevent", "", adding(""), "so start a worker with another, such as celery"),
    "the app of the task": (
        "solo",
        "",
        replacing('"tasksapp", "orders"]', '"tasksapp"]'),
        "which has no task orders.tasks.close_order: import its module",
    ),
    "a lane that is gone": (
        "solo",
        "",
        options("{'LANES': ['other']}"),
        "no worker takes the jobs of order.close: its lane delayhub.timers is not in DELAYHUB['LANES']",
    ),
}


@pytest.mark.parametrize(("pool", "options", "change", "says"), LOGGED_BY_THE_WORKER.values(), ids=LOGGED_BY_THE_WORKER)
def test_the_worker_starts_and_says_that_jobs_cannot_run(
    shop: FirstShop, warm: Warm, pool: str, options: str, change: Change, says: str
) -> None:
    warm.run(PLACE_ORDER, shop)
    change(shop)

    assert says in warm.work(shop, until=says, pool=pool, options=options)


HARMLESS = """
CELERY_TASK_ACKS_LATE = False
CELERY_TASK_REJECT_ON_WORKER_LOST = False
CELERY_TASK_ACKS_ON_FAILURE_OR_TIMEOUT = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "pickle"
CELERY_TASK_TIME_LIMIT = 1
CELERY_TASK_CREATE_MISSING_QUEUES = False
CELERY_TASK_DEFAULT_QUEUE = "shop"
CELERY_TIMEZONE = "Asia/Shanghai"
CELERY_WORKER_DISABLE_PREFETCH = True
DATABASES["default"]["ATOMIC_REQUESTS"] = True
DATABASES["default"]["CONN_MAX_AGE"] = None
TIME_ZONE = "America/New_York"
"""


def without_the_admin(shop: FirstShop) -> None:
    shop.replace(URLS, "    path('admin/', admin.site.urls),\n", "")
    shop.add(SETTINGS, 'INSTALLED_APPS.remove("django.contrib.admin")')


#: Each of them, and others that stand beside it.
ACCEPTED: dict[str, list[Change]] = {
    "Celery's and Django's other settings": [adding(HARMLESS)],
    "task_queues, lanes, no admin, two apps": [
        adding('from kombu import Queue\nCELERY_TASK_QUEUES = [Queue("celery")]'),
        options("{'LANES': ['other']}"),
        without_the_admin,
        second_app('delayhub://127.0.0.1:1/0").set_default()\napp.set_default()\napp.set_current() #'),
    ],
    "no app": [no_celery_app],
}


@pytest.mark.parametrize("changes", ACCEPTED.values(), ids=ACCEPTED)
def test_what_the_check_accepts_closes_the_order(shop: FirstShop, warm: Warm, changes: list[Change]) -> None:
    for change in changes:
        change(shop)

    warm.run(CHECK, shop)
    warm.run(PLACE_ORDER, shop)
    assert CLOSED in warm.work(shop, until=CLOSED)
