"""The first stage: local zones, longest domain first."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from meshmgmt.core.names import WILDCARD, is_subdomain
from meshmgmt.core.printable import counted
from meshmgmt.explain.resolution.model import OutcomeKind, Step
from meshmgmt.mesh.peerdns import EffectiveZone, PeerDns
from meshmgmt.mesh.reasons import Subject
from meshmgmt.mesh.snapshot import Record

STAGE = "zones"

# Gives the peer that owns a name of the peers' zone although the asking peer
# cannot reach it, so that the explanation can say so.
HiddenPeer = Callable[[str], Subject | None]


@dataclass(frozen=True, slots=True)
class LocalResult:
    """What the zones say; `kind` None: no zone decides, the next stage is asked."""

    steps: tuple[Step, ...]
    kind: OutcomeKind | None = None
    records: tuple[Record, ...] = ()
    cname: Record | None = None


def look_up(
    config: PeerDns, name: str, record_type: str, hidden_peer: HiddenPeer | None
) -> LocalResult:
    """Goes through the zones that cover the name, longest first.

    An absent name falls to the next shorter zone; an existing name decides, be it
    without records of the type. The peers' own zone decides in any case.
    """
    covering = sorted(
        (zone for zone in config.zones if is_subdomain(name, zone.domain)),
        # Stable: of zones for one domain the one made first goes first.
        key=lambda zone: -len(zone.domain),
    )
    steps: list[Step] = []
    for position, zone in enumerate(covering):
        result = _in_zone(zone, name, record_type, hidden_peer)
        steps.extend(result.steps)
        # An alias decides as a record does: shorter zones are not looked at.
        if result.kind is not None or result.cname is not None:
            steps.extend(
                _shadowed(shorter, zone) for shorter in covering[position + 1 :]
            )
            return replace(result, steps=(*steps, *_excluded(config, name)))
    return LocalResult((*steps, *_excluded(config, name)))


def _in_zone(
    zone: EffectiveZone, name: str, record_type: str, hidden_peer: HiddenPeer | None
) -> LocalResult:
    found, code = _find(zone, name)
    if not found:
        return _absent(zone, name, hidden_peer)
    by_wildcard = code == "wildcard"
    how = f"by the wildcard {found[0].name} " if by_wildcard else ""
    # A wildcard answers under the name that was asked (RFC 1034, 4.3.3).
    records = tuple(record._replace(name=name) for record in found)
    wanted = tuple(record for record in records if record.type == record_type)
    alias = next((record for record in records if record.type == "CNAME"), None)
    where = f"zone {zone.domain}"
    if wanted:
        count = counted(len(wanted), f"{record_type} record")
        text = f"{where} has {name} {how}with {count}"
        step = _step(zone, code, text, decides=True, records=wanted)
        return LocalResult((step,), OutcomeKind.ANSWER, wanted)
    if alias is not None:
        text = f"{where} has {name} {how}as an alias of {alias.content}"
        step = _step(
            zone,
            "wildcard_cname" if by_wildcard else "cname",
            text,
            decides=True,
            records=(alias,),
        )
        return LocalResult((step,), cname=alias)
    types = ", ".join(sorted({record.type for record in records}))
    text = f"{where} has {name} {how}only as {types}: no {record_type} data"
    step = _step(zone, "nodata", text, decides=True)
    return LocalResult((step,), OutcomeKind.NODATA)


def _find(zone: EffectiveZone, name: str) -> tuple[list[Record], str]:
    """Records of the name itself, else of the wildcard one label above it.

    Narrower than RFC 4592, as peers behave: a wildcard covers one label.
    """
    exact = [record for record in zone.records if record.name == name]
    if exact:
        return exact, "match"
    # At the apex this gives a name outside the zone, where no record can be.
    owner = WILDCARD + name.partition(".")[2]
    return [record for record in zone.records if record.name == owner], "wildcard"


def _absent(
    zone: EffectiveZone, name: str, hidden_peer: HiddenPeer | None
) -> LocalResult:
    if not zone.authoritative:
        text = f"zone {zone.domain} has no {name}; the search goes on"
        return LocalResult((_step(zone, "absent", text),))
    text = (
        f"the peers' own zone {zone.domain} has no {name} for this peer, and no "
        "other place is asked about it"
    )
    steps = [_step(zone, "nxdomain", text, decides=True)]
    hidden = hidden_peer(name) if hidden_peer is not None else None
    if hidden is not None:
        text = f"the name belongs to peer {hidden.name}, which this peer cannot reach"
        steps.append(Step(STAGE, "peer_not_reachable", text, subject=hidden))
    return LocalResult(tuple(steps), OutcomeKind.NXDOMAIN)


def _shadowed(zone: EffectiveZone, by: EffectiveZone) -> Step:
    text = f"zone {zone.domain} is not looked at: zone {by.domain} is longer"
    return _step(zone, "shadowed", text)


def _excluded(config: PeerDns, name: str) -> list[Step]:
    return [
        Step(
            STAGE,
            "excluded",
            f"zone {excluded.domains[0]} would cover the name, but the peer does not "
            f"get it: {'; '.join(reason.text for reason in excluded.reasons)}",
            subject=excluded.subject,
        )
        for excluded in config.excluded
        if excluded.subject.kind == "zone" and is_subdomain(name, excluded.domains[0])
    ]


def _step(
    zone: EffectiveZone,
    code: str,
    text: str,
    *,
    decides: bool = False,
    records: tuple[Record, ...] = (),
) -> Step:
    subject = Subject(zone.kind, zone.id, zone.name)
    return Step(STAGE, code, text, subject, decides, records)
