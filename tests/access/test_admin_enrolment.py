"""Admin pages of setup keys, posture checks and invites."""

import datetime as dt
import re
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from meshmgmt.access import models as access
from meshmgmt.accounts.models import User
from meshmgmt.accounts.tokens import token_hash
from meshmgmt.core.orderedlinks import member_keys
from tests.access.test_admin import one_of_each, path
from tests.admin.signed_in import client_of, errors_of, form_data, texts_of
from tests.factories import Trail, group
from tests.people import person

pytestmark = pytest.mark.django_db


def test_setup_key_is_shown_once(client: Client):
    sent = {"name": "office", "type": "reusable", "days": "1", "usage_limit": "0"}
    filled = sent | {"auto_groups": [group("team").pk]}

    response = client.post(path("access/setupkey", "add/"), filled)

    assert response.status_code == 302, errors_of(response)
    found = re.search(r"<code>([0-9A-F-]{36})</code>", texts_of(response))
    assert found is not None
    port = settings.SVC.grpc_bind.rpartition(":")[2]
    command = f"--management-url http://testserver:{port} --setup-key {found[1]}"
    assert f"<code>netbird up {command}</code>" in texts_of(response)
    made = access.SetupKey.objects.get()
    assert made.key_hash == token_hash(found[1])
    client.get(path("access/setupkey"))  # shows the message
    there = path("access/setupkey", f"{made.pk}/change/")
    pasted = client.post(path("access/setupkey"), {"q": f'"{found[1].lower()}"'})
    assert pasted["Location"] == there
    page = client.get(there).content.decode()
    assert made.masked in page
    assert found[1] not in page
    assert made.key_hash not in page


def test_setup_key_is_revoked_for_good(client: Client):
    key = one_of_each()["access/setupkey"]
    page = path("access/setupkey", f"{key.pk}/change/")
    sent, trail = form_data(client, page), Trail()

    assert client.post(page, {**sent, "revoked": "on"}).status_code == 302
    assert trail.codes == ["setupkey.revoke"]
    refused = client.post(page, sent)
    assert errors_of(refused) == {"revoked": ["a revoked setup key stays revoked"]}


def test_posture_check_in_use_is_deleted_as_the_api_does(client: Client):
    check = one_of_each()["access/posturecheck"]
    page = path("access/posturecheck", f"{check.pk}/delete/")

    asked = client.get(page).content.decode()
    response = client.post(page, {"post": "yes"})

    assert "will be disabled" in asked
    assert response.status_code == 302
    assert not access.Policy.objects.filter(enabled=True).exists()


INVITE = {"email": "ann@mesh.dev", "name": "Ann", "role": "auditor", "hours": "48"}


def link_in(response: Any) -> str:
    """Return the path of the one link that the next page shows."""
    [found] = re.findall(r"<code>http://testserver(/invite/\w+)", texts_of(response))
    return str(found)


def test_link_of_an_invite_is_shown_once_and_works(client: Client):
    team, other, trail = group("team"), group("other"), Trail()
    sent = {**INVITE, "auto_groups": [team.pk, other.pk]}

    response = client.post(path("access/invite", "add/"), sent)

    assert response.status_code == 302, errors_of(response)
    assert trail.codes == ["user.invite.link.create"]
    link, made = link_in(response), access.Invite.objects.get()
    assert made.expires_at - made.created_at == pytest.approx(
        dt.timedelta(hours=48), abs=dt.timedelta(seconds=5)
    )
    client.get(path("access/invite"))  # shows the message
    there = path("access/invite", f"{made.pk}/change/")
    assert client.post(path("access/invite"), {"q": link})["Location"] == there
    page = client.get(there).content.decode()
    assert "team, other" in page
    assert link.rpartition("/")[2] not in page
    assert made.token_hash not in page
    assert b"ann@mesh.dev" in Client().get(link).content
    strong = dict.fromkeys(("password", "password_again"), "Correct-Horse-1")
    chosen = {"name": "Ann", **strong}
    assert Client().post(link, chosen)["Location"] == "/admin/login/"
    ann = User.objects.with_email("ann@mesh.dev").get()
    assert member_keys(access.UserAutoGroup, ann) == [team.pk, other.pk]
    assert client.get(there).status_code == 302


def test_another_link_ends_the_old_one(client: Client):
    old = link_in(client.post(path("access/invite", "add/"), INVITE))
    client.get(path("access/invite"))  # shows the message
    made, trail = access.Invite.objects.get(), Trail()
    data = {"action": "renew", "_selected_action": [made.pk]}

    response = client.post(path("access/invite"), data)

    assert trail.codes == ["user.invite.link.regenerate"]
    assert Client().get(link_in(response)).status_code == 200
    assert Client().get(old).status_code == 404


def test_links_are_made_for_so_many_at_once_as_of_other_actions(
    client: Client, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("meshmgmt.adminsite.bulk.MOST", 1)
    for mail in ("ann@mesh.dev", "bob@mesh.dev"):
        client.post(path("access/invite", "add/"), INVITE | {"email": mail})
    chosen, trail = access.Invite.objects.values_list("pk", flat=True), Trail()
    data = {"action": "renew", "_selected_action": list(chosen)}

    response = client.post(path("access/invite"), data, follow=True)

    assert "choose at most 1 at once" in [str(x) for x in response.context["messages"]]
    assert trail.codes == []


@pytest.mark.parametrize("role", ["network_admin", "auditor"])
def test_links_are_made_by_those_alone_who_may_change_invites(role: str):
    invite = one_of_each()["access/invite"]
    data = {"action": "renew", "_selected_action": [invite.pk]}
    client, trail = client_of(person(role)), Trail()

    client.post(path("access/invite"), data)

    assert trail.codes == []
