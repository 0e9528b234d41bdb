"""What holds of the maps of any account."""

from dataclasses import replace
from operator import attrgetter

from hypothesis import given
from hypothesis import strategies as st

from meshmgmt.mesh import Mesh, affected
from meshmgmt.mesh.hints import hints
from meshmgmt.mesh.result import NetworkMap
from meshmgmt.mesh.snapshot import Snapshot
from tests.explain.pure import machine, with_peer
from tests.mesh import naive
from tests.mesh.meshes import NOW, snapshots
from tests.mesh.test_reach import account, with_rule

ROUTE = attrgetter("id", "net_id", "network", "peer_id", "metric", "domains")
ROUTE_RULE = attrgetter(
    *("route_id", "destination", "sources", "protocol", "port", "ports", "accept"),
    *("policy_id", "domains"),
)


def flat(found: NetworkMap) -> naive.Map | None:
    """A map in the form of the naive one."""
    if not found.takes_part:
        return None
    return naive.Map(
        remotes=set(found.remotes.ids),
        grants={
            (grant.policy_id, grant.rule.id, grant.inbound, id_)
            for grant in found.grants
            for id_ in grant.remotes.ids
        },
        routes=set(map(ROUTE, found.routes)),
        route_rules=set(map(ROUTE_RULE, found.route_rules)),
        names=set(found.names.ids),
        zones=found.dns and [zone.id for zone in found.dns.zones],
        servers=found.dns and [group.id for group in found.dns.nameserver_groups],
        logins={login: set(users) for login, users in found.ssh_logins.items()},
        files=set(found.files),
    )


def maps(snapshot: Snapshot) -> dict[str, NetworkMap]:
    mesh = Mesh(snapshot, NOW)
    return {id_: mesh.network_map(id_) for id_ in snapshot.peers}


@given(snapshots())
def test_map_is_the_one_that_follows_from_each_pair(snapshot):
    account = naive.Account(snapshot)
    for id_, found in maps(snapshot).items():
        assert flat(found) == account.map(id_), id_


@given(snapshots())
def test_peers_that_meet_by_a_policy_see_each_other(snapshot):
    # Routers of one network need not see each other both ways; without any they must.
    found = maps(replace(snapshot, routers=()))
    for one, its in found.items():
        for other in its.remotes.ids:
            assert one in found[other].remotes.ids
        assert one not in its.remotes.ids


@given(snapshots())
def test_what_one_may_send_the_other_lets_in(snapshot):
    found = maps(snapshot)
    for one, its in found.items():
        for grant in its.grants:
            for other in grant.remotes.ids:
                mirrored = [
                    (g.policy_id, g.rule.id, g.inbound)
                    for g in found[other].grants
                    if one in g.remotes.ids
                ]
                back = (grant.policy_id, grant.rule.id, not grant.inbound)
                if other in its.remotes.ids and one in found[other].remotes.ids:
                    assert back in mirrored


@given(snapshots())
def test_peer_that_no_policy_names_gets_no_rule_and_no_peer(snapshot):
    mesh = Mesh(snapshot, NOW)
    for id_, found in maps(snapshot).items():
        named = any(
            side.peer == id_ or side.groups & mesh.membership.groups_of(id_)
            for policy in snapshot.policies
            for rule in policy.rules
            for side in (rule.sources, rule.destinations)
        )
        routes = any(
            id_ in mesh.membership.side(r.peer_groups, r.peer).ids
            for r in snapshot.routers
        )
        if not named:
            assert not found.grants
            if not routes:
                assert not found.remotes
                assert hints(mesh, id_)


@given(snapshots(), st.data())
def test_turning_a_rule_into_a_drop_widens_nothing(snapshot, data):
    if not snapshot.policies:
        return
    policy = data.draw(st.sampled_from(snapshot.policies))
    stricter = with_rule(snapshot, policy.id, accept=False)
    before, after = maps(snapshot), maps(stricter)
    for id_ in snapshot.peers:
        assert after[id_].remotes.ids <= before[id_].remotes.ids
        assert allowed(after[id_]) <= allowed(before[id_])
        assert {r.id for r in after[id_].routes} <= {r.id for r in before[id_].routes}


def allowed(found: NetworkMap) -> set[tuple[str, bool, str]]:
    return {
        (grant.rule.id, grant.inbound, id_)
        for grant in found.grants
        if grant.rule.accept
        for id_ in grant.remotes.ids
    }


@given(snapshots(), snapshots(), st.data())
def test_whoever_has_another_map_is_affected(one, other, data):
    # Parts of another account stand for a change of everything that has these parts.
    parts = [
        "peers", "members", "users", "policies", "checks", "routes", "routers",
        "resources", "zones", "nameserver_groups", "unmanaged_groups",
    ]  # fmt: skip
    chosen = data.draw(st.sets(st.sampled_from(parts), min_size=1, max_size=2))
    changed = replace(one, **{part: getattr(other, part) for part in chosen})
    told = affected(Mesh(one, NOW), Mesh(changed, NOW))
    if told is None:
        return
    before, after = maps(one), maps(changed)
    for id_ in changed.peers:
        if id_ not in told:
            assert id_ in before
            assert flat(before[id_]) == flat(after[id_]), id_
            assert shown(one, before[id_]) == shown(changed, after[id_])


def test_who_serves_a_disabled_route_is_affected_by_it():
    [route] = account().routes
    off = replace(route, id="off", peer="a", enabled=False)
    one, other = account(), account(routes=(route, off))
    ways = [{r.id for r in maps(each)["a"].routes} for each in (one, other)]
    assert ways[0] - ways[1] == {"t"}
    for before, after in ((one, other), (other, one)):
        assert "a" in (affected(Mesh(before, NOW), Mesh(after, NOW)) or ())


def test_who_serves_a_disabled_route_is_told_nothing_of_the_others_who_do():
    [route] = account().routes
    both = frozenset({"staff", "servers"})
    off = replace(route, enabled=False, peer=None, peer_groups=both)
    idle = {str(n): machine(str(n), f"idle-{n}", f"100.64.1.{n}") for n in range(4)}
    plain = account(routes=(off,), policies=(), resources=())
    one = replace(plain, peers={**plain.peers, **idle})
    other = with_peer(one, "a", name="anew")
    assert affected(Mesh(one, NOW), Mesh(other, NOW)) == frozenset("a")


def shown(snapshot: Snapshot, found: NetworkMap) -> list[object]:
    """The peers of a map as they are told to the receiver."""
    return [snapshot.peers[id_] for id_ in sorted(found.remotes.ids | found.names.ids)]
