"""Django application of what refers to groups: policies, routes, keys, auto-groups."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class AccessConfig(AppConfig):
    name = "meshmgmt.access"
    label = "access"
    verbose_name = "Access"

    def ready(self) -> None:
        from meshmgmt.access import (  # noqa: PLC0415
            audit,
            contributions,
            defaultpolicy,
            homecards,
            references,
        )

        audit.register_specs()
        contributions.contribute()
        homecards.contribute()
        references.register_references()
        post_migrate.connect(
            defaultpolicy.after_migration,
            sender=self,
            dispatch_uid="access.default_policy",
        )
