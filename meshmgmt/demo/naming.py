"""Deeds about the DNS of the demo company."""

from collections.abc import Sequence
from typing import Final

from dns.models import Record
from dns.services.nameservers import dns_settings_update, nameserver_groups
from dns.services.zones import records, zones
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
    listed = [{"ip": ip, "ns_type": "udp", "port": port} for ip in servers]
    values = {
        "name": name,
        "nameservers": listed,
        "groups": _group_ids(story, groups),
        "primary": not domains,
        "domains": list(domains),
        "search_domains_enabled": search,
        "enabled": enabled,
    }
    known = story.nameservers.get(name)
    if known is not None:
        nameserver_groups.update(known.pk, values)
        return
    story.nameservers[name] = nameserver_groups.create(values)


def _group_ids(story: Story, names: Sequence[str]) -> list[str]:
    if list(names) == [ALL]:
        # Made with the account, so the story does not know it.
        return [Group.objects.get(name=ALL, issued=Issued.API).pk]
    return story.group_ids(names)


def unmanaged(story: Story, groups: Sequence[str]) -> None:
    dns_settings_update(disabled_management_groups=story.group_ids(groups))


def zone(
    story: Story, name: str, domain: str, groups: Sequence[str], search: bool = False
) -> None:
    values = {"name": name, "domain": domain, "enable_search_domain": search}
    values["distribution_groups"] = story.group_ids(groups)
    story.zones[name] = zones.create(values)


def zone_changed(story: Story, name: str, groups: Sequence[str]) -> None:
    listed = {"distribution_groups": story.group_ids(groups)}
    zones.update(story.zones[name].pk, listed)


def zone_removed(story: Story, name: str) -> None:
    zones.delete(story.zones.pop(name).pk)


def record(
    story: Story, zone: str, name: str, *, kind: str, content: str, ttl: int
) -> None:
    values = {"type": kind, "content": content, "ttl": ttl}
    values["name"] = _full(story, zone, name)
    records.create(values, story.zones[zone].pk)


def record_removed(story: Story, zone: str, name: str, kind: str) -> None:
    owner = story.zones[zone]
    old = Record.objects.get(zone=owner, name=_full(story, zone, name), type=kind)
    records.delete(old.pk)


def ttl_changed(story: Story, zone: str, pick: float, ttl: int) -> None:
    """Give one of the records another time to live; `pick`, 0 to 1, says which."""
    # A share, for how many there will be is not known when it is planned.
    known = Record.objects.filter(zone=story.zones[zone]).order_by("id")
    records.update(known[int(pick * known.count())].pk, {"ttl": ttl})


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
