"""Using the admin site in tests."""

import csv
import io
import json
from typing import Any

from django.contrib.messages import get_messages
from django.test import Client

from meshmgmt.accounts.models import User


def client_of(user: User) -> Client:
    """Return a browser in which `user` is signed in."""
    client = Client()
    client.force_login(user)
    return client


def errors_of(response: Any) -> dict[str, list[str]]:
    """Return the messages of a refused form, by field."""
    assert response.status_code == 200, "the form was accepted"
    return {k: list(v) for k, v in response.context["adminform"].errors.items()}


def texts_of(response: Any) -> str:
    """Return the messages that the next page shows."""
    return " ".join(str(m) for m in get_messages(response.wsgi_request))


def file_of(client: Client, path: str) -> str:
    """Return a list's rows as a file."""
    answer: Any = client.get(path)
    assert answer.status_code == 200
    assert answer.streaming
    assert answer["Content-Disposition"].startswith("attachment")
    return b"".join(answer.streaming_content).decode()


def as_json(client: Client, path: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(file_of(client, path))
    return found


def as_csv(client: Client, path: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(file_of(client, path), newline="")))


def looked_up(client: Client, model: str, field: str, term: str = "") -> list[Any]:
    """Return what a column of the groups' lists offers as one types."""
    column = {"app_label": "groups", "model_name": model, "field_name": field}
    found = client.get("/admin/autocomplete/", {**column, "term": term})
    return list(found.json()["results"])


def form_data(client: Client, path: str) -> dict[str, Any]:
    """Return what a browser would send when the form at `path` is saved as it is."""
    return _data(client.get(path))


def _data(response: Any) -> dict[str, Any]:
    assert response.status_code == 200
    sent = _sent(response.context["adminform"].form)
    for inline in response.context["inline_admin_formsets"]:
        formset = inline.formset
        for form in (formset.management_form, *formset.forms):
            sent |= _sent(form)
            if seen := getattr(form, "seen", ""):
                sent[f"{form.prefix}-seen"] = seen
    return sent


def opened(client: Client, path: str) -> dict[str, Any]:
    """Return what a browser sends for the page as it is, its marks included."""
    page = client.get(path)
    return {**_data(page), "seen": page.context["adminform"].form.seen}


def formset_of(response: Any) -> Any:
    """Return the rows of a page that has one kind of them."""
    [inline] = response.context["inline_admin_formsets"]
    return inline.formset


def saved(response: Any) -> None:
    """Check that a form was accepted, with its rows."""
    if response.status_code == 200:
        formsets = response.context["inline_admin_formsets"]
        raise AssertionError(
            [response.context["errors"], [f.formset.errors for f in formsets]]
        )
    assert response.status_code == 302


def _sent(form: Any) -> dict[str, Any]:
    sent: dict[str, Any] = {}
    for bound in form:
        value = bound.value()
        if value is None or value is False:
            continue
        shown = bound.field.widget.format_value(value)
        if value is True or shown is not None:
            sent[bound.html_name] = "on" if value is True else shown
    return sent
