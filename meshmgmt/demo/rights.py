"""Policies, routes, networks and setup keys of the demo company, as plain tables."""

from typing import Final, NamedTuple


class PolicyRow(NamedTuple):
    """A policy with one rule that accepts."""

    name: str
    sources: tuple[str, ...]
    destinations: tuple[str, ...]
    protocol: str
    ports: tuple[str, ...]


POLICIES: Final = (
    PolicyRow(
        "Operations everywhere",
        ("Operations",),
        ("Application servers", "Databases", "Build servers", "Gateways"),
        "all",
        (),
    ),
    PolicyRow(
        "Engineers to builds",
        ("Engineering",),
        ("Build servers",),
        "tcp",
        ("22", "443"),
    ),
    PolicyRow(
        "Engineers to applications",
        ("Engineering",),
        ("Application servers",),
        "tcp",
        ("443", "8443"),
    ),
    PolicyRow(
        "Applications to databases",
        ("Application servers",),
        ("Databases",),
        "tcp",
        ("5432", "6379"),
    ),
    PolicyRow(
        "Gothenburg office", ("Office Gothenburg",), ("Office Gothenburg",), "all", ()
    ),
    PolicyRow("Porto office", ("Office Porto",), ("Office Porto",), "all", ()),
    PolicyRow(
        "Contractors to the wiki",
        ("Contractors",),
        ("Application servers",),
        "tcp",
        ("443",),
    ),
)


class RouteRow(NamedTuple):
    """A route by one peer, or by the gateways when `peer` is empty."""

    identifier: str
    network: str
    domains: tuple[str, ...]
    peer: str
    groups: tuple[str, ...]


ROUTES: Final = (
    RouteRow("gbg-lan", "10.11.0.0/16", (), "gw-gbg-01", ("Operations", "Engineering")),
    RouteRow("porto-lan", "10.12.0.0/16", (), "gw-porto-01", ("Operations",)),
    RouteRow("saas-allowlist", "", ("crm.northgate.internal",), "", ("Field service",)),
)


class ResourceRow(NamedTuple):
    name: str
    address: str
    groups: tuple[str, ...]


class NetworkRow(NamedTuple):
    """A network behind one routing peer."""

    name: str
    description: str
    router: str
    resources: tuple[ResourceRow, ...]


NETWORKS: Final = (
    NetworkRow(
        "Robot lab",
        "test stands behind the Gothenburg gateway",
        "gw-gbg-02",
        (
            ResourceRow("stand controllers", "10.31.0.0/24", ("Application servers",)),
            ResourceRow("motion capture", "10.31.8.20/32", ("Application servers",)),
            ResourceRow("calibration", "cal.lab.halden.internal", ("Build servers",)),
        ),
    ),
    NetworkRow(
        "Porto warehouse",
        "stock and shipping",
        "gw-porto-02",
        (
            ResourceRow("warehouse control", "10.32.0.0/24", ("Application servers",)),
            ResourceRow("label printer", "10.32.0.77/32", ("Office Porto",)),
        ),
    ),
)


class KeyRow(NamedTuple):
    """A setup key; limit 0 is none."""

    name: str
    type: str
    limit: int
    groups: tuple[str, ...]


SETUP_KEYS: Final = (
    KeyRow("build servers", "reusable", 0, ("Build servers",)),
    KeyRow("application servers", "reusable", 20, ("Application servers",)),
    KeyRow("database servers", "reusable", 5, ("Databases",)),
    KeyRow("gateways", "reusable", 4, ("Gateways",)),
    KeyRow("visitor tablet", "one-off", 1, ("Contractors",)),
)
