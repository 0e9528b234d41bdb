"""A mistake in a form is said at its field in the words of the API; nothing is written."""

import base64
from collections.abc import Callable
from typing import Any, Final

import pytest
from django.apps import apps
from django.test import Client

from dns.models import NameserverGroup
from meshmgmt.access.models import PostureCheck
from meshmgmt.access.services.enrolment import invite_create
from meshmgmt.accounts.models import User
from tests.admin.signed_in import errors_of, form_data
from tests.factories import Trail, group, peer
from tests.people import person
from tests.resource_contract import stored

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("wide_range")]

Form = dict[str, Any]
Mistake = tuple[Form, str, str]
"""A change of a good form, the field at fault and what is said there."""

KEY: Final = base64.b64encode(bytes(32)).decode()
TAKEN_KEY: Final = base64.b64encode(bytes([7] * 32)).decode()


@pytest.fixture(autouse=True)
def others(owner: User, wide_range: None) -> None:
    """Store what has the names and addresses that are taken."""
    person("user", email="ann@mesh.dev")
    invited = {"email": "new@mesh.dev", "name": "New", "role": "user"}
    invite_create(by=owner, **invited)
    PostureCheck(name="taken").save()
    NameserverGroup(name="taken").save()
    group("taken")
    peer(wg_public_key=TAKEN_KEY, ip="100.64.7.7")


NEW: Final[Form] = {"email": "bob@mesh.dev", "name": "Bob", "role": "auditor"}
SERVERS: Final[Form] = {"name": "x", "nameservers": "10.0.0.53", "domains": "corp.test"}


def token() -> Form:
    owner = User.objects.get(role="owner").pk
    return {"user": owner, "name": "t", "expires_in": 3, "scope": ""}


def route() -> Form:
    ends = {"peer": peer().pk, "groups": [group().pk]}
    return {"network_id": "r", "network": "10.0.0.0/8", "metric": "1", **ends}


GOOD: Final[dict[str, Callable[[], Form]]] = {
    "access/invite": lambda: NEW | {"hours": "48"},
    "access/posturecheck": lambda: {"name": "new", "client": "1.2.0"},
    "access/route": route,
    "accounts/accesstoken": token,
    "accounts/user": lambda: NEW,
    "control/proxytoken": lambda: {"name": "edge", "expires_in": "30"},
    "dns/nameservergroup": lambda: SERVERS,
    "groups/group": lambda: {"name": "g", "resources": ""},
    "inventory/peer": lambda: {"name": "Printer", "wg_public_key": KEY},
}
MISTAKES: Final[dict[str, list[Mistake]]] = {
    "access/invite": [
        ({"email": "x"}, "email", "'x' is not an e-mail address"),
        ({"email": "new@mesh.dev"}, "email", "is invited already"),
        ({"name": ""}, "name", "the name must not be empty"),
        ({"role": "owner"}, "role", "owner"),
        ({"hours": "0"}, "hours", ""),
        ({"auto_groups": ["nope"]}, "auto_groups", "nope"),
    ],
    "access/posturecheck": [
        ({"name": ""}, "name", "name"),
        ({"name": "taken"}, "name", "another posture check has this name"),
        ({"client": ""}, "__all__", "give at least one check"),
        ({"client": "new"}, "client", "'new' is no version"),
        ({"darwin": "x"}, "darwin", "no version"),
        ({"locations": "Germany"}, "locations", "no country code"),
        ({"ranges": "here"}, "ranges", "no network"),
        ({"processes": "agent.exe"}, "processes", "no path such as"),
    ],
    "access/route": [
        ({"network": "10.0.0"}, "network", "is no network such as"),
        ({"network": ""}, "network", "give either network or domains"),
        ({"domains": "a.test"}, "network", "not both"),
        ({"peer": ""}, "peer", "give either peer or peer_groups"),
        ({"peer": "nope"}, "peer", "nope"),
        ({"groups": []}, "groups", "at least one group"),
        ({"metric": "0"}, "metric", ""),
        ({"network_id": ""}, "network_id", "network identifier"),
    ],
    "accounts/accesstoken": [
        ({"name": " "}, "name", "the token's name is empty"),
        ({"expires_in": 0}, "expires_in", "1 to 365 days, not 0"),
        ({"expires_in": "x"}, "expires_in", "no length of time"),
        ({"scope": "all"}, "scope", "valid choice"),
        ({"user": "nobody"}, "user", "valid choice"),
    ],
    "accounts/user": [
        ({"email": "bob"}, "email", "'bob' is not an e-mail address"),
        ({"email": "ANN@mesh.dev"}, "email", "another user has this e-mail"),
        ({"new_password": "short"}, "new_password", "too short"),
        ({"name": "n" * 256}, "name", "at most 255"),
        ({"role": "king"}, "role", "valid choice"),
        ({"is_service_user": "on", "role": "owner"}, "role", "a service user"),
    ],
    "control/proxytoken": [
        ({"name": " "}, "name", ""),
        ({"expires_in": "-1"}, "expires_in", ""),
    ],
    "dns/nameservergroup": [
        ({"name": ""}, "name", "The name must have 1 to 40 characters"),
        ({"name": "x" * 41}, "name", "The name must have 1 to 40 characters"),
        ({"name": "taken"}, "name", "already exists"),
        ({"nameservers": "10.0.0.53 99999"}, "nameservers", "between 1 and 65535"),
        ({"nameservers": "10.0.0.53 dns"}, "nameservers", "port number"),
        ({"nameservers": "dns.test"}, "nameservers", "not an IPv4"),
        ({"nameservers": ""}, "nameservers", "A group needs 1 to 3 nameservers"),
        ({"domains": ""}, "domains", "at least one match domain"),
        ({"domains": "*.corp.test"}, "domains", "wildcards"),
        ({"primary": "on"}, "domains", "must not list any"),
        ({"groups": ["nope"]}, "groups", "nope"),
    ],
    "groups/group": [
        ({"name": ""}, "name", "the name must not be empty or blank"),
        ({"name": "x" * 256}, "name", "the name has more than 255 characters"),
        ({"name": "taken"}, "name", "group with name 'taken' already exists"),
        (
            {"resources": "r cow"},
            "resources",
            "type of a resource must be one of peer, host, subnet, domain",
        ),
    ],
    "inventory/peer": [
        ({"name": " "}, "name", "name must not be empty or blank"),
        ({"wg_public_key": "abc"}, "wg_public_key", "must be the base64 text of 32"),
        (
            {"wg_public_key": TAKEN_KEY},
            "wg_public_key",
            "another peer has this WireGuard public key",
        ),
        ({"ip": "1.2.3"}, "ip", "'1.2.3' is not an IPv4 address"),
        ({"ip": "100.64.7.7"}, "ip", "another peer has the address 100.64.7.7"),
        ({"ipv6": "x"}, "ipv6", "'x' is not an IPv6 address"),
        ({"ipv6": "fd00::7"}, "ipv6", "is not within the account's network range"),
        (
            {"extra_dns_labels": "ok\nA_b"},
            "extra_dns_labels",
            "'A_b' is not a DNS label in lower case",
        ),
    ],
}


ALIKE: Final = {
    *("access/posturecheck", "access/route", "dns/nameservergroup", "groups/group")
}
"""Pages whose form is the same for what is there already."""


def mistaken(client: Client, page: str, path: str, good: Form) -> list[Any]:
    """Send each mistake; return those that are not said at their field."""
    otherwise, before, trail = [], stored(), Trail()
    for changes, field, text in MISTAKES[page]:
        errors = errors_of(client.post(path, good | changes))
        if list(errors) != [field] or text not in errors[field][0]:
            otherwise.append((path, changes, errors))
    assert trail.codes == []
    assert stored() == before
    return otherwise


@pytest.mark.parametrize("page", GOOD)
def test_good_form_is_taken(client: Client, page: str):
    response = client.post(f"/admin/{page}/add/", GOOD[page]())
    assert response.status_code == 302, errors_of(response)


@pytest.mark.parametrize("page", MISTAKES)
def test_mistake_is_said_at_its_field_and_nothing_is_written(client: Client, page: str):
    add, good = f"/admin/{page}/add/", GOOD[page]()
    assert mistaken(client, page, add, good) == []
    if page in ALIKE:
        client.post(add, good)
        made = apps.get_model(page.replace("/", ".")).objects.latest("pk")
        path = f"/admin/{page}/{made.pk}/change/"
        assert mistaken(client, page, path, form_data(client, path)) == []
