"""A small company whose promises are kept: staff reach servers, guests never do."""

from typing import Any

from meshmgmt.accesstests.models import AccessTest
from meshmgmt.accesstests.rules import AccessTestDraft, End
from meshmgmt.accesstests.services import access_test_create
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
        return access_test_create(
            draft=AccessTestDraft(
                name, end(source), end(destination), expect, **{"enforce": True} | more
            )
        )

    def reach(self, **more: Any) -> AccessTest:
        """Promise that the laptop reaches the database."""
        return self.promise("work", self.laptop, self.server, "reach", **more)

    def never(self, **more: Any) -> AccessTest:
        """Promise that guests never reach servers."""
        return self.promise("apart", self.guests, self.servers, "never", **more)


def end(one: Any) -> End:
    """Return what names an object at one end of a test."""
    if isinstance(one, str):
        digits = one.replace(".", "").isdigit() or ":" in one
        return End("address" if digits else "domain", one)
    kinds = {"networkresource": "resource"}
    name = one._meta.model_name
    return End(kinds.get(name, name), one.pk)


def state(test: AccessTest) -> str:
    """Return how a test is said to go."""
    return AccessTest.objects.get(pk=test.pk).state
