"""The people of the demo company, their machines, and the groups of both."""

import base64
import datetime as dt
from functools import partial

from groups.models import GroupPeer
from groups.services import group_create
from meshmgmt.access.models import SetupKey, UserAutoGroup
from meshmgmt.accounts.models import User
from meshmgmt.accounts.services.account import account_update
from meshmgmt.accounts.services.tokens import token_create
from meshmgmt.accounts.services.users import user_create
from meshmgmt.accounts.signin import record_sign_in
from meshmgmt.core import clock, context
from meshmgmt.core.context import Actor
from meshmgmt.core.orderedlinks import set_members
from meshmgmt.core.transactions import account_write
from meshmgmt.demo import company
from meshmgmt.demo.company import DOMAIN, OFFICES, Machine
from meshmgmt.demo.story import Story
from meshmgmt.inventory.models import Peer

AGENT_VERSION = "0.59.3"
LOGIN_SECONDS = 90 * 24 * 3600
"""People sign in on their machines four times a year: the demo lives for weeks."""


def plan_users(story: Story) -> None:
    """The system makes the owner, the owner the others, in the first hour.

    The owner also says how long a login of a peer lasts.
    """
    for number, (key, name, role) in enumerate(company.PEOPLE):
        who = company.PEOPLE[0][0] if number else ""
        story.plan(0, 7 * 60 + 5 * number, who, partial(_user, story, key, name, role))
    for key, name, role in company.ROBOTS:
        story.plan(0, 8 * 60, "mara", partial(_robot, story, key, name, role))
    rule = partial(account_update, settings={"peer_login_expiration": LOGIN_SECONDS})
    story.plan(0, 8 * 60 + 2, "mara", rule)
    for number, (key, _, _) in enumerate(company.PEOPLE):
        for day in (1 + number % 3, 4 + number % 3):
            sign_in = partial(_sign_in, story, key)
            story.plan(day, story.some_minute(), key, sign_in)


def _user(story: Story, key: str, name: str, role: str) -> None:
    first, _, last = name.partition(" ")
    plain = f"{first}.{last}".lower().translate(str.maketrans("áêöäéí", "aeoaei"))
    story.users[key] = user_create(email=f"{plain}@{DOMAIN}", name=name, role=role)


def _sign_in(story: Story, key: str) -> None:
    with account_write():
        user = User.objects.get(pk=story.users[key].pk)
        User.objects.filter(pk=user.pk).unaudited_update(last_login=clock.now())
        record_sign_in(user)


def _robot(story: Story, key: str, name: str, role: str) -> None:
    user = story.users[key] = user_create(name=name, role=role, is_service_user=True)
    # Nobody knows this token; the pipeline of the demo does not run.
    token_create(user_id=user.pk, name="pipeline", expires_in=90)


def plan_groups(story: Story) -> None:
    """Two administrators make the groups, and say which the users' machines join."""
    for number, name in enumerate(company.GROUPS):
        who = ("tomas", "yuki")[number % 2]
        story.plan(0, 8 * 60 + 10 + 4 * number, who, partial(_group, story, name))
    for key, group in (("nuno", "Field service"), ("dario", "Contractors")):
        story.plan(0, 9 * 60, "tomas", partial(_auto_group, story, key, group))


def _group(story: Story, name: str) -> None:
    story.groups[name] = group_create(name=name)


def _auto_group(story: Story, key: str, name: str) -> None:
    set_members(UserAutoGroup, story.users[key], story.group_ids([name]))


def plan_peers(story: Story) -> None:
    """People enrol their machines, keys enrol the servers, over the first two days."""
    for number, machine in enumerate((*company.LAPTOPS, *company.SERVERS), 1):
        day = 1 if machine.key and number % 3 == 0 else 0
        minute = 13 * 60 if machine.key else 9 * 60 + 30
        enrol = partial(enrol_peer, story, machine, number)
        story.plan(day, minute + 5 * number, machine.person, enrol)


def enrol_peer(story: Story, machine: Machine, number: int) -> None:
    """Add a machine and put it into its groups; `number` gives its address."""
    with account_write():
        if not machine.key:
            _enrol(story, machine, number, None)
            return
        key = story.keys[machine.key]
        with context.scope(actor=Actor(id=key.pk)):
            _enrol(story, machine, number, key)
        SetupKey.objects.filter(pk=key.pk).unaudited_update(
            used_times=Peer.objects.filter(setup_key_id=key.pk).count(),
            last_used=clock.now(),
        )


def _enrol(story: Story, machine: Machine, number: int, key: SetupKey | None) -> None:
    chance = story.random
    city, country, geoname = OFFICES[machine.office]
    is_linux = machine.system.startswith("linux")
    peer = Peer(
        name=machine.name,
        wg_public_key=base64.b64encode(chance.randbytes(32)).decode(),
        ip=f"100.92.{number // 200}.{number % 200 + 10}",
        dns_label=machine.name,
        user=story.users[machine.person] if machine.person else None,
        setup_key_id=key.pk if key else "",
        setup_key_name=key.name if key else "",
        hostname=machine.name,
        os=machine.system,
        kernel_version="6.12.48" if is_linux else "",
        version=AGENT_VERSION,
        serial_number=f"{company.MARK}{chance.randrange(10**8):08d}",
        ssh_enabled=key is not None and number % 2 == 0,
        login_expiration_enabled=key is None,
        last_seen=story.now - dt.timedelta(minutes=chance.randrange(600)),
        last_login=clock.now(),
        connection_ip=f"198.51.100.{chance.randrange(1, 255)}",
        country_code=country,
        city_name=city,
        geoname_id=geoname,
    )
    peer.save(force_insert=True)
    story.peers[machine.name] = peer
    for group in machine.groups:
        join(story, group, peer)


def join(story: Story, group: str, peer: Peer) -> None:
    owner = story.groups[group]
    members = GroupPeer.objects.filter(group=owner).values_list("peer_id", flat=True)
    set_members(GroupPeer, owner, [*members, peer.pk])


def leave(story: Story, group: str, peer: Peer) -> None:
    owner = story.groups[group]
    members = GroupPeer.objects.filter(group=owner).values_list("peer_id", flat=True)
    set_members(GroupPeer, owner, [pk for pk in members if pk != peer.pk])
