"""The API's addresses, for any prefix: ``path("api/", include("tasksapp.api.urls"))``."""

from __future__ import annotations

from django.urls import path, re_path

from tasksapp.api.addresses import creates, operations
from tasksapp.api.answer_page import answer_page
from tasksapp.api.biz_types.secrets import public_keys
from tasksapp.api.http.problem_pages import problem_page
from tasksapp.api.http.problems import nothing_there
from tasksapp.api.jobs.business_key_views import key_address
from tasksapp.api.openapi.views import SchemaViews, docs_page

#: Names are reversed as ``delayhub:job-list``, so that they are none of the host project's.
app_name = "delayhub"

urlpatterns = [
    # Creates come first: each address that is tried before theirs costs them a microsecond.
    *creates,
    key_address,
    *operations,
    path("answer", answer_page, name="answer"),
    path("schema", SchemaViews.as_view({"get": "read"}), name="schema"),
    path("docs/", docs_page, name="docs"),
    path("docs/<str:name>", docs_page),
    path("public-keys/<int:biz_type_id>", public_keys, name="public-keys"),
    path("problems/", problem_page, name="problems"),
    path("problems/<str:code>", problem_page, name="problem"),
    # Callers get a problem document here too, also where the project has Django's own page for a 404.
    re_path(r"^(?:v1$|v1/|schema/)", nothing_there),
]
