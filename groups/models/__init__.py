"""Models of groups."""

from groups.models.groups import ALL, Group, Issued
from groups.models.links import GroupLink
from groups.models.members import GroupPeer, GroupResource

__all__ = ["ALL", "Group", "GroupLink", "GroupPeer", "GroupResource", "Issued"]
