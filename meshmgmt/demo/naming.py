"""DNS of the demo company: nameserver groups, four zones with sixty records, settings."""

from collections.abc import Iterator
from functools import partial

from dns.rules.nameservers import NameserverDraft, NameserverGroupDraft
from dns.rules.records import RecordDraft
from dns.rules.zones import ZoneDraft
from dns.services.nameservers import nameserver_group_create
from dns.services.records import record_create
from dns.services.settings import dns_settings_update
from dns.services.zones import zone_create
from groups.models import ALL, Group, Issued
from meshmgmt.demo import company
from meshmgmt.demo.company import NameserverRow, ZoneRow
from meshmgmt.demo.story import Story

RecordFacts = tuple[str, str, str, int]
"""Name below the zone ("" the zone itself), type, content, time to live in seconds."""


def plan_dns(story: Story) -> None:
    """The network administrators set up DNS on the first two days."""
    for number, row in enumerate(company.NAMESERVERS):
        deed = partial(_nameserver_group, story, row)
        story.plan(0, 15 * 60 + 6 * number, "ines", deed)
    for number, zone in enumerate(company.ZONES):
        minute = 8 * 60 + 150 * number
        story.plan(1, minute, "olof", partial(_zone, story, zone))
        for index, facts in enumerate(records_of(zone.name), 1):
            record = partial(_record, story, zone.name, facts)
            story.plan(1, minute + 3 * index, "olof", record)
    keep_own_dns = partial(_without_dns, story, ("Gateways",))
    story.plan(1, 17 * 60 + 40, "ines", keep_own_dns)


def nameserver_draft(story: Story, row: NameserverRow) -> NameserverGroupDraft:
    """Return a nameserver group as the service takes it."""
    return NameserverGroupDraft(
        name=row.name,
        nameservers=[NameserverDraft(ip, port=row.port) for ip in row.servers],
        groups=_group_ids(story, row.groups),
        primary=not row.domains,
        domains=list(row.domains),
        search_domains_enabled=row.search,
    )


def _group_ids(story: Story, names: tuple[str, ...]) -> list[str]:
    if names == (ALL,):
        return [Group.objects.get(name=ALL, issued=Issued.API).pk]
    return story.group_ids(names)


def _nameserver_group(story: Story, row: NameserverRow) -> None:
    story.nameservers[row.name] = nameserver_group_create(
        draft=nameserver_draft(story, row), enabled=row.enabled
    )


def _zone(story: Story, row: ZoneRow) -> None:
    groups = story.group_ids(row.groups)
    draft = ZoneDraft(name=row.name, domain=row.domain, distribution_groups=groups)
    story.zones[row.name] = zone_create(draft=draft, enable_search_domain=row.search)


def _record(story: Story, zone_name: str, facts: RecordFacts) -> None:
    zone = story.zones[zone_name]
    name, kind, content, ttl = facts
    full = f"{name}.{zone.domain}" if name else zone.domain
    record_create(zone_id=zone.pk, draft=RecordDraft(full, kind, content, ttl))


def _without_dns(story: Story, names: tuple[str, ...]) -> None:
    dns_settings_update(disabled_management_groups=story.group_ids(names))


def records_of(zone: str) -> Iterator[RecordFacts]:
    """Yield the records of one of the company's zones."""
    return {
        "Applications": _applications,
        "Databases": _databases,
        "Robot lab": _lab,
        "Office services": _office,
    }[zone]()


def _applications() -> Iterator[RecordFacts]:  # 20
    for number, name in enumerate(company.APPLICATIONS):
        yield name, "A", f"10.11.20.{10 + number}", 300
        yield name, "AAAA", f"fd11:20::{10 + number:x}", 300
    yield "", "A", "10.11.20.5", 300
    yield "www", "CNAME", "wiki.apps.halden.internal", 600
    yield "docker", "CNAME", "registry.apps.halden.internal", 600
    yield "grafana", "CNAME", "metrics.apps.halden.internal", 600
    yield "helpdesk", "CNAME", "tickets.apps.halden.internal", 3600
    yield "*.preview", "A", "10.11.21.1", 60
    yield "*.preview", "AAAA", "fd11:21::1", 60
    yield "crm", "CNAME", "halden.crm.northgate.internal", 3600


def _databases() -> Iterator[RecordFacts]:  # 14
    for number, name in enumerate(company.CLUSTERS):
        yield f"{name}-a", "A", f"10.11.30.{10 * number + 11}", 60
        yield f"{name}-b", "A", f"10.11.30.{10 * number + 12}", 60
        yield name, "CNAME", f"{name}-a.db.halden.internal", 15
    yield "backup", "A", "10.11.30.200", 900
    yield "backup", "AAAA", "fd11:30::c8", 900


def _lab() -> Iterator[RecordFacts]:  # 16
    for number, model in enumerate(company.ROBOT_MODELS):
        yield f"{model}-1", "A", f"10.31.0.{20 + 2 * number}", 120
        yield f"{model}-2", "A", f"10.31.0.{21 + 2 * number}", 120
    yield "mocap", "A", "10.31.8.20", 120
    yield "mocap", "AAAA", "fd31:8::20", 120
    yield "cal", "A", "10.31.8.30", 120
    yield "stand", "CNAME", "heron-1.lab.halden.internal", 120
    yield "*.sim", "A", "10.31.9.1", 30
    yield "*.sim", "AAAA", "fd31:9::1", 30


def _office() -> Iterator[RecordFacts]:  # 10
    for number, name in enumerate(company.OFFICE_SERVICES):
        yield f"{name}-gbg", "A", f"10.11.50.{10 + number}", 3600
        yield f"{name}-porto", "A", f"10.12.50.{10 + number}", 3600
    yield "print", "CNAME", "printer-gbg.office.halden.internal", 3600
    yield "intranet", "CNAME", "wiki.apps.halden.internal", 3600
