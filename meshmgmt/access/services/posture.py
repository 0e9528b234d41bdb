"""Writes of posture checks."""

from functools import cache
from typing import Final

import pycountry

from meshmgmt.access.models import PostureCheck
from meshmgmt.access.rules.posture import canonical_checks, posture_errors
from meshmgmt.access.services.removal import take_posture_check_out
from meshmgmt.core.errors import FieldError
from meshmgmt.core.resources import Resource, Write
from meshmgmt.core.transactions import account_write


@cache
def country_codes() -> frozenset[str]:
    return frozenset(country.alpha_2 for country in pycountry.countries)


class PostureChecks(Resource[PostureCheck]):
    """Posture checks; their conditions are replaced as a whole."""

    model = PostureCheck
    kind = "posture check"

    def errors(self, write: Write[PostureCheck]) -> list[FieldError]:
        return posture_errors(
            write.values,
            countries=country_codes(),
            name_taken=write.is_taken("name"),
        )

    def complete(self, instance: PostureCheck) -> None:
        instance.checks = canonical_checks(instance.checks)

    def delete(self, identifier: str, within: str = "") -> None:
        """Delete a posture check; policies with it are disabled. Raises NotFound."""
        with account_write():
            # First: lists that have the check protect its row.
            take_posture_check_out(self.get(identifier))
            super().delete(identifier)


posture_checks: Final = PostureChecks()
