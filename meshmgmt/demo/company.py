"""The company of the demo data: a maker of robots with two offices, as plain tables."""

from typing import Final, NamedTuple

DOMAIN: Final = "halden.internal"
MARK: Final = "HR"
"""Serial numbers of the machines begin with it."""

OFFICES: Final = {
    "gbg": ("Gothenburg", "SE", 2711537),
    "porto": ("Porto", "PT", 2735943),
}

# key, name, role
PEOPLE: Final = (
    ("mara", "Mara Lindqvist", "owner"),
    ("tomas", "Tomás Ferreira", "admin"),
    ("yuki", "Yuki Sandberg", "admin"),
    ("ines", "Inês Carvalho", "network_admin"),
    ("olof", "Olof Brandt", "network_admin"),
    ("petra", "Petra Nyström", "auditor"),
    ("rui", "Rui Almeida", "user"),
    ("saga", "Saga Holm", "user"),
    ("nuno", "Nuno Teixeira", "user"),
    ("elin", "Elin Forsberg", "user"),
    ("dario", "Dário Pinto", "user"),
)
# key, name, role of a program
ROBOTS: Final = (("ci", "build pipeline", "network_admin"),)

GROUPS: Final = (
    "Engineering",
    "Operations",
    "Field service",
    "Office Gothenburg",
    "Office Porto",
    "Build servers",
    "Databases",
    "Application servers",
    "Gateways",
    "Contractors",
)


class Machine(NamedTuple):
    """A machine of a person, or a server enrolled by a setup key."""

    name: str
    person: str
    system: str
    office: str
    groups: tuple[str, ...]
    key: str = ""


LAPTOPS: Final = (
    Machine("mara-laptop", "mara", "darwin 15.1", "gbg", ("Office Gothenburg",)),
    Machine("mara-phone", "mara", "ios 18.2", "gbg", ("Office Gothenburg",)),
    Machine(
        "tomas-laptop", "tomas", "linux 13", "porto", ("Operations", "Office Porto")
    ),
    Machine(
        "yuki-laptop", "yuki", "darwin 15.1", "gbg", ("Operations", "Office Gothenburg")
    ),
    Machine(
        "ines-laptop", "ines", "windows 11", "porto", ("Operations", "Office Porto")
    ),
    Machine("ines-phone", "ines", "android 15", "porto", ("Office Porto",)),
    Machine(
        "olof-laptop", "olof", "linux 13", "gbg", ("Operations", "Office Gothenburg")
    ),
    Machine("petra-laptop", "petra", "windows 11", "gbg", ("Office Gothenburg",)),
    Machine("rui-laptop", "rui", "linux 13", "porto", ("Engineering", "Office Porto")),
    Machine(
        "rui-workstation", "rui", "linux 13", "porto", ("Engineering", "Office Porto")
    ),
    Machine(
        "saga-laptop",
        "saga",
        "darwin 15.1",
        "gbg",
        ("Engineering", "Office Gothenburg"),
    ),
    Machine("nuno-laptop", "nuno", "windows 11", "porto", ("Field service",)),
    Machine("nuno-tablet", "nuno", "android 15", "porto", ("Field service",)),
    Machine("elin-laptop", "elin", "linux 13", "gbg", ("Engineering", "Field service")),
    Machine("dario-laptop", "dario", "windows 11", "porto", ("Contractors",)),
)


def _servers(
    stem: str, count: int, group: str, key: str, office: str = "gbg"
) -> list[Machine]:
    return [
        Machine(f"{stem}-{number:02d}", "", "linux 13", office, (group,), key)
        for number in range(1, count + 1)
    ]


SERVERS: Final = (
    *_servers("build", 6, "Build servers", "build servers"),
    *_servers("db", 3, "Databases", "database servers"),
    *_servers("app", 8, "Application servers", "application servers"),
    *_servers("edge", 4, "Application servers", "application servers", "porto"),
    *_servers("gw-gbg", 2, "Gateways", "gateways"),
    *_servers("gw-porto", 2, "Gateways", "gateways", "porto"),
)


class NameserverRow(NamedTuple):
    """A nameserver group; no domains: a primary one; group "All": everybody."""

    name: str
    servers: tuple[str, ...]
    domains: tuple[str, ...]
    search: bool
    enabled: bool
    groups: tuple[str, ...]
    port: int = 53


NAMESERVERS: Final = (
    NameserverRow(
        "Public resolvers", ("9.9.9.9", "149.112.112.112"), (), False, True, ("All",)
    ),
    NameserverRow(
        "Gothenburg office",
        ("10.11.0.53", "10.11.1.53"),
        ("gbg.halden.internal",),
        True,
        True,
        ("Office Gothenburg", "Operations"),
    ),
    NameserverRow(
        "Porto office",
        ("10.12.0.53",),
        ("porto.halden.internal",),
        True,
        True,
        ("Office Porto", "Operations"),
    ),
    NameserverRow(
        "Service discovery",
        ("127.0.0.1",),  # each server's own Consul agent; docs/dns.md asks it live
        ("consul",),
        False,
        True,
        ("Application servers", "Databases", "Build servers"),
        8600,
    ),
    NameserverRow(
        "Partner network",
        ("192.0.2.53", "2001:db8:53::1"),
        ("partners.northgate.internal", "edi.northgate.internal"),
        False,
        False,
        ("Field service",),
    ),
    NameserverRow(
        "Contractor resolvers", ("149.112.112.11",), (), False, True, ("Contractors",)
    ),
)


class ZoneRow(NamedTuple):
    """A zone, its records are in `naming.records_of`."""

    name: str
    domain: str
    search: bool
    groups: tuple[str, ...]


ZONES: Final = (
    ZoneRow(
        "Applications",
        "apps.halden.internal",
        True,
        ("Engineering", "Operations", "Application servers"),
    ),
    ZoneRow(
        "Databases",
        "db.halden.internal",
        False,
        ("Operations", "Application servers", "Databases"),
    ),
    ZoneRow("Robot lab", "lab.halden.internal", True, ("Engineering", "Field service")),
    ZoneRow(
        "Office services",
        "office.halden.internal",
        True,
        ("Office Gothenburg", "Office Porto", "Operations"),
    ),
)

APPLICATIONS: Final = ("wiki", "tickets", "chat", "registry", "metrics", "logs")
CLUSTERS: Final = ("orders", "fleet", "telemetry", "billing")
ROBOT_MODELS: Final = ("heron", "lynx", "otter", "wren", "marten")
OFFICE_SERVICES: Final = ("printer", "scanner", "door", "phone")
