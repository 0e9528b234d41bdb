"""What access tests have for the other rooms; they stand by at every write."""

from meshmgmt.accesstests import audit, homecards, references, selectors, standing
from meshmgmt.api.exceptions import register_constraint
from meshmgmt.core import modelmodules
from meshmgmt.core.jobs import register_job
from meshmgmt.explain.answers import contribute_findings
from observability.registries import register_inventory


def register() -> None:
    audit.register()
    standing.register()
    references.register()
    homecards.register()
    contribute_findings(selectors.findings)
    modelmodules.assign("policies", "accesstests")
    register_constraint(
        "an access test with this name exists already",
        "access_test_name_unique",
        "accesstests_accesstest.name",
    )
    register_job(
        "look_after_access_tests", standing.EVERY_SECONDS, standing.look_after_reports
    )
    register_inventory(
        "mesh_access_tests",
        "Enabled access tests, by how they go and whether writes keep them.",
        ("state", "enforced"),
        selectors.counts,
    )
