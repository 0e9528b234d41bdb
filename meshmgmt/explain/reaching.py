"""Whether a peer reaches something: the question, and the answer in JSON and words."""

from collections.abc import Iterator
from ipaddress import ip_address
from typing import Final, NamedTuple

from django.db.models import Q, TextField
from django.db.models.functions import Cast

from meshmgmt.accounts.selectors import account_domain
from meshmgmt.core.errors import BadRequest, InvalidArgument, NotFound
from meshmgmt.core.ids import is_id
from meshmgmt.core.names import InvalidNameError, canonical, quoted
from meshmgmt.core.printable import printable
from meshmgmt.inventory.models import NetworkResource, Peer
from meshmgmt.inventory.selectors import only_one
from meshmgmt.mesh.reach import (
    LAST_PORT,
    WITH_PORTS,
    Destination,
    Traffic,
    Verdict,
    verdict,
)
from meshmgmt.mesh.reasons import Subject
from meshmgmt.meshstate.loading import load_among, mesh_of

_WAYS: Final = {
    (True, "direct"): "allowed, directly",
    (True, "routed"): "allowed, through a routing peer",
    (False, None): "blocked, there is no way",
}


class Answer(NamedTuple):
    """A question with its verdict; addresses and domains are subjects without id."""

    source: Subject
    destination: Subject
    traffic: Traffic
    verdict: Verdict


class Question(NamedTuple):
    """What is asked, as clients say it."""

    source: str
    destination: str
    traffic: Traffic

    def answered(self, *, past: bool = False) -> Answer:
        """Answer; see `reach`. Raises NotFound, BadRequest, Conflict."""
        to = destination_of(self.destination)
        return reach(self.source, to, self.traffic, past=past)


def traffic_of(protocol: str, port: str | int | None) -> Traffic:
    """Return what is asked about. Raises BadRequest, InvalidArgument for such ports."""
    if port in (None, ""):
        return Traffic(protocol)
    # Digits alone, and few: Python takes underscores, and long for long numbers.
    text = str(port)
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:6]) <= LAST_PORT):
        raise BadRequest(f"port: {quoted(text)} is no number from 1 to {LAST_PORT}")
    if protocol not in WITH_PORTS:
        raise InvalidArgument(f"port: {protocol} has no ports, only tcp and udp do")
    return Traffic(protocol, int(text))


def destination_of(text: str, *, by_name: bool = False) -> Destination:
    """Read an id of a peer or resource, an address or a domain; `by_name` their names.

    Raises NotFound for what nothing is, BadRequest for what cannot be, Conflict for a
    name of several peers.
    """
    peers, resources = Peer.objects.none(), NetworkResource.objects.none()
    # Names go first: somebody may have called a peer as another's id.
    if by_name:
        peers = Peer.objects.filter(Q(name=text) | Q(dns_label=text))
        resources = NetworkResource.objects.filter(name=text)
    if is_id(text):
        peers = peers or Peer.objects.filter(pk=text)
        resources = resources or NetworkResource.objects.filter(pk=text)
    if peers:
        peer = only_one(peers, "peer", text)
        return Destination("peer", peer.pk, peer.ip)
    if resource := resources.first():
        return Destination("resource", resource.pk, resource.address)
    if is_id(text):
        # It could be a domain of one label, too, but nobody means that.
        raise NotFound.of("peer or resource", text)
    return _address(text) or _domain(text, by_name=by_name)


def reach(
    source: str, destination: Destination, traffic: Traffic, *, past: bool = False
) -> Answer:
    """Answer a question; of the `past` it is not known who was connected.

    To be called in one `read_snapshot()`. Raises NotFound for an unknown source.
    """
    is_peer = destination.kind == "peer"
    ends = [source, destination.id] if is_peer else [source]
    # Between two peers nobody else decides, so nobody else is read.
    mesh = mesh_of(lambda: load_among(ends, routers=not is_peer))
    snapshot = mesh.snapshot
    # Whom the mesh holds alone: others are not on the way.
    away = Peer.objects.filter(pk__in=snapshot.peers, connected=False)
    offline = frozenset(() if past else away.values_list("pk", flat=True))
    names = {each.id: each.name for each in snapshot.resources}
    names |= {each.id: each.name for each in snapshot.peers.values()}
    name = names.get(destination.id, destination.text)
    return Answer(
        source=Subject("peer", source, snapshot.peers[source].name),
        destination=Subject(destination.kind, destination.id, name),
        traffic=traffic,
        verdict=verdict(mesh, source, destination, traffic, offline),
    )


def render(answer: Answer) -> str:
    """The answer for terminals, ending with a line feed."""
    return "".join(f"{printable(line)}\n" for line in _lines(answer))


def headline(answer: Answer) -> str:
    """The question with its verdict, in one line."""
    found = answer.verdict
    end = _WAYS.get((found.allowed, found.path), "blocked on the way")
    ends = f"{answer.source.name} to {answer.destination.name}"
    return f"{ends}, {answer.traffic.words}: {end}"


def _lines(answer: Answer) -> Iterator[str]:
    found = answer.verdict
    yield headline(answer)
    for via in found.via:
        yield f"   via {via.peer.name} ({via.route.kind} {via.route.name}): {via.word}"
    for because in found.because:
        yield f"   because {because.text}"
    for obstacle in found.obstacles:
        yield f"   but {obstacle.text}"
        yield f"      -> {obstacle.remedy}"


def _address(text: str) -> Destination | None:
    try:
        address = str(ip_address(text))
    except ValueError:
        return None
    if "%" in text:
        raise BadRequest(f"{text[:64]!r} has a zone, which means something on one host")
    # Rules decide about the address of a peer, routes about all others.
    peer = Peer.objects.filter(Q(ip=address) | Q(ipv6=address)).first()
    return Destination("peer" if peer else "address", peer.pk if peer else "", address)


def _domain(text: str, *, by_name: bool) -> Destination:
    try:
        name = canonical(text)
    except InvalidNameError as error:
        raise BadRequest(
            f"destination: {quoted(text)} is no id, address or domain: {error}"
        ) from error
    domain = account_domain()
    label = name.removesuffix(f".{canonical(domain)}") if domain else name
    # A name in the peers' domain, or a bare one, is first that of a peer.
    if "." not in label and (peer := peer_labelled(label)):
        return Destination("peer", peer.pk, peer.ip)
    if by_name and "." not in name:
        raise NotFound.of("peer, resource, address or domain", text)
    return Destination("domain", "", name)


def peer_labelled(label: str) -> Peer | None:
    """Return the first peer with this DNS label, its extra ones included."""
    # The quotes make it a whole label; asking JSON differs between databases.
    peers = Peer.objects.annotate(extra=Cast("extra_dns_labels", TextField()))
    labelled = Q(dns_label=label) | Q(extra__contains=f'"{label}"')
    return peers.filter(labelled).order_by("id").first()
