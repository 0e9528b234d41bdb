"""What upper rooms contribute: gauges, bundle sections, status facts, readiness checks.

Rooms above may not be imported here; they register in `AppConfig.ready()`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

InventoryRows = Mapping[tuple[str, ...], float]
"""Label values (in the order of the labels) to a number; `()` without labels."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """A gauge computed when asked. Label values must come from a small fixed set."""

    name: str
    help: str
    labels: tuple[str, ...]
    measure: Callable[[], InventoryRows]


@dataclass(frozen=True, slots=True)
class BundleSection:
    """A file of the debug bundle; with `at_start` a debug run writes it twice."""

    filename: str
    write: Callable[[], str]
    at_start: bool = False


@dataclass(frozen=True, slots=True)
class StatusFact:
    """A line of `manage.py status`; `read` returns something JSON can hold."""

    name: str
    read: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class ReadinessCheck:
    """A reason not to be ready: `check` returns a sentence, or "" when all is well."""

    name: str
    check: Callable[[], str]


_inventory: Final[dict[str, Inventory]] = {}
_sections: Final[dict[str, BundleSection]] = {}
_facts: Final[dict[str, StatusFact]] = {}
_checks: Final[dict[str, ReadinessCheck]] = {}
_host_names: Final[dict[str, Callable[[], Iterable[str]]]] = {}


def _add(registry: dict[str, Any], name: str, entry: object) -> None:
    if name in registry:
        raise ValueError(f"{name} is registered already")
    registry[name] = entry


def register_inventory(
    name: str,
    help: str,  # noqa: A002 - Prometheus's word
    labels: Sequence[str],
    callable: Callable[[], InventoryRows],  # noqa: A002
) -> None:
    """Register a gauge; `name` as exposed, such as `mesh_peers`."""
    _add(_inventory, name, Inventory(name, help, tuple(labels), callable))


def register_bundle_section(
    filename: str,
    callable: Callable[[], str],  # noqa: A002
    *,
    at_start: bool = False,
) -> None:
    """Register a text file of the debug bundle."""
    _add(_sections, filename, BundleSection(filename, callable, at_start))


def register_status_fact(name: str, callable: Callable[[], Any]) -> None:  # noqa: A002
    """Register a fact of `manage.py status --detail`."""
    _add(_facts, name, StatusFact(name, callable))


def register_readiness_check(name: str, callable: Callable[[], str]) -> None:  # noqa: A002
    """Register a check of `/readyz`; it must answer within a second."""
    _add(_checks, name, ReadinessCheck(name, callable))


def inventory() -> tuple[Inventory, ...]:
    """Return the registered gauges."""
    return tuple(_inventory.values())


def bundle_sections() -> tuple[BundleSection, ...]:
    """Return the registered bundle files."""
    return tuple(_sections.values())


def status_facts() -> tuple[StatusFact, ...]:
    """Return the registered status facts."""
    return tuple(_facts.values())


def readiness_checks() -> tuple[ReadinessCheck, ...]:
    """Return the registered readiness checks."""
    return tuple(_checks.values())


def register_host_names(source: str, read: Callable[[], Iterable[str]]) -> None:
    """Register names that tell what a network's hosts are; anonymised output hides them."""
    _add(_host_names, source, read)


def host_names() -> set[str]:
    """Return all of them. Raises DatabaseError when they cannot be read."""
    return {name for read in _host_names.values() for name in read()}
