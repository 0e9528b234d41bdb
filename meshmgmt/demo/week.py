"""What happens in the rest of the demo company's week: the everyday changes."""

from functools import partial

from dns.models import Record
from dns.rules.records import RecordDraft
from dns.rules.zones import ZoneDraft
from dns.services.nameservers import nameserver_group_update
from dns.services.records import record_create, record_delete, record_update
from dns.services.zones import zone_create, zone_delete, zone_update
from groups.models import GroupPeer
from groups.services import group_create, group_delete, group_update
from meshmgmt.access.models import Policy
from meshmgmt.access.rules.invites import InviteDraft
from meshmgmt.access.services.invites import invite_create
from meshmgmt.accounts.services.users import user_set_blocked, user_set_role
from meshmgmt.core.orderedlinks import member_keys
from meshmgmt.core.transactions import account_write
from meshmgmt.demo import company
from meshmgmt.demo.company import DOMAIN
from meshmgmt.demo.naming import nameserver_draft
from meshmgmt.demo.people import enrol_peer, join, leave
from meshmgmt.demo.permits import policy_create
from meshmgmt.demo.story import DAYS, Story
from meshmgmt.inventory.services.peers import peer_delete, peer_update

FIRST = 2
NETWORK_ADMINS = ("ines", "olof")


def plan_week(story: Story) -> None:
    """Plan the days after the set-up; what is set up stays as it is in kind and count."""
    for day in range(FIRST, DAYS):
        for _ in range(story.random.randrange(5, 9)):
            _plan_record_change(story, day)
        for _ in range(story.random.randrange(2, 5)):
            _plan_field_work(story, day)
    _plan_incident(story)
    _plan_migration(story)
    _plan_fair(story)
    _plan_administration(story)


def _plan_record_change(story: Story, day: int) -> None:
    """Somebody gives a record another time to live."""
    zone = story.random.choice(company.ZONES).name
    pick = story.random.random()
    ttl = story.random.choice((30, 60, 120, 300, 600, 1800, 3600))
    who = story.random.choice(NETWORK_ADMINS)
    story.plan(
        day, story.some_minute(), who, partial(_change_ttl, story, zone, pick, ttl)
    )


def _change_ttl(story: Story, zone_name: str, pick: float, ttl: int) -> None:
    zone = story.zones[zone_name]
    records = Record.objects.filter(zone=zone).order_by("id")
    record = records[int(pick * records.count())]
    record_update(zone_id=zone.pk, record_id=record.pk, ttl=ttl)


def _plan_field_work(story: Story, day: int) -> None:
    """An engineer's laptop joins the field service for some hours."""
    name = story.random.choice(("saga-laptop", "rui-laptop", "olof-laptop"))
    start = story.random.uniform(7 * 60, 11 * 60)
    back = story.random.uniform(13 * 60, 18 * 60)
    group = "Field service"
    story.plan(day, start, "tomas", lambda: join(story, group, story.peers[name]))
    story.plan(day, back, "tomas", lambda: leave(story, group, story.peers[name]))


def _plan_incident(story: Story) -> None:
    """A stolen laptop: its user is blocked and the machine goes, then both are back."""
    number, machine = next(
        (number, machine)
        for number, machine in enumerate(company.LAPTOPS, 1)
        if machine.name == "dario-laptop"
    )

    def remove() -> None:
        peer_delete(peer_id=story.peers.pop(machine.name).pk)

    def replace() -> None:
        enrol_peer(story, machine, number)

    def block(blocked: bool) -> None:
        user_set_blocked(user_id=story.users["dario"].pk, blocked=blocked)

    story.plan(3, 10 * 60 + 2, "yuki", partial(block, True))
    story.plan(3, 10 * 60 + 6, "yuki", remove)
    story.plan(4, 9 * 60 + 20, "yuki", partial(block, False))
    story.plan(4, 11 * 60 + 45, "dario", replace)


def _plan_migration(story: Story) -> None:
    """A group for a database move lives three days; its deletion touches much."""
    name = "Database move"

    def make() -> None:
        peers = [story.peers[f"db-{number:02d}"].pk for number in (1, 2)]
        story.groups[name] = group_create(name=name, peers=peers)

    def use() -> None:
        ids = story.group_ids([name])
        policy_create(name="Copy between databases", sources=ids, destinations=ids)
        zone = story.zones["Databases"]
        groups = [*story.group_ids(company.ZONES[1].groups), *ids]
        zone_update(zone_id=zone.pk, distribution_groups=groups)

    def rename() -> None:
        group = story.groups[name]
        peers = member_keys(GroupPeer, group)
        peers.append(story.peers["db-03"].pk)
        group_update(
            group_id=group.pk, name="Database move (phase 2)", peers=peers, resources=[]
        )

    def end() -> None:
        group_delete(group_id=story.groups.pop(name).pk)
        with account_write():
            Policy.objects.get(name="Copy between databases").delete()

    story.plan(3, 8 * 60, "tomas", make)
    story.plan(3, 8 * 60 + 7, "tomas", use)
    story.plan(4, 14 * 60, "tomas", rename)
    story.plan(5, 17 * 60 + 30, "tomas", end)


def _plan_fair(story: Story) -> None:
    """The names of a trade fair's stand; the zone goes when the fair is over."""
    name, domain = "Trade fair", f"fair.{DOMAIN}"

    def make() -> None:
        groups = story.group_ids(["Field service"])
        draft = ZoneDraft(name=name, domain=domain, distribution_groups=groups)
        story.zones[name] = zone_create(draft=draft)

    def add(label: str, address: str) -> None:
        draft = RecordDraft(f"{label}.{domain}", "A", address, 60)
        record_create(zone_id=story.zones[name].pk, draft=draft)

    def end() -> None:
        zone_delete(zone_id=story.zones.pop(name).pk)

    story.plan(2, 13 * 60, "ines", make)
    story.plan(2, 13 * 60 + 2, "ines", partial(add, "kiosk", "10.31.40.10"))
    story.plan(2, 13 * 60 + 3, "ines", partial(add, "demo-cell", "10.31.40.20"))
    story.plan(5, 16 * 60 + 40, "olof", end)


def _plan_administration(story: Story) -> None:
    """Single changes by those whose work they are."""

    def switch_policy(name: str, enabled: bool) -> None:
        with account_write():
            policy = Policy.objects.get(name=name)
            policy.enabled = enabled
            policy.save(update_fields=["enabled"])

    def new_server() -> None:
        row = company.NAMESERVERS[2]
        changed = row._replace(servers=(*row.servers, "10.12.1.53"))
        nameserver_group_update(
            group_id=story.nameservers[row.name].pk,
            draft=nameserver_draft(story, changed),
        )

    def revoke_key() -> None:
        with account_write():
            key = story.keys["visitor tablet"]
            key.refresh_from_db()
            key.revoked = True
            key.save(update_fields=["revoked"])

    def rename_peer() -> None:
        peer_update(peer_id=story.peers["rui-workstation"].pk, name="rui-simulator")

    def move_chat() -> None:
        zone = story.zones["Applications"]
        full = f"chat.apps.{DOMAIN}"
        old = Record.objects.get(zone=zone, name=full, type="AAAA")
        record_delete(zone_id=zone.pk, record_id=old.pk)
        record_create(
            zone_id=zone.pk, draft=RecordDraft(full, "AAAA", "fd11:22::c", 300)
        )

    def promote(role: str) -> None:
        user_set_role(user_id=story.users["elin"].pk, role=role)

    story.plan(2, 15 * 60, "yuki", partial(switch_policy, "Engineers to builds", False))
    story.plan(2, 16 * 60, "yuki", partial(switch_policy, "Engineers to builds", True))
    story.plan(3, 16 * 60 + 10, "ines", new_server)
    story.plan(4, 16 * 60 + 15, "tomas", revoke_key)
    story.plan(5, 9 * 60 + 50, "tomas", rename_peer)
    story.plan(5, 11 * 60 + 5, "olof", move_chat)

    def invite() -> None:
        draft = InviteDraft(
            email=f"vera.lopes@{DOMAIN}",
            name="Vera Lopes",
            role="user",
            auto_groups=story.group_ids(["Engineering"]),
        )
        invite_create(draft=draft, by=story.users["mara"])

    story.plan(6, 10 * 60, "mara", partial(promote, "network_admin"))
    story.plan(6, 14 * 60 + 25, "mara", invite)
