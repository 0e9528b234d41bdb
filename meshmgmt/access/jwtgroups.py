"""Groups that claims of an identity provider name (seed, Group origins: jwt)."""

from collections.abc import Sequence

from events.audit.links import member_keys
from groups.models import Group, Issued
from groups.services import group_create
from meshmgmt.access.autogroups import set_auto_groups
from meshmgmt.access.models import UserAutoGroup
from meshmgmt.accounts.models import User
from meshmgmt.core.transactions import account_write


def set_jwt_groups(user: User, names: Sequence[str]) -> None:
    """Make the groups with these names, and no others of claims, auto-groups of a user.

    Missing groups are made; auto-groups given by people stay.
    """
    with account_write():
        wanted = [_group(name).pk for name in names]
        before = member_keys(UserAutoGroup, user)
        of_claims = set(
            Group.objects.filter(pk__in=before, issued=Issued.JWT).values_list(
                "pk", flat=True
            )
        )
        kept = [pk for pk in before if pk not in of_claims or pk in wanted]
        set_auto_groups(user, [*kept, *(pk for pk in wanted if pk not in kept)])


def _group(name: str) -> Group:
    found = Group.objects.filter(name=name, issued=Issued.JWT).order_by("pk").first()
    return found or group_create(name=name, issued=Issued.JWT)
