"""The same addresses, with the handlers that the system check asks for."""

from tests.integration.tasksapp.api.host_urls import urlpatterns  # noqa: F401  Django reads it here

handler400 = "tasksapp.api.http.problems.bad_request"
handler403 = "tasksapp.api.http.problems.permission_denied"
handler404 = "tasksapp.api.http.problems.page_not_found"
handler500 = "tasksapp.api.http.problems.server_error"
