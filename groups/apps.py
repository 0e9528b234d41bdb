"""Django application of groups."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class GroupsConfig(AppConfig):
    """Groups of peers and resources, and the registry of what refers to them."""

    name = "groups"
    verbose_name = "Groups"

    def ready(self) -> None:
        """Register audit specs, constraints and facts that lower rooms show."""
        from groups import audit, gauges, membership, references, setup  # noqa: PLC0415
        from groups.models import GroupPeer, GroupResource  # noqa: PLC0415
        from meshmgmt.core import modelmodules  # noqa: PLC0415

        audit.register_specs()
        gauges.register()
        membership.register()
        references.register_members(GroupPeer)
        references.register_members(GroupResource)
        modelmodules.assign("groups", "groups")
        setup.register_constraints()
        post_migrate.connect(
            setup.make_all_group, sender=self, dispatch_uid="groups.make_all_group"
        )
