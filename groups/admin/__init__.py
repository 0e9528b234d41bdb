"""Admin pages of groups, and what groups add to those of peers."""

from groups.admin.groups import GroupAdmin, GroupForm
from groups.admin.peers import GroupedPeerAdmin

__all__ = ["GroupAdmin", "GroupForm", "GroupedPeerAdmin"]
