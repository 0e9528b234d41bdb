"""Deeds about the people of the demo company, their machines, and the groups of both."""

import base64
import datetime as dt
import ipaddress
from collections.abc import Sequence
from typing import Any, Final

from groups.models import Group, GroupPeer
from groups.services import group_create, group_delete, group_update
from meshmgmt.access.models import SetupKey, UserAutoGroup
from meshmgmt.access.services.enrolment import invite_create
from meshmgmt.accounts.audit import record_sign_in
from meshmgmt.accounts.models import Account, User
from meshmgmt.accounts.services.account import account_update
from meshmgmt.accounts.services.tokens import access_tokens
from meshmgmt.accounts.services.users import (
    user_create,
    user_set_blocked,
    user_set_role,
)
from meshmgmt.core import clock, context
from meshmgmt.core.context import Actor
from meshmgmt.core.orderedlinks import append_members, drop_members, set_members
from meshmgmt.core.transactions import account_write
from meshmgmt.demo.byname import ids_of
from meshmgmt.demo.story import Story
from meshmgmt.inventory.addresses import hosts
from meshmgmt.inventory.models import Peer
from meshmgmt.inventory.services.peers import no_free_address, peer_delete, peer_update

DOMAIN: Final = "halden.internal"
MARK: Final = "HR"
"""Serial numbers of the machines begin with it."""

OFFICES: Final = {
    "gbg": ("Gothenburg", "SE", 2711537),
    "porto": ("Porto", "PT", 2735943),
}
AGENT_VERSION: Final = "0.59.3"
FIRST_ADDRESS: Final = 10
"""Counted from the beginning of the account's range."""


def person(story: Story, key: str, name: str, role: str) -> None:
    first, _, last = name.partition(" ")
    plain = f"{first}.{last}".lower().translate(str.maketrans("áêöäéí", "aeoaei"))
    story.users[key] = user_create(email=f"{plain}@{DOMAIN}", name=name, role=role)


def robot(story: Story, key: str, name: str, role: str) -> None:
    user = story.users[key] = user_create(name=name, role=role, is_service_user=True)
    # Nobody knows this token; the pipeline of the demo does not run.
    access_tokens.create({"name": "pipeline", "expires_in": 90}, user.pk)


def sign_in(story: Story, user: str) -> None:
    with account_write():
        found = User.objects.get(pk=story.users[user].pk)
        # Not in the trail: a sign-in has an event of its own.
        User.objects.filter(pk=found.pk).unaudited_update(last_login=clock.now())
        record_sign_in(found)


def account_setting(story: Story, **settings: Any) -> None:
    account_update(settings=settings)


def blocked(story: Story, user: str, blocked: bool) -> None:
    user_set_blocked(user_id=story.users[user].pk, blocked=blocked)


def role(story: Story, user: str, role: str) -> None:
    user_set_role(user_id=story.users[user].pk, role=role)


def invite(
    story: Story, email: str, name: str, role: str, groups: Sequence[str]
) -> None:
    person = {"email": email, "name": name, "role": role}
    ids = ids_of(Group, groups)
    invite_create(by=story.users["mara"], auto_groups=ids, **person)


def group(story: Story, name: str, peers: Sequence[str] = ()) -> None:
    group_create(name=name, peers=ids_of(Peer, peers))


def group_changed(story: Story, group: str, name: str, peers: Sequence[str]) -> None:
    ids = ids_of(Peer, peers)
    group_update(group_id=ids_of(Group, group), name=name, peers=ids, resources=[])


def group_removed(story: Story, name: str) -> None:
    group_delete(group_id=ids_of(Group, name))


def auto_group(story: Story, user: str, group: str) -> None:
    set_members(UserAutoGroup, story.users[user], [ids_of(Group, group)])


def joined(story: Story, group: str, peer: str) -> None:
    append_members(GroupPeer, Group.objects.get(name=group), [ids_of(Peer, peer)])


def left(story: Story, group: str, peer: str) -> None:
    drop_members(GroupPeer, Group.objects.get(name=group), [ids_of(Peer, peer)])


def machine(
    story: Story, number: int, groups: Sequence[str], key: str = "", **facts: str
) -> None:
    """Add a machine, of a person or by a setup key; `number` gives its address."""
    with account_write():
        if not key:
            _enrol(story, number, groups, None, **facts)
            return
        found = SetupKey.objects.get(name=key)
        # No person enrols it: the trail of the reference names the key.
        with context.scope(actor=Actor(id=found.pk)):
            _enrol(story, number, groups, found, **facts)
        SetupKey.objects.filter(pk=found.pk).unaudited_update(
            used_times=Peer.objects.filter(setup_key_id=found.pk).count(),
            last_used=clock.now(),
        )


def machine_removed(story: Story, name: str) -> None:
    peer_delete(peer_id=ids_of(Peer, name))


def machine_renamed(story: Story, name: str, to: str) -> None:
    peer_update(peer_id=ids_of(Peer, name), name=to)


DEEDS: Final = (
    *(person, robot, account_setting, blocked, role, invite, auto_group),
    *(group, group_changed, group_removed),
    *(machine, machine_removed, machine_renamed),
)


def overlay_address(network_range: str, number: int) -> str:
    """Return an address of the account's range. Raises InvalidArgument beyond its end."""
    network = ipaddress.ip_network(network_range)
    place = FIRST_ADDRESS + number
    if place not in hosts(network):
        raise no_free_address(network_range)
    return str(network[place])


def _enrol(
    story: Story,
    number: int,
    groups: Sequence[str],
    key: SetupKey | None,
    *,
    name: str,
    system: str,
    office: str,
    person: str = "",
) -> None:
    chance = story.random
    city, country, geoname = OFFICES[office]
    peer = Peer(
        name=name,
        wg_public_key=base64.b64encode(chance.randbytes(32)).decode(),
        ip=overlay_address(Account.objects.get().network_range, number),
        dns_label=name,
        user=story.users[person] if person else None,
        setup_key_id=key.pk if key else "",
        setup_key_name=key.name if key else "",
        hostname=name,
        os=system,
        kernel_version="6.12.48" if system.startswith("linux") else "",
        version=AGENT_VERSION,
        serial_number=f"{MARK}{chance.randrange(10**8):08d}",
        ssh_enabled=key is not None and number % 2 == 0,
        login_expiration_enabled=key is None,
        # Not by the clock of the story: it was seen shortly before somebody looks.
        last_seen=story.now - dt.timedelta(minutes=chance.randrange(600)),
        last_login=clock.now(),
        # Addresses for documentation (RFC 5737).
        connection_ip=f"198.51.100.{chance.randrange(1, 255)}",
        country_code=country,
        city_name=city,
        geoname_id=geoname,
    )
    peer.save(force_insert=True)
    for group_name in groups:
        joined(story, group_name, name)
