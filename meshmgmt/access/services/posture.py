"""Writes of posture checks. Every function runs in one account write."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Final

import pycountry

from meshmgmt.access.models import PostureCheck
from meshmgmt.access.rules.posture import PostureDraft, canonical_checks, posture_errors
from meshmgmt.access.services.removal import take_posture_check_out
from meshmgmt.core.errors import raise_field_errors
from meshmgmt.core.queries import found
from meshmgmt.core.transactions import account_write

KIND: Final = "posture check"


@cache
def country_codes() -> frozenset[str]:
    return frozenset(country.alpha_2 for country in pycountry.countries)


def posture_check_create(*, draft: PostureDraft) -> PostureCheck:
    """Create a posture check. Raises InvalidArgument, Conflict for a name in use."""
    with account_write():
        check = PostureCheck()
        _write(check, draft, new=True)
        return check


def posture_check_update(*, check_id: str, changes: Mapping[str, Any]) -> PostureCheck:
    """Change what is given, keep the rest; checks are replaced as a whole.

    Raises NotFound, InvalidArgument, Conflict.
    """
    with account_write():
        check = found(PostureCheck, check_id, kind=KIND)
        stored = PostureDraft(
            name=check.name, checks=check.checks, description=check.description
        )
        _write(check, replace(stored, **changes), new=False)
        return check


def posture_check_delete(*, check_id: str) -> None:
    """Delete a posture check; policies with it are disabled. Raises NotFound."""
    with account_write():
        check = found(PostureCheck, check_id, kind=KIND)
        take_posture_check_out(check)
        check.delete()


def _write(check: PostureCheck, draft: PostureDraft, *, new: bool) -> None:
    namesakes = PostureCheck.objects.filter(name=draft.name).exclude(pk=check.pk)
    raise_field_errors(
        posture_errors(draft, countries=country_codes(), name_taken=namesakes.exists())
    )
    check.name = draft.name
    check.description = draft.description
    check.checks = canonical_checks(draft.checks)
    check.save(force_insert=new)
