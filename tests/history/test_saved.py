"""What the admin site says after saving: who gets another map, and who has it."""

import os
import re
import time
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from events.models import AuditEvent
from groups.models import Group
from groups.services import group_delete
from meshmgmt.access.models import Policy
from meshmgmt.accounts.models import User
from meshmgmt.accounts.services.users import (
    HashedPassword,
    user_delete,
    user_set_blocked,
    user_set_password,
)
from meshmgmt.control.changes import newest_serial
from meshmgmt.control.server import figures
from meshmgmt.control.server.figures import Delivered, delivered
from meshmgmt.core import context, runtime
from meshmgmt.core.ids import new_id
from meshmgmt.history import saved
from meshmgmt.history.past import account_after
from meshmgmt.history.saved import Effect, effect_of, in_words
from meshmgmt.inventory.models import Peer
from meshmgmt.plans.peers import PeersBefore
from tests.admin.signed_in import client_of, form_data
from tests.factories import group, newest_event, peer, peers, rule
from tests.history.writes import Writer
from tests.people import api_of, person

pytestmark = pytest.mark.django_db

PASSWORD = "correct horse battery"


@pytest.fixture
def process(settings: Any) -> Iterator[str]:
    """Yield the name of a process of this host that serves peers."""
    folder = settings.SVC.runtime_dir
    held = runtime.lock(folder, "peers.lock", "a test")
    yield "this"
    figures.forget(folder)
    os.close(held)


def leave(settings: Any, serial: int, waiting: dict[str, tuple[float, int]]) -> None:
    """Leave what that process does."""
    now = time.time()
    left = figures.Figures(os.getpid(), now, "", 1, 0, 0.0, serial, "this", waiting)
    figures.write(settings.SVC.runtime_dir, left)


def switch(client: Client, policy: Policy, *, on: bool) -> Any:
    path = f"/admin/access/policy/{policy.pk}/switch/"
    return client.post(path, {"enabled": "1"} if on else {})


@pytest.mark.slow
@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(seed=st.integers(0, 10_000))
def test_afterwards_the_same_is_told_as_a_plan_told_before(owner: User, seed: int):
    api = api_of(owner)
    ids = [made.pk for made in peers(4)]
    writer = Writer(api, Random(seed), ids)
    for _ in range(4):
        last = newest_event().pk
        before = PeersBefore()
        before.read()
        writer.write()
        told = before.compared().essence
        event = newest_event()
        if event.pk != last and event.request_id:
            assert sorted(effect_of(event).peer_ids) == told


def test_a_later_change_does_not_count(owner: User, web: Group):
    more = group("more", peer("delta"))
    with context.scope(request_id="first"):
        rule([web], [more])
    event = newest_event()
    with context.scope(request_id="second"):
        group_delete(group_id=web.pk)
    names = Peer.objects.filter(pk__in=effect_of(event).peer_ids)
    assert set(names.values_list("name", flat=True)) == {"alpha", "beta", "delta"}


def test_the_page_after_a_switch_counts_peers_and_leads_to_the_change(
    client: Client, web: Group
):
    policy = Policy.objects.exclude(name="Default").get()
    done = switch(client, policy, on=False)
    page = client.get(done["Location"]).content.decode()
    [found] = re.findall(r'<span class="saved".*?</span>', page, re.DOTALL)
    said = " ".join(re.sub("<[^>]*>", " ", found).split())
    assert said == "3 peers get another map; none of them is online. What was changed"
    event = newest_event()
    trail = f"/admin/events/auditevent/?search={event.request_id}"
    assert client.get(trail).context["rows"]


def test_the_message_about_a_write_leads_to_the_trail_once(client: Client, web: Group):
    policies = "/admin/access/policy/"
    policy = Policy.objects.exclude(name="Default").get()
    members = f"/admin/groups/group/{web.pk}/members/paste/"
    for path, sent in (
        (policies, {"action": "disable", "_selected_action": policy.pk, "post": "yes"}),
        (members, {"peers": peer("pasted").name, "add": "1"}),
    ):
        page = client.post(path, sent, follow=True).content.decode()
        [told] = re.findall(r'class="messagelist".*?</ul>', page, re.DOTALL)
        assert told.count("/admin/events/auditevent/?search=") == 1, told


def test_counts_follow_what_peers_have(
    client: Client, web: Group, process: str, settings: Any
):
    alpha = Peer.objects.get(name="alpha")
    Peer.objects.all().unaudited_update(connected=True, stream_process=process)
    before = newest_serial()
    leave(settings, before, {})
    switch(client, Policy.objects.exclude(name="Default").get(), on=False)
    path = f"/admin/events/auditevent/{newest_event().pk}/peers/"
    renewal = {"X-Renewal": "1"}

    def said() -> str:
        return client.get(path, headers=renewal).content.decode()

    assert "0 of 3 online have it" in said()
    leave(settings, newest_serial(), {alpha.pk: (time.time(), before)})
    assert "2 of 3 online have it" in said()
    assert "data-saved" in said()
    leave(settings, newest_serial(), {})
    assert "3 of 3 online have it" in said()
    assert "data-saved" not in said()
    assert "<html" not in said()
    assert "<h1>" in client.get(path).content.decode()


def test_peers_of_other_hosts_are_not_judged(process: str, settings: Any):
    here = peer(connected=True, stream_process=process)
    there = peer(connected=True, stream_process="other")
    away = peer()
    leave(settings, 7, {})
    found = delivered({here.pk, there.pk, away.pk}, 7)
    assert found == Delivered(online=2, having=1, elsewhere=1)
    assert found.is_done
    assert delivered({away.pk}, 7) == Delivered(0, 0, 0)


MANY = (
    "1,200 peers may get another map; 3 of 9 online have it,"
    " 4 are served by other hosts, which know."
)


@pytest.mark.parametrize(
    ("number", "exact", "progress", "words"),
    [
        (0, True, (0, 0, 0), "No peer gets another map."),
        (1, True, (0, 0, 0), "1 peer gets another map; it is not online."),
        (1, True, (1, 1, 0), "1 peer gets another map; 1 of 1 online has it."),
        (2, False, (0, 0, 0), "2 peers may get another map; none of them is online."),
        (1200, False, (9, 3, 4), MANY),
    ],
)
def test_counts_agree_with_their_nouns(
    number: int, exact: bool, progress: tuple[int, int, int], words: str
):
    effect = Effect(frozenset(map(str, range(number))), exact, 7)
    assert in_words(effect, Delivered(*progress)) == words


def test_saving_what_changes_nothing_says_nothing_of_peers(client: Client):
    made = peer("web")
    path = f"/admin/inventory/peer/{made.pk}/change/"
    done = client.post(path, form_data(client, path))
    assert done.status_code == 302
    assert 'class="saved"' not in client.get(done["Location"]).content.decode()


def test_the_write_itself_asks_for_nothing_of_it(client: Client, web: Group):
    policy = Policy.objects.exclude(name="Default").get()
    with CaptureQueriesContext(connection) as asked:
        done = switch(client, policy, on=False)
    [message] = get_messages(done.wsgi_request)
    assert message.extra_tags == f"saved-{newest_event().request_id}"
    assert not [query for query in asked if "TEMPORARY" in query["sql"]]
    wrote = max(n for n, q in enumerate(asked) if "control_mapchange" in q["sql"])
    assert len(asked) - wrote <= 8, "little is asked after the write"


def test_of_many_peers_the_page_does_not_wait_for_the_count(
    client: Client, web: Group, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(saved, "FEW_PEERS", 2)
    policy = Policy.objects.exclude(name="Default").get()
    done = switch(client, policy, on=False)
    page = client.get(done["Location"]).content.decode()
    [link] = re.findall(r'data-saved="([^"]*)"', page)
    assert "Which peers get another map?" in page
    assert "3 peers get another map" in client.get(link).content.decode()


@pytest.mark.slow
def test_what_changed_since_is_counted_past_without_more_queries(
    client: Client, web: Group
):
    policy = Policy.objects.exclude(name="Default").get()
    asked = []
    for on, since in ((False, 3), (True, 60)):
        done = switch(client, policy, on=on)
        for number in range(since):
            group(f"{on} {number}")
        with CaptureQueriesContext(connection) as queries:
            page = client.get(done["Location"]).content.decode()
        assert "3 peers get another map" in page
        asked.append(len(queries))
    assert asked[1] <= asked[0]


def test_who_may_not_read_peers_is_refused(web: Group):
    path = f"/admin/events/auditevent/{newest_event().pk}/peers/"
    assert client_of(person("auditor")).get(path).status_code == 200
    assert client_of(person("user")).get(path).status_code in {302, 403}
    gone = "/admin/events/auditevent/0/peers/"
    assert client_of(person("owner")).get(gone).status_code == 404


def test_blocking_somebody_is_told_by_the_maps_of_their_peers():
    owner = person("user")
    laptop, server = peer("laptop", user=owner), peer("server")
    rule([group("staff", laptop)], [group("servers", server)])
    with context.scope(request_id=new_id()):
        user_set_blocked(user_id=owner.pk, blocked=True)
    event = AuditEvent.objects.get(activity_code="user.block")
    assert effect_of(event).peer_ids == {laptop.pk, server.pk}


def test_secrets_that_changed_since_bar_nobody_from_looking_back():
    owner, other = person("user", password=PASSWORD), person("user", password=PASSWORD)
    laptop, server = peer("laptop", user=owner), peer("server")
    rule([group("staff", laptop)], [group("servers", server)])
    user_set_blocked(user_id=owner.pk, blocked=True)
    event = AuditEvent.objects.get(activity_code="user.block")
    user_set_password(user_id=owner.pk, password=HashedPassword(f"{PASSWORD} anew"))
    user_delete(user_id=other.pk)
    with account_after(event.pk - 1):
        assert User.objects.filter(pk__in=(owner.pk, other.pk)).count() == 2
        assert not User.objects.get(pk=owner.pk).is_blocked
    assert User.objects.get(pk=owner.pk).check_password(f"{PASSWORD} anew")
