"""Facts about reach from rows; the pure decision is in `meshmgmt.access.reach`."""

from collections.abc import Mapping

from dns.loading.statements import Rows
from meshmgmt.access.reach import (
    Policy,
    ReachFacts,
    Resource,
    Route,
    Router,
    Rule,
    RuleSide,
)

ListsOf = Mapping[str, Mapping[str, list[str]]]


def reach_facts(rows: Rows, lists: ListsOf) -> ReachFacts:
    """Return the facts; `lists` gives the groups by kind of list and owner."""
    rules: dict[str, list[Rule]] = {}
    names: dict[str, str] = {}
    routes: list[Route] = []
    routers: list[Router] = []
    resources: list[Resource] = []
    for kind, id_, parent, name, _, type_, source, other_type, other in rows:
        if kind == "rule":
            names[parent] = name
            rules.setdefault(parent, []).append(
                Rule(
                    _side(lists["source"][id_], type_, source),
                    _side(lists["destination"][id_], other_type, other),
                )
            )
        elif kind == "route":
            routes.append(
                Route(
                    id=id_,
                    name=name,
                    groups=frozenset(lists["route"][id_]),
                    peer=source,
                    peer_groups=frozenset(lists["route_peer"][id_]),
                )
            )
        elif kind == "router":
            routers.append(
                Router(
                    id=id_,
                    network=parent,
                    peer=source,
                    peer_groups=frozenset(lists["router_peer"][id_]),
                )
            )
        else:
            groups = frozenset(lists["resource"][id_])
            resources.append(Resource(id=id_, network=parent, groups=groups))
    policies = tuple(
        Policy(policy_id, names[policy_id], tuple(found))
        for policy_id, found in rules.items()
    )
    return ReachFacts(policies, tuple(routes), tuple(routers), tuple(resources))


def _side(groups: list[str], type_: str, resource_id: str) -> RuleSide:
    """One side of a rule: a resource, when it names one, takes the groups' place."""
    if not resource_id:
        return RuleSide(groups=frozenset(groups))
    if type_ == "peer":
        return RuleSide(peer=resource_id)
    return RuleSide(resource=resource_id)
