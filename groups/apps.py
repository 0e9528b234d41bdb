"""Django application of groups."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class GroupsConfig(AppConfig):
    name = "groups"
    verbose_name = "Groups"

    def ready(self) -> None:
        from groups import audit, contributions, gauges, ipv6, setup  # noqa: PLC0415

        audit.register_specs()
        contributions.contribute()
        gauges.register()
        ipv6.connect()
        post_migrate.connect(
            setup.make_all_group, sender=self, dispatch_uid="groups.make_all_group"
        )
