"""Filters of the admin site's lists of this room."""

from collections.abc import Mapping

from django.db.models import F, Q

from meshmgmt.access.rules.setupkeys import EXPIRED, OVERUSED, REVOKED, VALID
from meshmgmt.adminsite.filters import EndFilter, StateFilter


class SetupKeyStateFilter(StateFilter):
    """The states of setup keys, and those that are good but not for long."""

    @classmethod
    def states(cls) -> Mapping[str, Q]:
        """Return the states as `state_of` tells them, the first that holds."""
        ends = EndFilter.states()
        used_up = Q(usage_limit__gt=0, used_times__gte=F("usage_limit"))
        usable = Q(revoked=False) & ~used_up
        return {
            VALID: ends["valid"] & usable,
            "about_to_end": ends["about_to_end"] & usable,
            EXPIRED: ends["expired"],
            REVOKED: ends["valid"] & Q(revoked=True),
            OVERUSED: ends["valid"] & Q(revoked=False) & used_up,
        }
