"""Admin pages of policies, routes, networks and enrolment."""

from meshmgmt.access.admin import (  # noqa: F401 - pages register themselves
    enrolment,
    networks,
    policies,
    posture,
    rules,
)
