"""`?at=`: what the API answered at a moment, from the audit trail."""

from datetime import timedelta
from random import Random
from typing import Any
from urllib.parse import quote

import pytest
from django.core.management import CommandError, call_command
from django.db import models

from events.models import AuditEvent
from groups.models import Group
from meshmgmt.control.maps import MapStore
from meshmgmt.core import clock
from meshmgmt.core.context import account_id
from meshmgmt.core.history import account_at
from meshmgmt.explain.answers import peer_dns
from meshmgmt.inventory.models import Peer
from meshmgmt.inventory.services.peers import peer_update
from tests.api_client import Api
from tests.dns import bodies
from tests.factories import account_settings, group, newest_event, peer, peers, rule
from tests.history.writes import Writer, check_at_random
from tests.people import api_as, person
from tests.races import lock_held_elsewhere
from tests.resource_contract import ok, stored

pytestmark = pytest.mark.django_db

PATHS = (
    *("groups", "policies", "posture-checks", "networks", "routes", "accounts"),
    *("dns/nameservers", "dns/zones", "dns/settings"),
)


def answers(api: Api, moment: str = "") -> dict[str, str]:
    query = f"?at={quote(moment)}" if moment else ""
    found = {path: api.get(f"/api/{path}{query}") for path in PATHS}
    assert {answer.status for answer in found.values()} == {200}
    return {path: answer.body.decode() for path, answer in found.items()}


def now() -> str:
    return clock.rfc3339(clock.now()) or ""


@pytest.mark.parametrize(
    ("examples", "writes"), [(3, 12), pytest.param(2, 60, marks=pytest.mark.slow)]
)
def test_each_moment_answers_as_it_did(examples: int, writes: int):
    members = [member.pk for member in peers(4)]
    caller = api_as()

    def seen_again(random: Random) -> None:
        writer = Writer(caller, random, members)
        moments = []
        for _ in range(writes):
            writer.write()
            moments.append((now(), answers(caller)))
        before = stored()
        for moment, answered in random.sample(moments, min(writes, 20)):
            assert answers(caller, moment) == answered
        assert stored() == before

    check_at_random(seen_again, examples)


def test_peers_and_settings_are_shown_as_they_were(api: Api):
    made = group("web", peer("alpha"), peer("beta"))
    moment, before = now(), answers(api)
    alpha = ok(api.get(f"/api/groups/{made.pk}"))["peers"][0]["id"]
    ssh = {"name": "omega", "ssh_enabled": not Peer.objects.get(pk=alpha).ssh_enabled}
    ok(api.put(f"/api/peers/{alpha}", ssh))
    with account_at(moment):
        shown = Peer.objects.get(pk=alpha)
        assert (shown.name, shown.ssh_enabled) == ("alpha", not ssh["ssh_enabled"])
    ok(api.delete(f"/api/peers/{alpha}"))
    path = f"/api/accounts/{account_id()}"
    shown = ok(api.get(path))["settings"]
    ok(api.put(path, {"settings": shown | {"dns_domain": "other.example"}}))
    assert answers(api) != before
    assert answers(api, moment) == before


def test_what_referred_to_a_group_is_told_with_keys_and_invites_of_then(api: Api):
    path = f"/api/groups/{(made := group('web')).pk}/usage"
    terms = {"expires_in": 86400, "auto_groups": [made.pk]}
    key = {"name": "k", "type": "reusable", "usage_limit": 0, **terms}
    invite = {"email": "i@mesh.test", "name": "i", "role": "user", **terms}
    moments = [(now(), ok(api.get(path)))]
    kept = ok(api.post("/api/setup-keys", key))["id"]
    asked = ok(api.post("/api/users/invites", invite))["id"]
    moments.append((now(), ok(api.get(path))))
    ok(api.put(f"/api/setup-keys/{kept}", {"revoked": False, "auto_groups": []}))
    ok(api.delete(f"/api/users/invites/{asked}"))
    assert [len(told["references"]) for _, told in moments] == [0, 2]
    for moment, told in moments:
        assert ok(api.get(f"{path}?at={moment}")) == told


@pytest.mark.usefixtures("wide_range")
def test_peers_that_had_one_address_after_another_have_their_own_past():
    first = peer(ip="100.64.9.1", ssh_enabled=False)
    second = peer(ip="100.64.9.2", ssh_enabled=False)
    moment = now()
    peer_update(peer_id=first.pk, ssh_enabled=True)
    peer_update(peer_id=first.pk, ip="100.64.9.3")
    peer_update(peer_id=second.pk, ip="100.64.9.1")
    peer_update(peer_id=second.pk, ssh_enabled=True)
    with account_at(moment):
        assert not Peer.objects.filter(ssh_enabled=True).exists()
        assert Peer.objects.get(pk=second.pk).ip == "100.64.9.2"


def test_one_object_and_one_that_is_gone(api: Api):
    made = group("web")
    one = f"/api/groups/{made.pk}"
    before = clock.rfc3339(made.created_at - timedelta(seconds=1))
    moment = now()
    ok(api.delete(one))
    assert ok(api.get(f"{one}?at={moment}"))["name"] == "web"
    assert api.get(one).status == 404
    assert api.get(f"{one}?at={before}").status in (404, 422)


@pytest.mark.parametrize(
    ("at", "status", "text"),
    [
        ("yesterday", 400, "must be a time"),
        ("2026-01-01", 400, "must say its time of day and its time zone"),
        ("2026-01-01T00:00:00", 400, "must say its time zone"),
        ("2026-W47", 400, "must be a time as RFC 3339 writes it"),
        ("2026-W47T00:00:00Z", 400, "must be a time as RFC 3339 writes it"),
        ("0001-01-01T00:00:00%2B05:00", 400, ""),
        ("0495-05-23T18:32:04-22:17", 422, ""),
        ("2999-01-01T00:00:00Z", 422, ""),
        ("1999-01-01T00:00:00Z", 422, ""),
    ],
)
def test_moments_that_cannot_be_shown_are_refused(at: str, status: int, text: str):
    answer = api_as().get(f"/api/groups?at={at}")
    assert answer.status == status
    assert answer.json["message"].startswith(f"at: {text}")


def test_what_machines_report_has_no_history():
    answer = api_as().get(f"/api/peers?at={now()}")
    assert answer.status == 400
    assert "no history" in answer.json["message"]


def named_by_zone(api: Api, made: Group) -> str:
    """Make a zone for a group, with a record; return where it is."""
    zone = bodies.zone(domain="web.example", distribution_groups=[made.pk])
    path = f"/api/dns/zones/{ok(api.post('/api/dns/zones', zone))['id']}"
    record = bodies.record(name="web.example", content="10.9.8.7")
    ok(api.post(f"{path}/records", record))
    return path


def test_commands_look_back(api: Api, capsys: pytest.CaptureFixture[str]):
    alpha = peer("alpha")
    made = group("web", alpha)
    zone = named_by_zone(api, made)
    moment = now()
    ok(api.delete(zone))
    for command in (
        ["explain", alpha.pk, "web.example"],
        ["netmap", alpha.pk, "--json"],
    ):
        call_command(*command)
        assert "10.9.8.7" not in capsys.readouterr().out
        call_command(*command, "--at", moment)
        assert "10.9.8.7" in capsys.readouterr().out
    with pytest.raises(CommandError, match="does not reach back"):
        call_command("explain", alpha.pk, "x", "--at", "1999-01-01T00:00:00Z")


def test_an_order_and_parts_are_no_hindrance(api: Api):
    alpha, beta = peer("alpha"), peer("beta")
    made = group("web", alpha, beta)
    moment, before = now(), answers(api)
    body = {"name": "web", "peers": [beta.pk, alpha.pk]}
    ok(api.put(f"/api/groups/{made.pk}", body))
    named_by_zone(api, made)
    assert answers(api, moment) == before


def test_clocks_of_hosts_that_differ_do_not_mix_the_order_of_writes(api: Api):
    ok(api.post("/api/groups", {"name": "first"}))
    ok(api.get("/api/config"))
    rows: Any = models.QuerySet(AuditEvent)
    ahead = rows.order_by("id").values_list("id", flat=True)[0]
    moment, before = now(), answers(api)
    ok(api.post("/api/groups", {"name": "second"}))
    rows.filter(pk=ahead).update(timestamp=clock.now() + timedelta(hours=1))
    assert answers(api, moment) == before
    ok(api.get(f"/api/config?at={moment}"))


def test_no_moment_has_half_a_write(api: Api):
    web = group("web", *peers(3))
    before = answers(api)
    ok(api.delete(f"/api/groups/{web.pk}"))
    written = AuditEvent.objects.filter(request_id=newest_event().request_id)
    times = set(written.values_list("timestamp", flat=True))
    assert (len(written), len(times)) == (4, 1)
    just_before = clock.rfc3339(times.pop() - timedelta(microseconds=1)) or ""
    assert answers(api, just_before) == before


@pytest.mark.django_db(transaction=True)
def test_a_look_back_waits_for_no_write_and_leaves_nothing(api: Api):
    made = group("web", peer("alpha"))
    moment = now()
    ok(api.delete(f"/api/groups/{made.pk}"))
    with lock_held_elsewhere():
        for _ in range(2):
            assert made.pk in answers(api, moment)["groups"]
        assert made.pk not in answers(api)["groups"]
    ok(api.post("/api/groups", {"name": "web"}))


def test_the_past_is_not_written():
    answer = api_as().post(f"/api/groups?at={now()}", {"name": "x"})
    assert answer.status == 400
    assert not Group.objects.filter(name="x").exists()


def test_logins_are_judged_at_the_moment_asked_about():
    account_settings(peer_login_expiration_enabled=True, peer_login_expiration=3600)
    owner = person()
    began = clock.now()
    one = peer(
        user=owner,
        login_expiration_enabled=True,
        last_login=began - timedelta(seconds=3590),
    )
    other = peer()
    both = group("both", one, other)
    rule([both], [both])
    moment = clock.now()
    with clock.set_to(began + timedelta(seconds=60)):
        assert not peer_dns(one.pk).managed
        with account_at(moment.isoformat()):
            assert peer_dns(one.pk).managed
            store = MapStore(serving=False)
            store.refresh()
            assert store.mesh.network_map(other.pk).remotes.has(one.pk)
