"""Filters of the admin site's list of peers."""

from collections.abc import Mapping

from django.db.models import Q

from meshmgmt.adminsite.filters import StateFilter
from meshmgmt.inventory.states import login_ends_soon, peer_states


class PeerStateFilter(StateFilter):
    """Online, offline, or what keeps a peer from being either."""

    @classmethod
    def states(cls) -> Mapping[str, Q]:
        """Return the states of peers; a login that ends soon is a further one."""
        return {**peer_states(), "login_ends_soon": login_ends_soon()}
