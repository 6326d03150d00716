"""Every address of the ready-made project."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path
from django.utils.translation import gettext_lazy as _
from django.views.generic import RedirectView
from django.views.i18n import set_language

from delayhub.project.login_limit import LimitedLoginForm

admin.site.site_header = "DelayHub"
admin.site.site_title = "DelayHub"
admin.site.index_title = _("Timeout centre")
admin.site.site_url = None  # the link would lead to "/", which leads back to the admin
admin.site.enable_nav_sidebar = False  # the menu in the head has these pages
admin.site.login_form = LimitedLoginForm

urlpatterns = [
    path("api/", include("tasksapp.api.urls")),  # first: creates pay for each address that is tried before theirs
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/", admin.site.urls),
    path("language", set_language, name="set_language"),
    path("", include("tasksapp.metrics.urls")),
    path("", include("tasksapp.health.urls")),
]

handler400 = "tasksapp.api.http.problems.bad_request"
handler403 = "tasksapp.api.http.problems.permission_denied"
handler404 = "tasksapp.api.http.problems.page_not_found"
handler500 = "tasksapp.api.http.problems.server_error"
