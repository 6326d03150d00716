"""What a browser sends of a form on a page, as long as a person types nothing."""

from __future__ import annotations

from html.parser import HTMLParser


def form_fields(page: str, form_id: str) -> dict[str, str]:
    """By name, the values of the form's fields; buttons are not pressed, and several values of a name become one."""
    reader = _Reader(form_id)
    reader.feed(page)
    assert reader.found, f"the page has no form {form_id!r}"
    return reader.fields


class _Reader(HTMLParser):
    def __init__(self, form_id: str) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}
        self.found = False
        self._form_id = form_id
        self._inside = False
        self._select = ""
        self._textarea = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        name = given.get("name", "")
        if tag == "form":
            self._inside = given.get("id") == self._form_id
            self.found = self.found or self._inside
        elif not self._inside:
            return
        elif tag == "input" and name:
            kind = given.get("type", "text")
            if kind not in {"submit", "button"} and (kind not in {"checkbox", "radio"} or "checked" in given):
                self.fields[name] = given.get("value", "on" if kind == "checkbox" else "")
        elif tag == "select":
            self._select = name
        elif tag == "option" and self._select and (self._select not in self.fields or "selected" in given):
            self.fields[self._select] = given.get("value", "")
        elif tag == "textarea":
            self._textarea = name
            self.fields[name] = ""

    def handle_data(self, data: str) -> None:
        if self._textarea:
            # As browsers do: the line break right after the tag does not count.
            self.fields[self._textarea] += data if self.fields[self._textarea] else data.removeprefix("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._inside = False
        elif tag == "select":
            self._select = ""
        elif tag == "textarea":
            self._textarea = ""
