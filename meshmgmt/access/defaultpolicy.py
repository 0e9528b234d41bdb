"""The policy that a new account starts with, where the operator wants one."""

from typing import Any, Final

from django.conf import settings
from django.db.models import QuerySet

from events.models import AuditEvent
from groups.selectors import all_group_id
from meshmgmt.access.models import Policy, PolicyRule, RuleDestination, RuleSource
from meshmgmt.access.rules.policies import RuleDraft
from meshmgmt.access.services.policies import policies
from meshmgmt.accounts.models import User
from meshmgmt.core.queries import tables_exist
from meshmgmt.core.resources import Values

NAME: Final = "Default"
DESCRIPTION: Final = "Lets every peer reach every other; made with the account"


def after_migration(**kwargs: Any) -> None:
    """Make the policy (`SVC_DEFAULT_POLICY=all`) while nobody has used the account."""
    if settings.SVC.default_policy != "all" or not tables_exist(
        Policy, PolicyRule, RuleSource, RuleDestination, User, AuditEvent
    ):
        return
    everybody = all_group_id()
    if everybody and not User.objects.exists() and not Policy.objects.exists():
        policies.create(_values(everybody))


def default_policies() -> QuerySet[Policy]:
    """Return the policy made here, or nothing."""
    return Policy.objects.filter(name=NAME, description=DESCRIPTION)


def _values(everybody: str) -> Values:
    rule = RuleDraft(
        name=NAME,
        description=DESCRIPTION,
        action="accept",
        protocol="all",
        bidirectional=True,
        sources=[everybody],
        destinations=[everybody],
    )
    return {"name": NAME, "description": DESCRIPTION, "rules": [rule]}
