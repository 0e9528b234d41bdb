"""DNS settings as the API shows them."""

from typing import Final

from dns.models import DisabledManagementGroup
from meshmgmt.core.queries import Prepared


def disabled_management_groups() -> list[str]:
    """Return the ids of the groups without DNS management, in the order sent."""
    return [group_id for (group_id,) in _LISTED.rows()]


_LISTED: Final = Prepared(
    lambda: DisabledManagementGroup.objects.order_by("position", "id").values_list(
        "group_id"
    )
)
