"""What changes of DNS objects are reported as (reference API, activity codes)."""

from collections.abc import Mapping, Sequence
from typing import Any

from dns.models import SINGLE_ROW, DnsSettings, NameserverGroup, Record, Zone
from events.activities import Activity
from events.audit import specs
from events.audit.changes import MemberKey, objects_by_id
from events.audit.specs import AuditSpec, MemberEvent, MemberRule, Meta, written
from groups.models import Group
from meshmgmt.core.context import account_id
from meshmgmt.core.resources import column_values


def register() -> None:
    specs.register(
        written(
            NameserverGroup,
            "nameserver.group",
            "groups",
            meta=lambda group: {"name": group.name},
        ),
        AuditSpec(
            DnsSettings,
            members={
                "disabled_management_groups": MemberRule(
                    added=Activity.DNS_SETTING_DISABLED_MANAGEMENT_GROUP_ADD,
                    removed=Activity.DNS_SETTING_DISABLED_MANAGEMENT_GROUP_DELETE,
                    reordered=Activity.DNS_SETTING_UPDATE,
                    describe=_describe_groups,
                    identify=_settings_and_group,
                )
            },
            target=lambda change, activity: account_id(),
        ),
        written(
            Zone,
            "dns.zone",
            "distribution_groups",
            unaudited=frozenset({"canonical_domain"}),
            meta=lambda zone: {"name": zone.name, "domain": zone.domain},
        ),
        written(
            Record,
            "dns.zone.record",
            unaudited=frozenset({"canonical_name", "canonical_content"}),
            meta=_record_meta,
        ),
    )


def _record_meta(record: Record) -> Meta:
    return {
        **column_values(record),
        "zone_id": record.zone_id,
        "zone_name": record.zone.name,
    }


def _settings_and_group(event: Any) -> tuple[str, MemberKey]:
    return str(SINGLE_ROW), event.meta.get("group_id", "")


def _describe_groups(
    owner: Any, keys: Sequence[Any]
) -> Mapping[MemberKey, MemberEvent]:
    """Events of the settings name the account as their target."""
    groups = objects_by_id(Group, keys)
    return {
        key: MemberEvent(
            account_id(), "dnssettings", {"group": group.name, "group_id": key}
        )
        for key, group in groups.items()
    }
