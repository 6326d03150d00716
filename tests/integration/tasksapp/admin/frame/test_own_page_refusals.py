"""Pages that say why something cannot be done."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib import admin
from django.test import RequestFactory

from tasksapp.admin.frame.own_page import no_permission, refused_page

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("status", [400, 403])
def test_the_page_has_the_sentence_the_status_and_a_way_back(admin_user: Any, status: int) -> None:
    request = RequestFactory().get("/admin/")
    request.user = admin_user

    page = refused_page(request, no_permission("<Drop>"), site=admin.site, status=status).render()

    assert page.status_code == status
    assert "“&lt;Drop&gt;” needs a permission" in page.content.decode()
    assert 'href="/admin/tasksapp/job/"' in page.content.decode()
