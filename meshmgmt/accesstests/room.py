"""What access tests have for the other rooms; they stand by at every write."""

from events.audit import specs
from meshmgmt.accesstests import selectors, standing
from meshmgmt.accesstests.admin import failing_tests
from meshmgmt.accesstests.models import STATE, AccessTest
from meshmgmt.accesstests.services import register_references
from meshmgmt.adminsite import home
from meshmgmt.adminsite.home import Place
from meshmgmt.api.exceptions import register_constraint
from meshmgmt.core import modelmodules
from meshmgmt.core.jobs import register_job
from meshmgmt.explain.answers import further_findings
from observability.registries import register_inventory


def register() -> None:
    specs.register(
        specs.written(
            AccessTest,
            "access_test",
            # How a test goes is told by events of their own.
            unaudited=frozenset(STATE),
            meta=lambda test: {"name": test.name},
        )
    )
    standing.register()
    register_references()
    home.contribute(Place.ACCESS, "policies", failing_tests)
    further_findings.add("accesstests", selectors.findings)
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
