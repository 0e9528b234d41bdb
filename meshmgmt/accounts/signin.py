"""What happens when somebody signs in to the admin site."""

from typing import Any

from events.activities import Activity
from events.audit.emission import audit_record
from meshmgmt.accounts.audit import user_facts
from meshmgmt.accounts.models import User
from meshmgmt.core import clock, context
from meshmgmt.core.context import Actor


def record_sign_in(user: User, **kwargs: Any) -> None:
    """Write `dashboard.login`, by and about the user who signed in."""
    with context.scope(actor=Actor(user.pk, user.name, user.email)):
        audit_record(
            Activity.DASHBOARD_LOGIN,
            target_id=user.pk,
            target_type="user",
            meta={"timestamp": clock.now(), **user_facts(user)},
        )
