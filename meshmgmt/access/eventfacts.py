"""What events show of policies."""

from collections.abc import Collection

from events.enrichment import directory
from meshmgmt.access.models import Policy


def register() -> None:
    """Let the events' directory ask here."""
    directory.policies = policies


def policies(ids: Collection[str]) -> dict[str, str]:
    """Return the names of the policies with the ids."""
    return dict(Policy.objects.filter(pk__in=ids).values_list("pk", "name"))
