"""Every list of the admin site, of the demo: few queries, any question, whole files."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.db import transaction
from django.db.models import Model
from django.test import Client
from django.urls import reverse
from pytest_django.plugin import DjangoDbBlocker

from dns.models import Record
from events.models import AuditEvent
from meshmgmt.accounts.models import AccessToken, User
from meshmgmt.adminsite.lists import ListAdmin
from meshmgmt.core.modelmodules import module_of
from meshmgmt.core.roles import Role
from tests.admin.signed_in import as_csv, as_json, client_of
from tests.demo.test_seed import seed
from tests.queries import asking

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("demo")]

MODELS = sorted(
    # Nobody may see the pages of models without a module, which other apps register.
    (m for m in admin.site._registry if module_of(m._meta.app_label, m.__name__)),
    key=lambda model: model._meta.label,
)
LISTS = [
    model
    for model in MODELS
    if isinstance(admin.site.get_model_admin(model), ListAdmin)
    and model._meta.model_name not in {"account", "dnssettings"}  # of one row
]
WRONG = "(?:Ttl|Api|Id|Dns|Ipv6|Jwt|Icmp|Ssh)"
MOST_QUERIES = 13
MOST_BYTES = 150_000


@pytest.fixture(scope="module")
def demo(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Seed once for all tests, which only look; undo it after them."""
    with django_db_blocker.unblock(), transaction.atomic():
        seed()
        yield
        transaction.set_rollback(True)


@pytest.fixture
def client() -> Client:
    return client_of(User.objects.filter(role=Role.OWNER)[0])


def path_of(model: type[Model], page: str = "changelist", *args: Any) -> str:
    meta = model._meta
    return reverse(f"admin:{meta.app_label}_{meta.model_name}_{page}", args=args)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model._meta.label_lower)
def test_a_list_asks_as_often_for_one_row_as_for_many(
    model: type[Model], client: Client, monkeypatch: pytest.MonkeyPatch
):
    asked: dict[int, list[str]] = {}
    for rows in (1, 50):
        monkeypatch.setattr(admin.site._registry[model], "list_per_page", rows)
        # Of one row: its form.
        page, asked[rows] = asking(lambda: client.get(path_of(model), follow=True))
        assert page.status_code == 200
        assert len(page.content) < MOST_BYTES
    assert len(asked[50]) <= MOST_QUERIES, asked[50]
    assert len(asked[50]) <= len(asked[1]) + 1, asked[50]  # that there is more to show


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model._meta.label_lower)
def test_a_list_bears_any_question(
    model: type[Model], client: Client, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(admin.site._registry[model], "list_per_page", 5)
    answers = {
        query: client.get(path_of(model) + query, follow=True).status_code
        for query in ("?q=a", "?q=%00", "?o=1", "?e=1")
    }
    assert set(answers.values()) == {200}, answers


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model._meta.label_lower)
def test_who_only_reads_writes_nothing(model: type[Model]):
    found = model._default_manager.first()
    reader = client_of(User.objects.people().filter(role=Role.AUDITOR)[0])
    key, events = getattr(found, "pk", "none"), AuditEvent.objects.count()
    for page, args in (("add", ()), ("change", (key,)), ("delete", (key,))):
        answer = reader.post(path_of(model, page, *args), {"post": "yes"})
        own = model is AccessToken and answer.status_code in {200, 302}
        assert own or answer.status_code == 403, page
    assert AuditEvent.objects.count() == events
    assert found is None or model._default_manager.filter(pk=key).exists()


def test_every_list_gives_all_its_rows_in_both_forms(client: Client):
    for model in LISTS:
        path = path_of(model)
        shown = client.get(path).context["cl"]
        rows = as_json(client, f"{path}?export=json")
        keys = [row["id"] for row in rows]
        assert len(keys) == shown.result_count == len(set(keys)), model
        assert keys == sorted(keys)
        table = as_csv(client, f"{path}?export=csv")
        assert [row["id"] for row in table] == [str(key) for key in keys], model
        for row in rows:
            texts = [text for text in row.values() if isinstance(text, str)]
            assert not [text for text in texts if "<" in text and ">" in text], model


def test_abbreviations_are_written_in_capitals(client: Client):
    paths = ["accounts/account/", "access/policyrule/", "access/policy/add/"]
    record = f"dns/record/{Record.objects.all()[0].pk}/change/"
    for path in (*paths, "dns/record/", "access/router/", record):
        text = client.get(f"/admin/{path}", follow=True).content.decode()
        assert not re.findall(rf"<(?:label|th|option|a)\b[^>]*>[^<]*\b{WRONG}\b", text)
