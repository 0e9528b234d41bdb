"""The admin site's frame and first page."""

import pytest

from groups.services import group_create, group_update
from tests.admin.signed_in import client_of
from tests.people import person

pytestmark = pytest.mark.django_db


def test_first_page_shows_the_newest_changes_with_their_initiator():
    client = client_of(person("owner", name="Ada"))
    group_create(name="just <b>made")
    page = client.get("/admin/").content.decode()
    assert "A group was created" in page
    assert "just &lt;b&gt;made" in page
    assert "<b>" not in page
    assert "system" in page


def test_the_history_of_an_object_is_its_audit_trail():
    owner = person("owner")
    made = group_create(name="watched", peers=[], resources=[])
    group_update(group_id=made.pk, name="renamed", peers=[], resources=[])
    client = client_of(owner)

    page = client.get(f"/admin/groups/group/{made.pk}/history/", follow=True)

    text = page.content.decode()
    assert page.redirect_chain == [(f"/admin/events/auditevent/?search={made.pk}", 302)]
    assert "renamed" in text
    assert "group.add" in text
