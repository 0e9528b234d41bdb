"""A form that is saved as a browser showed it changes no text that nobody touched."""

from html.parser import HTMLParser
from typing import Final
from urllib.parse import urlencode

import pytest
from django.test import Client

from groups.models import Group
from groups.services import group_update
from meshmgmt.access.services.policies import posture_checks
from meshmgmt.accounts.models import Account
from tests.access.bodies import policy, route, rule
from tests.accesstests.world import promise
from tests.admin.signed_in import errors_of, saved
from tests.api_client import Api
from tests.dns.bodies import nameserver_group
from tests.factories import Trail, account_settings, group, peer
from tests.resource_contract import Body, ok

pytestmark = pytest.mark.django_db

ODD: Final = (
    "Line one\nLine two",
    "\nCR LF\r\n\r\nCR\rend\n",
    " \t blanks at the ends\u0085\u00a0\x1f ",
)
"""Texts of which a browser or Django sends or keeps less than they are."""
BREAKS: Final = ODD[0]
_TEXTS: Final = {"text", "search", "tel", "url", "email", "password"}
_BOXES: Final = {"checkbox", "radio"}
_BUTTONS: Final = {"submit", "button", "image", "reset", "file"}


def bodies(text: str) -> dict[str, Body]:
    """Return a body with odd texts for each address of the API."""
    team = group("team").pk
    named: Body = {"name": text, "description": text, "enabled": True}
    checks = {"nb_version_check": {"min_version": "1.0"}}
    side = {"kind": "group", "id": team}
    sides = {"source": side, "destination": side}
    everything = {"bidirectional": True, "protocol": "all", "ports": []}
    for_all = {"primary": True, "domains": []}
    # Of a test's name no control characters are taken.
    promised = {**named, "name": "promise", "kind": "access", "expect": "reach"}
    return {
        "access/policy": policy(**named, rules=[rule(**named, **everything)]),
        "access/posturecheck": {**named, "checks": checks},
        "access/route": route(description=text, network_id=text),
        "accesstests/accesstest": {**promised, **sides, "protocol": "all"},
        "dns/nameservergroup": nameserver_group(**named, groups=[team], **for_all),
        "groups/group": {"name": text, "peers": [peer("machine").pk]},
        "inventory/network": named,
    }


ADDRESSES: Final = {
    "access/policy": "policies",
    "access/posturecheck": "posture-checks",
    "access/route": "routes",
    "accesstests/accesstest": "access-tests",
    "dns/nameservergroup": "dns/nameservers",
    "groups/group": "groups",
    "inventory/network": "networks",
}


def made_by(api: Api, kind: str, text: str) -> tuple[str, Body]:
    """Make an object; return its address and what the API shows of it."""
    address = f"/api/{ADDRESSES[kind]}"
    made = ok(api.post(address, bodies(text)[kind]))
    address = f"{address}/{made['id']}"
    return address, ok(api.get(address))


def page_of(kind: str, key: str) -> str:
    return f"/admin/{kind}/{key}/change/"


def in_browser(client: Client, page: str, **typed: str) -> list[tuple[str, str]]:
    """Return what a browser sends for a page of which some inputs were `typed` anew.

    As the HTML standard has it: inputs of one line lose line breaks, those for addresses
    blanks at their ends too, and all line breaks are sent as CR LF.
    """
    shown = client.get(page)
    assert shown.status_code == 200
    # What reads HTML takes every line end for LF.
    form = FormReader(shown.content.decode().replace("\r\n", "\n").replace("\r", "\n"))
    return [
        (name, typed.get(name, value).replace("\n", "\r\n"))
        for name, value in form.sent
    ]


class FormReader(HTMLParser):
    """The inputs of a page's main form, as a browser would send them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.sent: list[tuple[str, str]] = []
        self._inside, self._select, self._textarea = False, "", ""
        self.feed(page)

    def handle_starttag(
        self, tag: str, attributes: list[tuple[str, str | None]]
    ) -> None:
        found = {name: value or "" for name, value in attributes}
        name, value = found.get("name", ""), found.get("value", "")
        if tag == "form":
            self._inside = found.get("id", "").endswith("_form")
        elif not self._inside:
            return
        elif tag == "select":
            self._select = name
        elif tag == "option" and "selected" in found:
            self.sent.append((self._select, value))
        elif tag == "textarea":
            self.sent.append((name, ""))
            self._textarea = name
        elif tag == "input" and name:
            self._input(name, value, found)

    def _input(self, name: str, value: str, found: dict[str, str]) -> None:
        kind = found.get("type", "text")
        if kind in _BUTTONS or (kind in _BOXES and "checked" not in found):
            return
        if kind in _BOXES:
            value = found.get("value", "on")
        self.sent.append((name, value.replace("\n", "") if kind in _TEXTS else value))

    def handle_data(self, data: str) -> None:
        if self._textarea:
            name, text = self.sent.pop()
            self.sent.append((name, text + data))

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._inside = False
        elif tag == "textarea" and self._textarea:
            name, text = self.sent.pop()
            self.sent.append((name, text.removeprefix("\n")))
            self._textarea = ""


def save(client: Client, page: str, sent: list[tuple[str, str]]) -> None:
    form = "application/x-www-form-urlencoded"
    saved(client.post(page, urlencode(sent), content_type=form))


@pytest.mark.parametrize("text", ODD, ids=["line", "line ends", "blank ends"])
@pytest.mark.parametrize("kind", ADDRESSES)
def test_texts_stay_to_the_letter(client: Client, api: Api, kind: str, text: str):
    address, before = made_by(api, kind, text)
    page, trail = page_of(kind, before["id"]), Trail()

    save(client, page, in_browser(client, page))

    assert trail.codes == []
    assert ok(api.get(address)) == before


@pytest.mark.parametrize("kind", ADDRESSES)
def test_a_description_stays_when_the_rest_is_edited(
    client: Client, api: Api, kind: str
):
    address, before = made_by(api, kind, BREAKS)
    page = page_of(kind, before["id"])
    name = "network_id" if "network_id" in before else "name"

    save(client, page, in_browser(client, page, **{name: "other"}))

    assert ok(api.get(address)) == {**before, name: "other"}


@pytest.mark.parametrize("kind", sorted(ADDRESSES.keys() - {"groups/group"}))
def test_a_description_of_lines_is_written_as_lines(
    client: Client, api: Api, kind: str
):
    address, before = made_by(api, kind, "plain")
    page = page_of(kind, before["id"])
    typed = "two\nlines"

    save(client, page, in_browser(client, page, description=typed))

    assert ok(api.get(address)) == {**before, "description": typed}


def test_descriptions_of_rules_are_written_and_kept_as_lines(client: Client, api: Api):
    address, before = made_by(api, "access/policy", BREAKS)
    page = page_of("access/policy", before["id"])
    changed = {"rules-0-description": "two\nlines"}

    save(client, page, in_browser(client, page, **changed))
    lines = {**before["rules"][0], "description": "two\nlines"}
    assert ok(api.get(address))["rules"] == [lines]
    save(client, page, in_browser(client, page, **{"rules-0-rule_name": "other"}))

    assert ok(api.get(address))["rules"] == [{**lines, "name": "other"}]


@pytest.mark.slow
@pytest.mark.parametrize("text", ODD, ids=["line", "line ends", "blank ends"])
def test_resources_of_networks_and_rules_that_name_them_stay(
    client: Client, api: Api, text: str
):
    whole = ok(api.post("/api/networks", {"name": "office"}))
    address = f"/api/networks/{whole['id']}/resources"
    body = {"name": text, "description": text, "address": "10.0.0.7", "enabled": True}
    made = ok(api.post(address, {**body, "groups": []}))
    policy, _ = made_by(api, "access/policy", "plain")
    body = ok(api.get(policy))
    target = {"id": made["id"], "type": made["type"]}
    [rule] = body["rules"]
    rule |= {"destinations": None, "destinationResource": target, "name": text}
    before = ok(api.put(policy, body))
    page = page_of("access/policy", before["id"])
    stored, trail = ok(api.get(f"{address}/{made['id']}")), Trail()

    for each in (page_of("inventory/networkresource", made["id"]), page):
        save(client, each, in_browser(client, each))
    edited = {"rules-0-description": "edited"}
    save(client, page, in_browser(client, page, **edited))

    assert ok(api.get(f"{address}/{made['id']}")) == stored
    [rule] = before["rules"]
    assert ok(api.get(policy))["rules"] == [{**rule, "description": "edited"}]
    assert trail.codes == ["policy.update", "rule.update"]


def test_blanks_at_the_ends_of_a_setting_stay(client: Client):
    account_settings(jwt_groups_claim_name=" groups ")
    page, trail = page_of("accounts/account", Account.objects.get().pk), Trail()

    save(client, page, in_browser(client, page))

    assert Account.objects.get().jwt_groups_claim_name == " groups "
    assert trail.codes == []


def test_settings_that_the_api_empties_are_saved_as_they_are(client: Client, api: Api):
    account = f"/api/accounts/{Account.objects.get().pk}"
    ranges = {"network_range": Account.objects.get().network_range}
    periods = {"peer_login_expiration": 3600, "peer_inactivity_expiration": 3600}
    before = ok(api.put(account, {"settings": {**ranges, **periods}}))
    assert before["settings"]["auto_update_version"] == ""
    page, trail = page_of("accounts/account", before["id"]), Trail()

    save(client, page, in_browser(client, page))

    assert trail.codes == []
    [after] = ok(api.get("/api/accounts"))
    assert after == before


@pytest.mark.parametrize(
    "deleted", [("source",), ("destination",), ("source", "destination")]
)
def test_an_access_test_stays_off_without_what_was_deleted(
    client: Client, api: Api, deleted: tuple[str, ...]
):
    ends = {"source": group("from"), "destination": group("to")}
    test = promise("promise", ends["source"], ends["destination"], "reach")
    for end in deleted:
        ok(api.delete(f"/api/groups/{ends[end].pk}"))
    address = f"/api/access-tests/{test.pk}"
    before, trail = ok(api.get(address)), Trail()
    page = page_of("accesstests/accesstest", test.pk)

    save(client, page, in_browser(client, page))

    assert trail.codes == []
    assert ok(api.get(address)) == before
    sent = [*in_browser(client, page), ("enabled", "on")]
    response = client.post(page, dict(sent))
    assert errors_of(response)[f"{deleted[0]}_group"] == [f"choose one {deleted[0]}"]


ODD_NAMES: Final = [[" "], [""], [" admins"], ["a,b", "c\nd", "e\r", " e ", "e", "e"]]
"""Lists whose names are not the lines of the text that shows them."""


def listed() -> tuple[str, list[str]]:
    """Return the claim of groups, and those that may enter."""
    return Account.objects.values_list(
        "jwt_groups_claim_name", "jwt_allow_groups"
    ).get()


@pytest.mark.parametrize("names", ODD_NAMES)
def test_names_of_a_list_stay_to_the_letter(client: Client, names: list[str]):
    account_settings(jwt_allow_groups=names)
    page, trail = page_of("accounts/account", Account.objects.get().pk), Trail()

    save(client, page, in_browser(client, page))
    assert trail.codes == []
    save(client, page, in_browser(client, page, jwt_groups_claim_name="teams"))

    assert listed() == ("teams", names)


@pytest.mark.parametrize("names", ODD_NAMES)
def test_names_of_a_list_changed_meanwhile_stay_to_the_letter(
    client: Client, names: list[str]
):
    account_settings(jwt_allow_groups=["old"])
    page = page_of("accounts/account", Account.objects.get().pk)
    late = in_browser(client, page, jwt_groups_claim_name="teams")
    account_settings(jwt_allow_groups=names)

    save(client, page, late)

    assert listed() == ("teams", names)


def test_a_list_is_the_trimmed_lines_of_what_somebody_typed(client: Client):
    account_settings(jwt_allow_groups=[" admins"])
    page = page_of("accounts/account", Account.objects.get().pk)

    for typed, names in (("admins", ["admins"]), (" a \n\nb", ["a", "b"]), ("", [])):
        save(client, page, in_browser(client, page, jwt_allow_groups=typed))
        assert Account.objects.get().jwt_allow_groups == names


def test_conditions_of_a_posture_check_stay_when_others_are_edited(client: Client):
    places = [{"country_code": "DE", "city_name": " Berlin  Mitte "}]
    kept: Body = {
        "geo_location_check": {"locations": places, "action": "allow"},
        "process_check": {"processes": [{"linux_path": " /usr/bin/agent\n"}]},
    }
    checks = {**kept, "nb_version_check": {"min_version": "1.0"}}
    check = posture_checks.create({"name": "x", "checks": checks})
    page = page_of("access/posturecheck", check.pk)

    sent = dict(in_browser(client, page)) | {"client": "1.1"}
    save(client, page, list(sent.items()))

    check.refresh_from_db()
    assert check.checks == {**kept, "nb_version_check": {"min_version": "1.1"}}


def test_blanks_are_taken_away_and_added_by_hand(client: Client):
    stored = group(" blanks ")
    page = page_of("groups/group", stored.pk)

    for name in ("blanks", "blanks "):
        save(client, page, in_browser(client, page, name=name))
        assert Group.objects.get(pk=stored.pk).name == name


def test_a_name_with_a_line_break_changed_meanwhile_is_taken_over(client: Client):
    stored = group("old")
    page = page_of("groups/group", stored.pk)
    late = in_browser(client, page)
    group_update(group_id=stored.pk, name=BREAKS, peers=None, resources=[])

    save(client, page, late)

    assert Group.objects.get(pk=stored.pk).name == BREAKS
