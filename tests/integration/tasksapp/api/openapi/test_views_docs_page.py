"""The page of the API's docs is made of a few files, which need no setting."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from tests.integration.tasksapp.api.problem_documents import problem

PAGE = "/api/docs/"


def test_every_file_that_the_page_names_is_there(client: Client, settings: Any) -> None:
    settings.TEMPLATES = []
    page = client.get(PAGE).content.decode()
    names = re.findall(r'(?:src|href)="([^"]+)"', page)

    found = {name: client.get(PAGE + name) for name in names}

    assert {name: answer.status_code for name, answer in found.items()} == dict.fromkeys(names, 200)
    assert {answer["Content-Type"] for answer in found.values()} == {"text/css", "text/javascript", "image/png"}
    assert all(answer.content for answer in found.values())


def test_the_page_needs_no_other_host(client: Client) -> None:
    page = client.get(PAGE).content

    assert b"swagger" in page
    assert b"//" not in page.replace(b"<!DOCTYPE", b"")


@pytest.mark.parametrize("name", ["nothing.js", "..", "index.htm", "LICENSE"])
def test_no_other_file_is_given_out(client: Client, name: str) -> None:
    problem(client.get(PAGE + name), 404)


def test_it_can_only_be_read(client: Client) -> None:
    answer = client.post(PAGE)

    problem(answer, 405)
    assert answer["Allow"] == "GET, HEAD"


@pytest.mark.django_db
def test_its_address_without_the_slash_leads_to_it(client: Client) -> None:
    assert client.get("/api/docs")["Location"] == PAGE
