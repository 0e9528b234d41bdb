"""Django application of what refers to groups: policies, routes, keys, auto-groups."""

from django.apps import AppConfig


class AccessConfig(AppConfig):
    """Policies, posture checks, routes, routers, setup keys, auto-groups, invites."""

    name = "meshmgmt.access"
    label = "access"
    verbose_name = "Access"

    def ready(self) -> None:
        """Register audit specs, references to groups and facts for lower rooms."""
        from meshmgmt.access import audit, eventfacts, references, setup  # noqa: PLC0415
        from meshmgmt.access.services import removal  # noqa: PLC0415

        audit.register_specs()
        eventfacts.register()
        references.register_references()
        setup.register()
        removal.register()
