"""docs/jobs/testing.md, walked in the shop of docs/start/django.md: both test runners run its files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import redis

from delayhub.local.redis_server import RedisServer
from tests.acceptance.first_shop import FirstShop
from tests.repository import ROOT

FILES = re.findall(r"```python\n# (\S+?\.py).*?\n(.*?)```", (ROOT / "docs/jobs/testing.md").read_text(), re.DOTALL)


@pytest.mark.nightly  # by day: tests/integration/delayhub/testing
@pytest.mark.slow
def test_what_the_page_shows_passes_and_leaves_no_timer_in_the_redis_of_the_settings(
    tmp_path: Path, redis_server: RedisServer, redis_client: redis.Redis
) -> None:
    shop = FirstShop(tmp_path, port=redis_server.port)
    for name, text in FILES:
        (shop.folder / name).write_text(text)
    shop.add("shop/settings.py", 'TEST_RUNNER = "shop.test_runner.Runner"')
    shop.add(
        "orders/test_transactions.py",
        "from django.test import TransactionTestCase\nfrom orders.checkout import place_order\n\n"
        "class Placed(TransactionTestCase):\n"
        "    def test_one(self):\n        place_order(1)\n\n    def test_another(self):\n        place_order(2)\n",
    )

    # Django's runner takes whatever it finds, also where there is no pytest.
    no_pytest = "import runpy, sys; sys.modules['pytest'] = None; sys.argv = ['manage.py', 'test']"
    django = shop.run(f"""python -c "{no_pytest}; runpy.run_path('manage.py', run_name='__main__')" """)
    pytest_ = shop.run("python -m pytest -q -p no:cacheprovider --ds shop.settings orders/test*.py orders/*_test.py")

    assert "Ran 5 tests" in django
    assert "6 passed" in pytest_
    assert redis_client.keys() == []
