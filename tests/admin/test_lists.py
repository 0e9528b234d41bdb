"""Lists: their rows as files, chosen columns, views that each person keeps."""

from functools import partial
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib import admin
from django.db.models import Model
from django.test import Client, RequestFactory

from dns.models import NameserverGroup
from groups.services import group_create
from meshmgmt.accounts.models import User
from meshmgmt.accounts.services.users import user_delete
from meshmgmt.adminsite import lists
from meshmgmt.adminsite.lists import ListAdmin
from meshmgmt.adminsite.models import SavedView
from meshmgmt.inventory.models import Peer
from tests.admin.signed_in import as_csv, as_json, client_of, file_of
from tests.admin.test_list_speed import LISTS, path_of
from tests.factories import group, peer, peers, rule
from tests.people import person, token_of
from tests.queries import asking
from tests.races import race

pytestmark = pytest.mark.django_db

PEERS = "/admin/inventory/peer/"
GROUPS = "/admin/groups/group/"


def test_a_file_has_what_the_list_shows(client: Client):
    made = peer("vega", ip="100.90.0.7", country_code="SE", city_name="Gothenburg")
    for name in ("a", "b"):
        group(name, made)
    [row] = as_json(client, f"{PEERS}?export=json")
    told = {"id": made.pk, "name": f"vega; {made.dns_label}", "address": "100.90.0.7"}
    told |= {"groups": "a, b", "location": "Gothenburg, SE"}
    assert row.items() >= (told | {"state_last_seen_utc": "never connected"}).items()


def test_a_file_has_all_that_a_row_of_the_page_shows_the_first_of(client: Client):
    made = peer("p0")
    many = [group(f"g{number}", made) for number in range(5)]
    names = ", ".join(each.name for each in many)
    rows = as_json(client, f"{PEERS}?export=json&q=p0")
    assert [row["groups"] for row in rows] == [names]
    assert "and 2 more" in client.get(f"{PEERS}?q=p0").content.decode()

    first = rule(many, many)
    for position in range(1, 5):
        rule(many, many, policy=first.policy, position=position)
    path = "/admin/access/policy/"
    [row] = as_json(client, f"{path}?export=json")
    line = f"{names} \N{LEFT RIGHT ARROW} {names}; any traffic"
    assert row["sources_destinations_traffic"] == "; ".join([line] * 5)
    assert client.get(path).content.decode().count("and 2 more") == 3 * 2 + 1


def test_filters_and_search_hold_for_the_file_too(client: Client):
    for number in range(3):
        peer(f"on {number}", connected=True)
    peer("off")
    assert len(as_json(client, f"{PEERS}?export=json&connected__exact=1")) == 3
    found = as_csv(client, f"{PEERS}?export=csv&q=of")
    assert [row["name"][:3] for row in found] == ["off"]
    path = "/admin/accounts/user/"
    pending = "pending_approval__exact=1"
    files = client.get(f"{path}?{pending}&p=1").context["cl"].files
    assert files == {kind: f"?export={kind}&{pending}" for kind in ("csv", "json")}
    wrong: Any = client.get(f"{PEERS}?export=json&connected__exact=x&no_field=1")
    assert (wrong.status_code, wrong["Location"]) == (302, f"{PEERS}?e=1")


@pytest.mark.parametrize("word", ["łódź", "SMÖRGÅS", "gRÖßE", "100%_", "größe 100"])
def test_a_search_minds_the_case_of_no_letter(client: Client, word: str):
    made = group("ŁÓDŹ smörgås Größe 100%_\\")
    group("lodz smorgas Grösse 1000")
    asked = urlencode({"q": word, "export": "json"})
    assert [row["id"] for row in as_json(client, f"{GROUPS}?{asked}")] == [made.pk]


def test_the_members_of_a_group_are_given_alone(client: Client):
    made = group("g", peer("in"))
    peer("out")
    rows = as_json(client, f"{GROUPS}{made.pk}/members/?export=json")
    assert [row["name"][:2] for row in rows] == ["in"]


def test_formulas_in_names_are_only_text_for_a_spreadsheet(client: Client):
    group_create(name="=1+1")
    assert "'=1+1" in [row["name"] for row in as_csv(client, f"{GROUPS}?export=csv")]
    assert "=1+1" in [row["name"] for row in as_json(client, f"{GROUPS}?export=json")]


def test_no_secret_is_in_a_file(client: Client):
    plain = token_of(person())
    text = file_of(client, "/admin/accounts/accesstoken/?export=csv")
    assert plain not in text
    assert "hash" not in text.splitlines()[0]


def test_a_file_is_read_in_pieces_and_has_every_row_once(
    client: Client, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(lists, "_AT_ONCE", 10)
    peers(35)
    rows, few = asking(lambda: as_json(client, f"{PEERS}?export=json&o=-1"))
    assert len({row["id"] for row in rows}) == len(rows) == 35
    assert sum("LIMIT 10" in sql for sql in few) == 5  # the last one is empty
    assert len(few) <= 12 + 4 * 5


def test_who_may_not_see_a_list_gets_no_file():
    reader = client_of(person("network_admin"))
    path = "/admin/control/proxytoken/?export=csv"
    assert reader.get(path).status_code == 403
    assert reader.get(f"{PEERS}?export=csv").status_code == 200
    assert Client().get(f"{PEERS}?export=csv").status_code == 302


def test_columns_are_chosen_in_the_address_and_hold_for_files(client: Client):
    peer("vega")
    chosen: Any = client.get(f"{PEERS}?columns=name&columns=address&columns=client")
    assert chosen["Location"] == "?columns=name%2Caddress%2Cclient"
    shown = client.get(f"{PEERS}{chosen['Location']}").context["cl"].list_display
    assert shown == ["action_checkbox", "title", "address", "client"]
    [row] = as_json(client, f"{PEERS}{chosen['Location']}&export=json")
    assert list(row) == ["id", "name", "address", "client"]
    for odd in ("no_such", "", "%00", "address"):  # the first column always stays
        columns = client.get(f"{PEERS}?columns={odd}").context["cl"].list_display
        assert columns[:2] == ["action_checkbox", "title"]


def keep(client: Client, path: str, **sent: str) -> None:
    assert client.post(path, {"keep_view": "1", **sent}).status_code == 302


def test_the_name_of_a_view_holds_nothing_that_is_not_seen(client: Client):
    keep(client, PEERS, name="a\0b\u202ec")
    assert SavedView.objects.get().name == r"a\x00b\u202ec"


def test_a_view_is_kept_with_filters_columns_and_order(client: Client):
    query = "connected__exact=1&columns=name%2Caddress&o=1"
    keep(client, f"{PEERS}?{query}&p=2&view=all", name="on <b>")
    page = client.get(PEERS).content.decode()
    assert "on &lt;b&gt;" in page
    assert SavedView.objects.get().query == query
    assert f'href="?{query.replace("&", "&amp;")}"' in page


def test_a_default_view_opens_with_the_list_and_can_be_left(client: Client):
    peer("off")
    keep(client, f"{PEERS}?connected__exact=1", name="on", is_default="on")
    keep(client, f"{PEERS}?connected__exact=0", name="off", is_default="on")
    assert client.get(PEERS)["Location"] == "?connected__exact=0"
    assert SavedView.objects.filter(is_default=True).count() == 1
    here = client.get(f"{PEERS}?connected__exact=0").context["cl"]
    assert here.clear_all_filters_qs == "?view=all"
    everything = client.get(f"{PEERS}?view=all")
    assert (everything.status_code, everything.context["cl"].result_count) == (200, 1)
    client.post(PEERS, {"drop_view": "off"})
    assert client.get(PEERS).status_code == 200


@pytest.mark.django_db(transaction=True)
def test_of_default_views_made_at_once_one_stays_default(owner: User):
    browsers = {f"view {number}": client_of(owner) for number in range(8)}
    for _ in range(2):  # the first ones, and others beside them
        default = partial(keep, path=f"{PEERS}?q=a", is_default="on")
        race([partial(default, each, name=name) for name, each in browsers.items()])
        assert SavedView.objects.filter(is_default=True).count() == 1
        browsers = {f"another {name}": each for name, each in browsers.items()}
    assert SavedView.objects.count() == 16


def test_views_are_those_of_one_person_on_one_list(client: Client):
    keep(client, f"{PEERS}?q=a", name="mine", is_default="on")
    other = person("auditor")
    assert "mine" not in client_of(other).get(PEERS).content.decode()
    assert client.get(GROUPS).status_code == 200
    keep(client_of(other), f"{PEERS}?q=b", name="mine")
    client_of(other).post(PEERS, {"drop_view": "mine"})
    assert SavedView.objects.get().query == "q=a"
    network_admin = client_of(person("network_admin"))
    path = "/admin/control/proxytoken/"
    assert network_admin.post(path, {"keep_view": "1", "name": "x"}).status_code == 403


def test_a_name_is_needed_kept_anew_and_there_is_an_end(
    client: Client, monkeypatch: pytest.MonkeyPatch
):
    keep(client, f"{PEERS}?q=a", name="  ")
    assert not SavedView.objects.exists()
    keep(client, f"{PEERS}?q=a", name="x")
    keep(client, f"{PEERS}?q=b", name="x")
    assert SavedView.objects.get().query == "q=b"
    monkeypatch.setattr(lists, "_MOST_VIEWS", 1)
    keep(client, f"{PEERS}?q=a", name="y")
    assert SavedView.objects.get().name == "x"


def test_the_views_of_a_person_go_with_them(client: Client):
    gone = person("auditor")
    keep(client_of(gone), f"{PEERS}?q=a", name="x")
    user_delete(user_id=gone.pk, by=person("owner"))
    assert not SavedView.objects.exists()


@pytest.mark.parametrize("model", LISTS, ids=lambda model: model._meta.label_lower)
def test_every_list_says_what_its_columns_are_called(
    model: type[Model], client: Client
):
    keys = [key for key, _, _ in client.get(path_of(model)).context["cl"].choice]
    assert len(set(keys)) == len(keys)
    assert not {"", "column"} & set(keys)


def test_what_is_there_to_be_clicked_stands_in_rows_and_in_no_file(client: Client):
    group("Field service")
    for query in ("", "?columns=issued"):
        shown = client.get(f"{GROUPS}{query}").content.decode()
        assert 'aria-label="Delete Field service"' in shown
    assert "deletion" not in as_json(client, f"{GROUPS}?export=json")[0]


def test_no_list_is_filtered_by_what_it_does_not_show(client: Client):
    """Else `?hash__icontains=` told a secret, a character at a time."""
    hidden = {"password", "hash", "key_hash", "token_hash", "sealed_secret", "target"}
    answers = {
        (model, name): client.get(path_of(model), {f"{name}__icontains": "x"})
        for model in LISTS
        for name in hidden & {field.name for field in model._meta.concrete_fields}
    }
    assert len(answers) >= 6
    assert [held for held, x in answers.items() if x.status_code != 400] == []
    assert client.get(f"{PEERS}?user__password__icontains=x").status_code == 400
    assert client.get(f"{PEERS}?name__icontains=x").status_code == 200


def test_a_key_is_hidden_as_the_column_it_is_of(rf: RequestFactory):
    class Narrow(ListAdmin):
        list_display = ("name",)

    class Wide(ListAdmin):
        list_display = ("name", "user")

    for pages, allowed in ((Narrow, False), (Wide, True)):
        asked = pages(Peer, admin.site).lookup_allowed("user_id", "x", rf.get("/"))
        assert asked is allowed


@pytest.mark.slow
def test_every_choice_of_every_filter_is_answered(client: Client):
    peers(2)
    for model in LISTS:
        path = path_of(model)
        shown = client.get(path).context["cl"]
        for filtered in shown.filter_specs:
            for choice in filtered.choices(shown):
                answer = client.get(path + choice["query_string"])
                assert answer.status_code == 200, (path, choice)


@pytest.mark.slow
def test_odd_filters_are_told_and_break_no_list(client: Client):
    kinds: dict[Any, str] = {
        (type(field), model): field.name
        for model in (Peer, NameserverGroup)
        for field in model._meta.concrete_fields
    }
    broken = []
    for (kind, model), name in kinds.items():
        for lookup in ("", *(f"__{how}" for how in kind.get_lookups())):
            for value in ("(", "9" * 30):
                answer = client.get(path_of(model), {f"{name}{lookup}": value})
                if answer.status_code not in {200, 302, 400}:
                    broken.append((model, f"{name}{lookup}", value))
    assert broken == []
