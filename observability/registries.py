"""What upper rooms contribute: gauges, bundle sections, readiness checks.

Rooms above may not be imported here; they register in their `room.py`, each name once.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from meshmgmt.core.registry import Registry

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
class ReadinessCheck:
    """`problem` gives a sentence, or "" when all is well, in a second.

    A server whose check fails gets no requests, unless the check is not `required`.
    """

    problem: Callable[[], str]
    required: bool = True


INVENTORY: Final = Registry[str, Inventory]()
BUNDLE_SECTIONS: Final = Registry[str, BundleSection]()
READINESS_CHECKS: Final = Registry[str, ReadinessCheck]()
_HOST_NAMES: Final = Registry[str, Callable[[], Iterable[str]]]()


def register_inventory(
    name: str,
    help: str,  # noqa: A002 - Prometheus's word
    labels: Sequence[str],
    callable: Callable[[], InventoryRows],  # noqa: A002
) -> None:
    """Register a gauge; `name` as exposed, such as `mesh_peers`."""
    INVENTORY.add(name, Inventory(name, help, tuple(labels), callable))


def register_bundle_section(
    filename: str,
    callable: Callable[[], str],  # noqa: A002
    *,
    at_start: bool = False,
) -> None:
    """Register a text file of the debug bundle."""
    BUNDLE_SECTIONS.add(filename, BundleSection(filename, callable, at_start))


def register_readiness_check(
    name: str,
    callable: Callable[[], str],  # noqa: A002
    *,
    required: bool = True,
) -> None:
    """Register a check of `/readyz`."""
    READINESS_CHECKS.add(name, ReadinessCheck(callable, required))


def register_host_names(source: str, read: Callable[[], Iterable[str]]) -> None:
    """Register names that tell what a network's hosts are; anonymised output hides them."""
    _HOST_NAMES.add(source, read)


def host_names() -> set[str]:
    """Return all of them. Raises DatabaseError when they cannot be read."""
    return {name for read in _HOST_NAMES.values() for name in read()}
