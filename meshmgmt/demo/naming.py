"""Deeds about the DNS of the demo company."""

from collections.abc import Sequence
from typing import Final

from dns.models import Record
from dns.rules.nameservers import NameserverDraft, NameserverGroupDraft
from dns.rules.records import RecordDraft
from dns.rules.zones import ZoneDraft
from dns.services.nameservers import nameserver_group_create, nameserver_group_update
from dns.services.records import record_create, record_delete, record_update
from dns.services.settings import dns_settings_update
from dns.services.zones import zone_create, zone_delete, zone_update
from groups.models import ALL, Group, Issued
from meshmgmt.demo.story import Story


def nameserver_group(
    story: Story,
    name: str,
    servers: Sequence[str],
    groups: Sequence[str],
    *,
    domains: Sequence[str] = (),
    search: bool = False,
    enabled: bool = True,
    port: int = 53,
) -> None:
    """Make a nameserver group, or change the one of that name."""
    draft = NameserverGroupDraft(
        name=name,
        nameservers=[NameserverDraft(ip, port=port) for ip in servers],
        groups=_group_ids(story, groups),
        primary=not domains,
        domains=list(domains),
        search_domains_enabled=search,
        enabled=enabled,
    )
    known = story.nameservers.get(name)
    if known is not None:
        nameserver_group_update(group_id=known.pk, draft=draft)
        return
    story.nameservers[name] = nameserver_group_create(draft=draft)


def _group_ids(story: Story, names: Sequence[str]) -> list[str]:
    if list(names) == [ALL]:
        return [Group.objects.get(name=ALL, issued=Issued.API).pk]
    return story.group_ids(names)


def unmanaged(story: Story, groups: Sequence[str]) -> None:
    dns_settings_update(disabled_management_groups=story.group_ids(groups))


def zone(
    story: Story, name: str, domain: str, groups: Sequence[str], search: bool = False
) -> None:
    ids = story.group_ids(groups)
    draft = ZoneDraft(name, domain, ids, enable_search_domain=search)
    story.zones[name] = zone_create(draft=draft)


def zone_changed(story: Story, name: str, groups: Sequence[str]) -> None:
    zone_update(
        zone_id=story.zones[name].pk, distribution_groups=story.group_ids(groups)
    )


def zone_removed(story: Story, name: str) -> None:
    zone_delete(zone_id=story.zones.pop(name).pk)


def record(
    story: Story, zone: str, name: str, *, kind: str, content: str, ttl: int
) -> None:
    draft = RecordDraft(_full(story, zone, name), kind, content, ttl)
    record_create(zone_id=story.zones[zone].pk, draft=draft)


def record_removed(story: Story, zone: str, name: str, kind: str) -> None:
    owner = story.zones[zone]
    old = Record.objects.get(zone=owner, name=_full(story, zone, name), type=kind)
    record_delete(zone_id=owner.pk, record_id=old.pk)


def ttl_changed(story: Story, zone: str, pick: float, ttl: int) -> None:
    """Give one of the records another time to live; `pick`, 0 to 1, says which."""
    records = Record.objects.filter(zone=story.zones[zone]).order_by("id")
    found = records[int(pick * records.count())]
    record_update(zone_id=story.zones[zone].pk, record_id=found.pk, ttl=ttl)


def _full(story: Story, zone: str, name: str) -> str:
    """Return a name below a zone in full; "" is the zone itself."""
    domain = story.zones[zone].domain
    return f"{name}.{domain}" if name else domain


DEEDS: Final = (
    nameserver_group,
    unmanaged,
    zone,
    zone_changed,
    zone_removed,
    record,
    record_removed,
)
