"""DNS settings as the API shows them."""

from dns.models import DisabledManagementGroup


def disabled_management_groups() -> list[str]:
    """Return the ids of the groups without DNS management, in the order sent."""
    links = DisabledManagementGroup.objects.order_by("position", "id")
    return list(links.values_list("group_id", flat=True))
