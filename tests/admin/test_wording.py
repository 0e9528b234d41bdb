"""What pages say: words as people write them, names in place of ids, what happened."""

import re

import pytest
from django.test import Client

from groups.services import group_create, group_update
from meshmgmt.access.models import Router, SetupKey
from meshmgmt.accounts.models import Account
from meshmgmt.accounts.services.tokens import access_tokens
from meshmgmt.core import clock
from meshmgmt.delivery.services import subscription_create
from tests.admin.signed_in import errors_of, form_data
from tests.factories import network
from tests.people import person

pytestmark = pytest.mark.django_db


def heading(client: Client, path: str) -> str:
    """Return what the heading of a page says."""
    text = client.get(path).content.decode()
    found = re.search(r"<h1>(.*?)</h1>", text, re.DOTALL)
    assert found, path
    return " ".join(re.sub(r"<[^>]+>", "", found[1]).split())


def test_the_head_of_a_list_has_the_box_that_selects_all(client: Client):
    text = client.get("/admin/groups/group/").content.decode()
    assert '<input type="checkbox" id="action-toggle"' in text


def test_headings_name_objects_not_ids(client: Client):
    router = Router.objects.create(network=network("office"), metric=1)
    token = access_tokens.create({"name": "pipeline", "expires_in": 1}, person().pk)
    for path, said in (
        (f"access/router/{router.pk}", "Change router into office"),
        (f"accounts/accesstoken/{token.pk}", "View access token pipeline"),
    ):
        assert heading(client, f"/admin/{path}/change/") == said


def test_the_history_of_an_object_is_its_audit_trail(client: Client):
    made = group_create(name="watched", peers=[], resources=[])
    group_update(group_id=made.pk, name="renamed", peers=[], resources=[])
    page = client.get(f"/admin/groups/group/{made.pk}/history/", follow=True)
    assert page.redirect_chain == [(f"/admin/events/auditevent/?search={made.pk}", 302)]
    text = page.content.decode()
    assert "renamed" in text
    assert "group.add" in text


def test_the_page_of_a_subscription_to_somewhere_says_to_once(client: Client):
    target = {"type": "syslog", "host": "192.0.2.1", "port": 514, "tls": False}
    made, _ = subscription_create(name="to syslog", stream="audit", target=target)
    path = f"/admin/delivery/subscription/{made.pk}/sending/"
    assert heading(client, path) == "Sending to syslog"


def test_durations_are_read_and_written_in_words(client: Client):
    path = client.get("/admin/accounts/account/").headers["Location"]
    assert 'value="24 h"' in client.get(path).content.decode()
    sent = form_data(client, path) | {"peer_login_expiration": "90 days"}
    assert client.post(path, sent).status_code == 302
    assert Account.objects.get().peer_login_expiration == 90 * 86400
    assert 'value="90 days"' in client.get(path).content.decode()
    key = {"name": "k", "type": "reusable", "days": "2 weeks", "usage_limit": "0"}
    assert client.post("/admin/access/setupkey/add/", key).status_code == 302
    ends = SetupKey.objects.get(name="k").expires_at
    assert ends is not None
    assert round((ends - clock.now()).total_seconds() / 86400) == 14
    parts = client.post("/admin/access/setupkey/add/", {**key, "days": "36 h"})
    assert errors_of(parts) == {"days": ["must be a multiple of 24 h"]}


@pytest.mark.parametrize("sign", ["", "-"])
def test_a_number_too_long_to_be_read_is_no_duration(client: Client, sign: str):
    key = {
        "name": "k",
        "type": "reusable",
        "usage_limit": "0",
        "days": sign + "9" * 5000,
    }
    [text] = errors_of(client.post("/admin/access/setupkey/add/", key))["days"]
    assert "is no length of time" in text
    assert len(text) < 200
