"""Django application of access tests."""

from django.apps import AppConfig


class AccessTestsConfig(AppConfig):
    """Promises about who reaches what, kept by every write."""

    name = "meshmgmt.accesstests"
    label = "accesstests"
    verbose_name = "Access tests"

    def ready(self) -> None:
        """Join every write, the audit trail, the jobs, metrics, and other rooms."""
        from meshmgmt.accesstests import (  # noqa: PLC0415
            audit,
            homecards,
            references,
            selectors,
            standing,
        )
        from meshmgmt.api.exceptions import register_constraint  # noqa: PLC0415
        from meshmgmt.core import modelmodules  # noqa: PLC0415
        from meshmgmt.core.jobs import register_job  # noqa: PLC0415
        from meshmgmt.explain.answers import contribute_findings  # noqa: PLC0415
        from observability.registries import register_inventory  # noqa: PLC0415

        audit.register_specs()
        standing.connect()
        references.connect()
        homecards.contribute()
        contribute_findings(selectors.findings)
        modelmodules.assign("policies", "accesstests")
        for name in ("access_test_name_unique", "accesstests_accesstest.name"):
            register_constraint(name, "an access test with this name exists already")
        register_job(
            "look_after_access_tests",
            standing.EVERY_SECONDS,
            standing.look_after_reports,
        )
        register_inventory(
            "mesh_access_tests",
            "Enabled access tests, by how they go and whether writes keep them.",
            ("state", "enforced"),
            selectors.counts,
        )
