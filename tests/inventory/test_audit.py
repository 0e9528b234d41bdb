"""What changes of peers and networks leave in the audit trail."""

from typing import Any

import pytest

from meshmgmt.core import clock
from meshmgmt.inventory.models import Peer
from meshmgmt.inventory.services.peers import peer_create
from tests.factories import Trail, ipv6_for_all, peer, peers, resource
from tests.people import person

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("wide_range")]

KEY = "A" * 43 + "="
BY_ADDRESS = {
    f"peer.{what}.{deed}"
    for what in ("ssh", "login.expiration", "inactivity.expiration")
    for deed in ("enable", "disable")
}
"""Events that name the peer by its address, as the reference API does."""


@pytest.mark.parametrize(
    ("name", "before", "after", "code"),
    [
        ("name", "a", "b", "peer.rename"),
        ("ip", "100.64.0.1", "100.64.0.2", "peer.ip.update"),
        ("ipv6", None, "fd00::1", "peer.ip.update"),
        ("ssh_enabled", False, True, "peer.ssh.enable"),
        ("ssh_enabled", True, False, "peer.ssh.disable"),
        ("login_expiration_enabled", False, True, "peer.login.expiration.enable"),
        ("login_expiration_enabled", True, False, "peer.login.expiration.disable"),
        ("inactivity_expiration_enabled", 0, 1, "peer.inactivity.expiration.enable"),
        ("inactivity_expiration_enabled", 1, 0, "peer.inactivity.expiration.disable"),
        ("approval_required", False, True, "peer.approval.revoke"),
        ("approval_required", True, False, "peer.approve"),
        ("login_expired", False, True, "peer.login.expire"),
        ("login_expired", True, False, "user.peer.login"),
        ("os", "", "Debian", "peer.update"),
        ("local_flags", {}, {"disable_dns": True}, "peer.update"),
        ("extra_dns_labels", [], ["www"], "peer.update"),
    ],
)
def test_each_column_has_its_code_and_target(
    name: str, before: Any, after: Any, code: str
):
    one = peer(**{name: before})
    trail = Trail()

    setattr(one, name, after)
    one.save()

    target = one.ip if code in BY_ADDRESS else one.pk
    assert trail.targets == [(code, target)]
    assert trail.events[0].changes == {name: {"before": before, "after": after}}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("connected", True),
        ("last_seen", clock.now()),
        ("last_login", clock.now()),
        ("connection_ip", "203.0.113.1"),
        ("country_code", "DE"),
        ("city_name", "Bonn"),
        ("geoname_id", 5),
    ],
)
def test_connection_state_leaves_no_event(name: str, value: Any):
    one = peer()
    trail = Trail()

    setattr(one, name, value)
    one.save()

    assert trail.codes == []


def test_peer_is_described_in_full():
    ipv6_for_all()
    trail = Trail()

    one = peer_create(name="Web 1", wg_public_key=KEY, ipv6="fd00::1")

    assert trail.targets == [("peer.user.add", one.pk)]
    here = {"fqdn": "web-1.mesh.internal", "ip": one.ip, "ipv6": "fd00::1"}
    place = {"city_name": "", "country_code": "", "geo_name_id": "0"}
    place |= {"connection_ip": ""}
    assert trail.events[0].meta == {
        "name": "Web 1",
        **here,
        **{f"location_{name}": value for name, value in place.items()},
        "created_at": clock.rfc3339(one.created_at),
    }


def test_peer_enrolled_by_a_key_names_the_key():
    trail = Trail()

    peer(setup_key_id="0" * 20, setup_key_name="office key")

    assert trail.codes == ["peer.setupkey.add"]
    assert trail.events[0].meta["setup_key_name"] == "office key"


def test_peer_of_a_user_keeps_the_user():
    owner = person("user")
    peer(user=owner)

    with pytest.raises(Exception, match="protected foreign keys"):
        owner.delete()


def test_deleting_many_peers_needs_few_queries(django_assert_max_num_queries: Any):
    peers(30)
    trail = Trail()

    with django_assert_max_num_queries(30):
        Peer.objects.all().delete()

    assert trail.codes == ["user.peer.delete"] * 30


def test_resource_is_described_with_its_network():
    trail = Trail()

    made = resource("printer")

    assert trail.targets == [
        ("network.create", made.network_id),
        ("network.resource.create", made.pk),
    ]
    there = {"network_name": made.network.name, "network_id": made.network_id}
    assert trail.events[1].meta == {"name": "printer", "type": "host"} | there
