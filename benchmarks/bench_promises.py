"""What keeping 100 enforced access tests adds to writes of members and policies."""

import json
from collections.abc import Iterator
from itertools import cycle
from typing import Any, Final

from benchmarks.load import Connection, request
from benchmarks.report import Report, alternating_medians
from benchmarks.workspace import Workspace
from groups.models import Group, GroupPeer
from groups.services import group_create
from meshmgmt.accesstests.models import PASSING, AccessTest, Looked
from meshmgmt.accesstests.services import access_tests
from meshmgmt.control.changes import changes_since
from meshmgmt.inventory.models import Peer

LIMIT: Final = 1.3
GUARD: Final = 3.1
ALONE: Final = 0.05
"""Seconds."""
TIMES: Final = 15
Write = tuple[str, Iterator[str]]
"""A path, and bodies to put there in turn."""
TRAFFIC: Final[tuple[dict[str, Any], ...]] = (
    {"protocol": "all"},
    {"protocol": "tcp", "port": 443},
)


def run(workspace: Workspace, report: Report) -> None:
    """Compare the same write with the tests switched on and off."""
    sites = Group.objects.filter(name__startswith="site-").order_by("name")
    teams = Group.objects.filter(name__startswith="team-").order_by("name")
    for pair in zip(sites, teams, strict=True):
        _promise(*pair)
    passing = AccessTest.objects.filter(state=PASSING).count()
    assert passing == AccessTest.objects.count() == 100, passing
    strangers = Peer.objects.exclude(group_links__group=teams[7]).order_by("pk")
    peer, stranger = strangers[:2]
    named = _costs(workspace, _membership(teams[7], peer.pk))
    name = "a peer joins or leaves a group that tests name"
    report.at_most(name, *named, LIMIT, guard=GUARD)
    other = group_create(name="of no test", peers=[peer.pk])
    for what, write in (
        ("members of a group", _membership(other, stranger.pk)),
        ("a policy", _policy(workspace, other)),
    ):
        ours, bare = _costs(workspace, write)
        name = f"what tests add to a write of {what} that none is about"
        report.at_most(name, ours - bare, ALONE, 1)


def _promise(site: Group, team: Group) -> None:
    for number, traffic in enumerate(TRAFFIC):
        values = {
            "name": f"{site.name} reaches {team.name} {number}",
            "source_kind": "group",
            "source_ref": site.pk,
            "destination_kind": "group",
            "destination_ref": team.pk,
            "expect": "reach",
            "enforce": True,
        }
        access_tests.create({**values, **traffic})


def _membership(group: Group, peer_id: str) -> Write:
    """Let a peer come to a group, then go."""
    links = GroupPeer.objects.filter(group=group).order_by("position")
    stay = list(links.values_list("peer", flat=True))
    shapes = ({"name": group.name, "peers": p} for p in ([*stay, peer_id], stay))
    return f"/api/groups/{group.pk}", cycle(json.dumps(shape) for shape in shapes)


def _policy(workspace: Workspace, group: Group) -> Write:
    """Switch a policy between members of one group off, then on."""
    rule = {"name": "r", "enabled": True, "action": "accept", "protocol": "all"}
    ends = {"sources": [group.pk], "destinations": [group.pk], "bidirectional": True}
    shapes = [
        {"name": "of no test", "enabled": enabled, "rules": [{**rule, **ends}]}
        for enabled in (False, True)
    ]
    http = Connection(workspace.server().port)
    body = json.dumps(shapes[1]).encode()
    message = request("POST", "/api/policies", workspace.token(), body)
    made = json.loads(http.exchange(message)[1])
    http.close()
    return f"/api/policies/{made['id']}", cycle(map(json.dumps, shapes))


def _costs(workspace: Workspace, write: Write) -> tuple[float, float]:
    """Return the seconds of a write over HTTP, with and without the tests."""
    http = Connection(workspace.server().port)
    path, bodies = write

    def put() -> None:
        body = next(bodies).encode()
        message = request("PUT", path, workspace.token(), body)
        status, answer = http.exchange(message)
        assert status == 200, answer[:300]

    def kept() -> None:
        newest, _ = changes_since(0)
        Looked.objects.get_or_create(defaults={"serial": newest})
        put()

    def unkept() -> None:
        Looked.objects.all().delete()
        changes_since(0)
        put()

    found = alternating_medians(kept, unkept, times=TIMES)
    http.close()
    return found
