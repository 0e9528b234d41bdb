"""Reads of the account what tests are about."""

from collections.abc import Sequence
from itertools import permutations

from django.db.models import Q

from meshmgmt.accesstests.models import AccessTest, End
from meshmgmt.accesstests.rules import DNS, ROUTED, VALUES
from meshmgmt.accesstests.touching import Touch
from meshmgmt.core.ids import is_id
from meshmgmt.core.names import canonical
from meshmgmt.explain.reaching import destination_of
from meshmgmt.inventory.models import Peer
from meshmgmt.mesh import Mesh
from meshmgmt.mesh.extent import Extent
from meshmgmt.mesh.reach import Destination
from meshmgmt.meshstate import load, load_among, load_met, mesh_of


def read_mesh(tests: Sequence[AccessTest]) -> Mesh:
    """Return the mesh, with all that decides how the tests go."""
    # What a name resolves to may hang on any zone, group and peer.
    if any(test.kind == DNS for test in tests):
        return mesh_of(load)
    ends = [end for test in tests for end in test.ends]
    groups, peers = _groups(ends), _peers(ends)
    routed = any(test.destination_kind in ROUTED for test in tests)
    return mesh_of(lambda: load_among(peers, groups=groups, routers=routed))


def read_near(tests: Sequence[AccessTest], touch: Touch) -> Mesh:
    """Return the mesh, with what decides between those who came and went and others.

    That is whom they may meet by the groups they joined or left, and, of tests that name
    such a group, the other end.
    """
    ends = [
        other
        for test in tests
        for one, other in permutations(test.ends)
        if one[1] in touch.groups
    ]
    others = Extent(frozenset(_groups(ends)), frozenset(_peers(ends)))
    return mesh_of(lambda: load_met(touch.moved, by=touch.groups, others=others))


def aim_of(kind: str, ref: str) -> Destination:
    """Return what a resource, address or domain stands for: perhaps a peer."""
    if kind == "domain" and is_id(ref):
        return Destination("domain", "", canonical(ref))  # it only looks like an id
    return destination_of(ref)


def _groups(ends: Sequence[End]) -> set[str]:
    return {ref for kind, ref in ends if kind == "group" and ref}


def _peers(ends: Sequence[End]) -> list[str]:
    """The peers that are named, by id, owner, address or name."""
    named = [ref for kind, ref in ends if kind == "peer"]
    owners = [ref for kind, ref in ends if kind == "user"]
    values = {(kind, ref) for kind, ref in ends if kind in VALUES and ref}
    aims = [aim_of(kind, ref) for kind, ref in values]
    aimed = [found.id for found in aims if found.kind == "peer"]
    if not (named or owners or aimed):
        return []
    known = Q(pk__in=[*named, *aimed]) | Q(user__in=owners)
    return list(Peer.objects.filter(known).values_list("pk", flat=True))
