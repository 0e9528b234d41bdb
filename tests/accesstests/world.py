"""A small company whose promises are kept: staff reach servers, guests never do."""

from typing import Any

from meshmgmt.accesstests.models import AccessTest
from meshmgmt.accesstests.services import access_tests
from tests.factories import group, peer, rule

Body = dict[str, Any]


class World:
    """Peers, groups and one policy, with enforced tests about them."""

    def __init__(self) -> None:
        self.laptop = peer("laptop")
        self.guest = peer("guest")
        self.server = peer("db-01")
        self.staff = group("Staff", self.laptop)
        self.guests = group("Guests", self.guest)
        self.servers = group("Servers", self.server)
        self.policy = rule([self.staff], [self.servers]).policy

    def promise(
        self, name: str, source: Any, destination: Any, expect: str, **more: Any
    ) -> AccessTest:
        """Make an enforced test between two objects; a text is an address or domain."""
        return promise(name, source, destination, expect, **{"enforce": True} | more)

    def reach(self, **more: Any) -> AccessTest:
        """Promise that the laptop reaches the database."""
        return self.promise("work", self.laptop, self.server, "reach", **more)

    def never(self, **more: Any) -> AccessTest:
        """Promise that guests never reach servers."""
        return self.promise("apart", self.guests, self.servers, "never", **more)


def promise(
    name: str, source: Any, destination: Any, expect: str, **more: Any
) -> AccessTest:
    """Make a test between two objects; a text is an address or domain."""
    ends = end("source", source) | end("destination", destination)
    return access_tests.create({"name": name, "expect": expect, **ends, **more})


def end(side: str, one: Any) -> dict[str, str]:
    """Return the columns that name an object at one end of a test."""
    if isinstance(one, str):
        digits = one.replace(".", "").isdigit() or ":" in one
        kind, ref = "address" if digits else "domain", one
    else:
        name = one._meta.model_name
        kind, ref = {"networkresource": "resource"}.get(name, name), one.pk
    return {f"{side}_kind": kind, f"{side}_ref": ref}


def state(test: AccessTest) -> str:
    """Return how a test is said to go."""
    return AccessTest.objects.get(pk=test.pk).state
