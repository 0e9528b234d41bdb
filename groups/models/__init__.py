"""Models of groups."""

from groups.models.groups import ALL, Group, Issued
from groups.models.members import GroupLink, GroupPeer, GroupResource

__all__ = ["ALL", "Group", "GroupLink", "GroupPeer", "GroupResource", "Issued"]
