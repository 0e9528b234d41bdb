"""What deleting a group does to DNS objects."""

from collections import Counter

import pytest

from groups.models import Group
from tests.api_client import Api
from tests.dns.bodies import nameserver_group, zone
from tests.factories import Trail, group_id
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db


def test_objects_that_lose_their_last_group_are_disabled(api: Api):
    kept, lost = group_id("kept"), group_id("lost")
    paths = []
    for path, body, field in (
        ("/api/dns/nameservers", nameserver_group, "groups"),
        ("/api/dns/zones", zone, "distribution_groups"),
    ):
        for number, groups in enumerate(([kept, lost], [lost])):
            changes = {"name": f"n{number}", "domain": f"z{number}.test", field: groups}
            made = ok(api.post(path, body(**changes)))
            paths.append((f"{path}/{made['id']}", field))
    ok(api.put("/api/dns/settings", {"disabled_management_groups": [lost]}))
    trail = Trail()

    Group.objects.get(pk=lost).delete()

    shown = [(ok(api.get(path)), field) for path, field in paths]
    stand = [(found[field], found["enabled"]) for found, field in shown]
    assert stand == [([kept], True), ([], False)] * 2
    settings = ok(api.get("/api/dns/settings"))
    assert settings == {"disabled_management_groups": []}
    assert Counter(trail.codes) == {
        "nameserver.group.update": 2,
        "dns.zone.update": 2,
        "dns.setting.disabled.management.group.delete": 1,
        "group.delete": 1,
    }
    assert trail.codes[-1] == "group.delete"
    assert all("lost" in event.meta["reason"] for event in trail.events[:-1])
