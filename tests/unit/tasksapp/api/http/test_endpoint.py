"""endpoint: what a line above a method says is what its requests meet."""

from __future__ import annotations

from typing import Any

import pytest
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.test import APIRequestFactory

from tasksapp.api.http.endpoint import endpoint
from tasksapp.api.http.problem_schema import ProblemSchema
from tasksapp.api.http.problems import Refused
from tasksapp.api.http.view import ApiViewSet
from tasksapp.models.api_key import Scope


class PaintSerializer(serializers.Serializer[Any]):
    """What to paint, and how."""

    colour = serializers.CharField()
    coats = serializers.IntegerField(required=False)


class Walls(ApiViewSet):
    """Walls that can be painted and washed."""

    @endpoint("Paint a wall", Scope.JOBS_WRITE, post="paint", takes=PaintSerializer)
    def paint(self, request: Any, pk: str, fields: dict[str, Any]) -> Any:
        return pk, fields

    @endpoint("Wash a wall", Scope.JOBS_ACT, post="wash-down")
    def wash(self, request: Any, pk: str) -> Any:
        return pk

    @endpoint("List walls", Scope.JOBS_READ)
    def list(self, request: Any) -> Any:
        return "walls"

    def forgotten(self, request: Any) -> Any:
        return "forgotten"


def ask(method: Any, fields: dict[str, Any]) -> Any:
    """What the method gives back for a body with those fields."""
    request = Request(APIRequestFactory().post("/walls/7", fields, format="json"))
    return method(Walls(), request, pk="7")


def test_a_method_gets_the_fields_that_it_takes() -> None:
    assert ask(Walls.paint, {"colour": "red"}) == ("7", {"colour": "red"})
    assert ask(Walls.paint, {"colour": "red", "coats": 2}) == ("7", {"colour": "red", "coats": 2})


@pytest.mark.parametrize(
    ("method", "fields", "fault"),
    [
        (Walls.paint, {"colour": "red", "brush": 1}, ("brush", "unknown")),
        (Walls.paint, {"coats": 2}, ("colour", "required")),
        (Walls.wash, {"colour": "red"}, ("colour", "unknown")),
    ],
)
def test_what_it_does_not_take_and_what_is_missing_is_refused_by_name(
    method: Any, fields: dict[str, Any], fault: tuple[str, str]
) -> None:
    with pytest.raises(Refused) as refusal:
        ask(method, fields)

    (error,) = refusal.value.problem.errors
    assert (error.field, error.code) == fault


def test_a_verb_that_takes_nothing_takes_an_empty_body() -> None:
    assert ask(Walls.wash, {}) == "7"


def test_view_sets_know_the_scopes_of_their_methods_and_none_of_those_that_say_none() -> None:
    assert Walls.scopes == {"paint": Scope.JOBS_WRITE, "wash": Scope.JOBS_ACT, "list": Scope.JOBS_READ}


def test_verbs_have_an_address_below_their_resource_and_our_description() -> None:
    found = {each.url_path: (dict(each.mapping), each.detail) for each in Walls.get_extra_actions()}

    assert found == {"paint": ({"post": "paint"}, True), "wash-down": ({"post": "wash"}, True)}
    for method in (Walls.paint, Walls.wash, Walls.list):
        assert issubclass(method.kwargs["schema"], ProblemSchema)
