"""The policy that a new account starts with, where the operator wants one."""

from typing import Any, Final

from django.conf import settings
from django.db.models import QuerySet

from events.models import AuditEvent
from groups.selectors import all_group_id
from meshmgmt.access.models import Policy, PolicyRule, RuleDestination, RuleSource
from meshmgmt.access.rules.policies import PolicyDraft, RuleDraft
from meshmgmt.access.services.policies import policy_create
from meshmgmt.accounts.models import User
from meshmgmt.core.queries import tables_exist

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
        policy_create(draft=_draft(everybody))


def default_policies() -> QuerySet[Policy]:
    """Return the policy made here, or nothing."""
    return Policy.objects.filter(name=NAME, description=DESCRIPTION)


def _draft(everybody: str) -> PolicyDraft:
    rule = RuleDraft(
        name=NAME,
        description=DESCRIPTION,
        action="accept",
        protocol="all",
        bidirectional=True,
        sources=[everybody],
        destinations=[everybody],
    )
    return PolicyDraft(name=NAME, description=DESCRIPTION, rules=[rule])
