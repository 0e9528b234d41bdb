"""Reverse proxies: their tokens, also in the admin site, and their access logs."""

import datetime as dt
import re
from functools import partial
from typing import Any

import orjson
import pytest
from django.core.management import CommandError
from django.test import Client
from google.protobuf.timestamp_pb2 import Timestamp

from events.models import ProxyEntry
from meshmgmt.control.models import ProxyToken
from meshmgmt.control.protocol import proxy_pb2 as pb
from meshmgmt.control.services.proxies import (
    check_proxy_token,
    proxy_tokens,
    store_proxy_log,
)
from meshmgmt.control.services.refusals import Code, Refused
from meshmgmt.core import clock
from meshmgmt.core.errors import InvalidArgument, NotFound
from meshmgmt.core.ids import new_id
from tests.admin.signed_in import texts_of
from tests.control.machines import refusal_of
from tests.dns.test_commands import run
from tests.factories import Trail
from tests.people import api_as, person

pytestmark = pytest.mark.django_db


def log(**facts: Any) -> pb.AccessLog:
    timestamp = Timestamp()
    timestamp.FromDatetime(clock.now())
    values: dict[str, Any] = {
        "timestamp": timestamp,
        "log_id": new_id(),
        "service_id": "service-1",
        "host": "wiki.mesh.dev",
        "path": "/start",
        "duration_ms": 12,
        "method": "GET",
        "response_code": 200,
        "source_ip": "::ffff:192.0.2.7",
        "auth_mechanism": "oidc",
        "auth_success": True,
        "protocol": "http",
        "metadata": {"zone": "a"},
    }
    return pb.AccessLog(**{**values, **facts})


def shown() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = api_as("owner").get("/api/events/proxy").json["data"]
    return found


def test_entry_is_read_by_the_api():
    user = person("user")
    entry = log(user_id=user.pk)
    store_proxy_log(entry)
    store_proxy_log(entry)
    (stored,) = shown()
    said: dict[str, Any] = {
        "id": entry.log_id,
        "host": "wiki.mesh.dev",
        "path": "/start",
    }
    said |= {"source_ip": "192.0.2.7", "user_id": user.pk, "protocol": "http"}
    said |= {"auth_method_used": "oidc", "metadata": {"zone": "a"}}
    assert stored | said == stored
    assert "reason" not in stored


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"auth_success": False, "response_code": 401}, "Authentication failed"),
        ({"response_code": 502}, "Request failed"),
        ({"protocol": "tcp", "auth_success": False, "response_code": 0}, None),
    ],
)
def test_reason_tells_what_went_wrong_over_http(facts: Any, reason: str | None):
    store_proxy_log(log(**facts))
    assert shown()[0].get("reason") == reason


def test_user_counts_only_when_the_mechanism_names_people():
    store_proxy_log(log(auth_mechanism="pin", user_id="somebody"))
    assert "user_id" not in shown()[0]


def test_absurd_values_are_cut_for_an_entry_is_sent_once():
    absurd = log(
        duration_ms=2**62,
        response_code=-7,
        bytes_upload=-1,
        bytes_download=2**63 - 1,
        host="h" * 999,
        path="/\0" * 9000,
        method="M" * 99,
        source_ip="nowhere",
        protocol="tls",
        metadata={f"k{n}": "v" * 9999 for n in range(99)},
    )
    store_proxy_log(absurd)
    (stored,) = shown()
    assert stored["bytes_upload"] == stored["status_code"] == 0
    assert len(stored["metadata"]) == 64


@pytest.mark.parametrize(
    "entry",
    [
        log(protocol="carrier-pigeon"),
        log(timestamp=Timestamp(seconds=1)),
        pb.AccessLog(),
    ],
)
def test_entry_that_cannot_be_kept_is_refused(entry: pb.AccessLog):
    assert refusal_of(store_proxy_log, entry).code == Code.INVALID_ARGUMENT
    assert ProxyEntry.objects.count() == 0


def test_token_lets_a_proxy_in_until_it_is_revoked():
    trail = Trail()
    made = proxy_tokens.create({"name": "edge"})
    assert (made.plain[:4], len(made.plain)) == ("nbx_", 40)
    assert check_proxy_token(f"Bearer {made.plain}") == made.pk
    made.refresh_from_db()
    assert made.last_used is not None
    proxy_tokens.delete(made.pk)
    refusal = refusal_of(check_proxy_token, f"Bearer {made.plain}")
    assert refusal.code == Code.UNAUTHENTICATED
    assert trail.targets == [
        ("personal.access.token.create", made.pk),
        ("personal.access.token.delete", made.pk),
    ]
    assert made.plain not in str([event.changes for event in trail.events])


@pytest.mark.parametrize("text", ["", "Bearer", "Bearer nbx_x", "Bearer mpt_x", "\0"])
def test_other_texts_let_nobody_in(text: str):
    assert refusal_of(check_proxy_token, text).code == Code.UNAUTHENTICATED


def test_token_may_end():
    made = proxy_tokens.create({"name": "edge", "expires_in": 1})
    with clock.set_to(clock.now() + dt.timedelta(days=2)), pytest.raises(Refused):
        check_proxy_token(f"Bearer {made.plain}")


@pytest.mark.parametrize(("name", "days"), [("", 0), (" ", 0), ("a", -1), ("a", 9999)])
def test_tokens_have_names_and_sensible_lives(name: str, days: int):
    with pytest.raises(InvalidArgument):
        proxy_tokens.create({"name": name, "expires_in": days})


def test_unknown_token_cannot_be_revoked():
    with pytest.raises(NotFound):
        proxy_tokens.delete("0" * 20)


command = partial(run, "proxy_tokens")


def test_command_makes_lists_and_revokes_tokens():
    plain = command("create", "edge", "--days", "30")
    assert plain == plain.strip() + "\n"
    token = ProxyToken.objects.get()
    assert check_proxy_token(f"Bearer {plain.strip()}") == token.pk
    (listed,) = orjson.loads(command("list", "--json"))
    assert (listed["id"], listed["name"]) == (token.pk, "edge")
    assert "edge" in command("list")
    assert command("revoke", token.pk) == "revoked: 1\n"
    assert not ProxyToken.objects.exists()


@pytest.mark.parametrize(
    "args", [("create", " "), ("revoke", "nobody"), ("create", "a", "--days", "-1")]
)
def test_command_says_what_is_wrong(args: tuple[str, ...]):
    with pytest.raises(CommandError):
        command(*args)


TOKENS = "/admin/control/proxytoken/"


def test_new_token_is_shown_once(client: Client):
    response = client.post(f"{TOKENS}add/", {"name": "edge", "expires_in": "30"})
    assert response.status_code == 302
    found = re.search(r"<code>(\w+)</code>", texts_of(response))
    assert found is not None
    token = ProxyToken.objects.get()
    assert check_proxy_token(f"Bearer {found[1]}") == token.pk
    for page in (TOKENS, f"{TOKENS}{token.pk}/change/"):
        text = client.get(page).content.decode()
        assert "edge" in text
        assert token.hash not in text


def test_token_is_revoked(client: Client):
    token = proxy_tokens.create({"name": "edge"})
    found = client.post(TOKENS, {"q": token.plain})
    assert found["Location"] == f"{TOKENS}{token.pk}/change/"
    asked = client.get(f"{TOKENS}{token.pk}/delete/").content.decode()
    assert "Revoking proxy token" in asked
    assert "will be revoked" in asked
    response = client.post(f"{TOKENS}{token.pk}/delete/", {"post": "yes"})
    assert response.status_code == 302
    assert not ProxyToken.objects.exists()
