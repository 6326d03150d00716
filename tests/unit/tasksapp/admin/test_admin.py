"""What the app registers with an admin site: what stands for its classes, or the classes themselves."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import pytest
from django.contrib import admin

import tasksapp.admin
from tasksapp.admin import JobAdmin, TenantAdmin, register_with
from tasksapp.models import Job, Tenant


class LookingSite(admin.AdminSite):
    """A project's site, which makes a class of its own of each that it is given."""

    def register(self, model_or_iterable: Any, admin_class: Any = None, **options: Any) -> None:
        super().register(model_or_iterable, type("Ours", (admin_class,), {}), **options)


def test_a_site_has_an_admin_of_each_model() -> None:
    site = admin.AdminSite()

    register_with(site)

    assert isinstance(site.get_model_admin(Job), JobAdmin)
    assert isinstance(site.get_model_admin(Tenant), TenantAdmin)
    assert site.get_model_admin(Job).admin_site is site


def test_a_site_that_looks_at_classes_gets_classes() -> None:
    site = LookingSite()

    register_with(site)

    assert site.get_model_admin(Job).__class__.__mro__[1] is JobAdmin


def test_a_project_puts_an_admin_of_its_own_in_the_place_of_ours() -> None:
    class ShopJobs(JobAdmin):
        """The project's."""

    site = admin.AdminSite()
    register_with(site)

    site.unregister(Job)
    site.register(Job, ShopJobs)

    assert type(site.get_model_admin(Job)) is ShopJobs


def test_every_public_name_is_there() -> None:
    assert all(getattr(tasksapp.admin, name).__name__ == name for name in tasksapp.admin.__all__)
    assert set(tasksapp.admin.__all__) <= set(dir(tasksapp.admin))


def test_a_name_that_is_not_there_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="NoSuchAdmin"):
        attrgetter("NoSuchAdmin")(tasksapp.admin)
