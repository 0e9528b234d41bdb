"""Writes of nameserver groups."""

from collections.abc import Sequence
from typing import Any

from dns.content import parse_nameserver_ip
from dns.models import NameserverGroup, NameserverGroupGroup
from dns.rules.nameservers import (
    NAMESERVER_GROUP_COLUMNS,
    NameserverDraft,
    NameserverGroupDraft,
    nameserver_group_errors,
)
from groups.selectors import known_groups
from meshmgmt.core import drafts
from meshmgmt.core.errors import raise_field_errors
from meshmgmt.core.orderedlinks import member_keys, set_members
from meshmgmt.core.queries import found
from meshmgmt.core.transactions import account_write

NAMESERVER_GROUP_KIND = "nameserver group"


def nameserver_group_create(*, draft: NameserverGroupDraft) -> NameserverGroup:
    """Create a nameserver group. Raises InvalidArgument or Conflict."""
    with account_write():
        check_nameserver_group(draft=draft)
        group = NameserverGroup()
        _fill(group, draft)
        group.save(force_insert=True)
        set_members(NameserverGroupGroup, group, draft.groups, new=True)
        return group


def nameserver_group_update(
    *, group_id: str, draft: NameserverGroupDraft
) -> NameserverGroup:
    """Replace a nameserver group. Raises NotFound, InvalidArgument or Conflict."""
    with account_write():
        group = found(NameserverGroup, group_id, kind=NAMESERVER_GROUP_KIND)
        members = member_keys(NameserverGroupGroup, group)
        check_nameserver_group(draft=draft, group=group, members=members)
        _fill(group, draft)
        group.save()
        set_members(NameserverGroupGroup, group, draft.groups, before=members)
        return group


def nameserver_group_switch(*, group_id: str, enabled: bool) -> NameserverGroup:
    """Switch a nameserver group on or off. Raises NotFound, InvalidArgument."""
    with account_write():
        group = found(NameserverGroup, group_id, kind=NAMESERVER_GROUP_KIND)
        columns = drafts.values(group, NAMESERVER_GROUP_COLUMNS)
        columns["nameservers"] = [NameserverDraft(**x) for x in group.nameservers]
        columns["enabled"] = enabled
        groups = member_keys(NameserverGroupGroup, group)
        draft = NameserverGroupDraft(groups=groups, **columns)
        return nameserver_group_update(group_id=group_id, draft=draft)


def nameserver_group_delete(*, group_id: str) -> None:
    """Delete a nameserver group. Raises NotFound."""
    with account_write():
        group = found(NameserverGroup, group_id, kind=NAMESERVER_GROUP_KIND)
        set_members(NameserverGroupGroup, group, [])
        group.delete()


def check_nameserver_group(
    *,
    draft: NameserverGroupDraft,
    group: NameserverGroup | None = None,
    members: Sequence[str] = (),
) -> None:
    """Raise what the rules find.

    `group` is the one that is being changed, `members` the peer groups that it has now;
    what stays as it is needs no look into the database.
    """
    added = set(draft.groups) - set(members)
    raise_field_errors(
        nameserver_group_errors(
            draft,
            known_groups={*members, *known_groups(added)},
            name_taken=(group is None or group.name != draft.name)
            and NameserverGroup.objects.filter(name=draft.name).exists(),
        )
    )


def _fill(group: NameserverGroup, draft: NameserverGroupDraft) -> None:
    drafts.fill(group, draft, NAMESERVER_GROUP_COLUMNS)
    group.nameservers = _stored_servers(draft.nameservers)
    group.domains = list(draft.domains)


def _stored_servers(servers: Sequence[NameserverDraft]) -> list[dict[str, Any]]:
    """The checked servers with their addresses in canonical form."""
    return [
        {
            "ip": parse_nameserver_ip(server.ip),
            "ns_type": server.ns_type.lower(),
            "port": server.port,
        }
        for server in servers
    ]
