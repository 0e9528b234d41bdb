"""Schemas of the answers of `api.reports`; the pure modules make the answers."""

from dns.api.serializers import NameserverSerializer, PlainRecordSerializer
from meshmgmt.api.fields import (
    ArrayField,
    MapField,
    ObjectSerializer,
    TextField,
    TruthField,
    WholeNumberField,
    texts,
)
from meshmgmt.explain.lint.finding import Severity
from meshmgmt.explain.resolution.model import OutcomeKind


class ObjectNameSerializer(ObjectSerializer):
    """An object something is about."""

    kind = TextField(
        help_text="`zone`, `nameserver_group`, `peers`, `peer`, `group`, `policy`"
    )
    id = TextField()
    name = TextField()


class ReasonSerializer(ObjectSerializer):
    """Why something is in or out."""

    code = TextField()
    subjects = texts(help_text="Names of the objects that decide")
    text = TextField(help_text="The reason as a clause")


class EffectiveZoneSerializer(ObjectSerializer):
    """A zone that the peer gets."""

    kind = TextField(help_text="`peers` (names of the peers) or `zone`")
    id = TextField(help_text="Empty for the peers' own zone")
    name = TextField()
    domain = TextField()
    search_domain = TruthField()
    authoritative = TruthField(help_text="Absent names end the search")
    records = ArrayField(child=PlainRecordSerializer())
    reason = ReasonSerializer()


class EffectiveGroupSerializer(ObjectSerializer):
    """A nameserver group that the peer gets."""

    id = TextField()
    name = TextField()
    primary = TruthField()
    domains = texts()
    search_domains_enabled = TruthField()
    nameservers = ArrayField(child=NameserverSerializer())
    reason = ReasonSerializer()


class SearchDomainSerializer(ObjectSerializer):
    """A domain in which short names are tried."""

    domain = TextField()

    def get_fields(self) -> dict[str, object]:  # type: ignore[override]
        """Add `from`, which is no name in Python."""
        return {**super().get_fields(), "from": ObjectNameSerializer()}


class VisiblePeerSerializer(ObjectSerializer):
    """A peer whose names the peer can resolve."""

    id = TextField()
    name = TextField()
    reason = ReasonSerializer()


class ExcludedSerializer(ObjectSerializer):
    """A zone or nameserver group that the peer does not get."""

    kind = TextField()
    id = TextField()
    name = TextField()
    domains = texts()
    primary = TruthField()
    reasons = ArrayField(child=ReasonSerializer())


class PeerDnsSerializer(ObjectSerializer):
    """All that one peer gets."""

    peer_id = TextField()
    peer_name = TextField()
    managed = TruthField()
    reason = ReasonSerializer()
    zones = ArrayField(child=EffectiveZoneSerializer())
    nameserver_groups = ArrayField(child=EffectiveGroupSerializer())
    search_domains = ArrayField(child=SearchDomainSerializer())
    visible_peers = ArrayField(child=VisiblePeerSerializer())
    excluded = ArrayField(child=ExcludedSerializer())
    object_count = WholeNumberField(help_text="Objects of the peer's network map")


class StepSerializer(ObjectSerializer):
    """One thing considered."""

    stage = TextField(
        help_text="`zones`, `domain_nameservers`, `primary_nameservers` or `system`"
    )
    code = TextField()
    text = TextField()
    object = ObjectNameSerializer(allow_null=True)
    decides = TruthField()
    records = ArrayField(child=PlainRecordSerializer())


class LegSerializer(ObjectSerializer):
    """The resolution of one name; later ones follow an alias."""

    name = TextField()
    steps = ArrayField(child=StepSerializer())


class ServerSerializer(NameserverSerializer):
    """A server that is asked."""

    group = ObjectNameSerializer()


class OutcomeSerializer(ObjectSerializer):
    """How a query ends."""

    kind = TextField(help_text=", ".join(f"`{kind}`" for kind in OutcomeKind))
    name = TextField(help_text="The name at the end of the aliases")
    records = ArrayField(child=PlainRecordSerializer())
    servers = ArrayField(child=ServerSerializer(), help_text="In the order asked")


class QuerySerializer(ObjectSerializer):
    """One full name that is tried."""

    name = TextField()
    source = ObjectNameSerializer(  # type: ignore[assignment]  # a field, not the option
        allow_null=True, help_text="Of the search domain"
    )
    legs = ArrayField(child=LegSerializer())
    outcome = OutcomeSerializer()


class PhraseSerializer(ObjectSerializer):
    """A clause, and the objects that it names."""

    text = TextField()
    objects = ArrayField(child=ObjectNameSerializer())


class VerdictSerializer(ObjectSerializer):
    """Why the look-up ends as it does, and what would change that."""

    reason = PhraseSerializer()
    remedies = ArrayField(child=PhraseSerializer(), help_text="At most five")


class ExplanationSerializer(ObjectSerializer):
    """How a peer resolves a name."""

    peer_id = TextField()
    name = TextField()
    type = TextField()
    managed = TruthField()
    queries = ArrayField(child=QuerySerializer())
    outcome = OutcomeSerializer()
    depends_on_servers = TruthField(
        help_text="The outcome depends on the answer of servers not asked here"
    )
    verdict = VerdictSerializer()


class FindingSerializer(ObjectSerializer):
    """Something valid but unlikely to be meant."""

    code = TextField()
    severity = TextField(help_text=", ".join(f"`{severity}`" for severity in Severity))
    message = TextField()
    remedy = TextField()
    object = ObjectNameSerializer()


class BecauseSerializer(ObjectSerializer):
    """A rule that decides."""

    policy = ObjectNameSerializer(allow_null=True)
    rule = TextField(help_text="Id of the rule, empty without a policy")
    effect = TextField(help_text="`accept` or `drop`")
    text = TextField()


class ViaSerializer(ObjectSerializer):
    """A routing peer on the way."""

    peer = ObjectNameSerializer()
    route = ObjectNameSerializer(help_text="Of kind `route` or `resource`")
    verdict = TextField(help_text="`allowed` or `blocked`")
    because = ArrayField(child=BecauseSerializer())


class ObstacleSerializer(ObjectSerializer):
    """What would have let it through, and what is in the way of that."""

    kind = TextField()
    object = ObjectNameSerializer(allow_null=True)
    text = TextField()
    remedy = TextField()


class ReachSerializer(ObjectSerializer):
    """Whether a peer may begin something with a destination, and why not."""

    source = ObjectNameSerializer()  # type: ignore[assignment]  # a field, not the option
    destination = ObjectNameSerializer(
        help_text="Of kind `peer`, `resource`, `address` or `domain`"
    )
    protocol = TextField(help_text="`all`, `tcp`, `udp` or `icmp`")
    port = WholeNumberField(allow_null=True)
    verdict = TextField(help_text="`allowed` or `blocked`")
    path = TextField(allow_null=True, help_text="`direct`, `routed`, or null: no way")
    via = ArrayField(child=ViaSerializer(), help_text="All must let it through")
    because = ArrayField(child=BecauseSerializer())
    obstacles = ArrayField(child=ObstacleSerializer(), help_text="The nearest ones")


class GraphNodeSerializer(ObjectSerializer):
    """What rules name; it counts the peers that take part, resources, and routes."""

    kind = TextField(help_text="`group`, `peer` or `resource`")
    id = TextField()
    name = TextField()
    peers = WholeNumberField()
    resources = WholeNumberField()
    routes = WholeNumberField(help_text="Routes whose access the group stands for")


class GraphEdgeSerializer(ObjectSerializer):
    """What a rule lets its sources begin with its destinations, or drops."""

    rule = TextField(help_text="Id of the rule")
    policy = ObjectNameSerializer()
    effect = TextField(help_text="`accept` or `drop`")
    traffic = TextField(help_text="In words: `TCP 80 and 443`")
    bidirectional = TruthField(help_text="Destinations may begin, too")
    state = TextField(
        help_text="`in_force`, `disabled`, or `nobody`: one side is empty"
    )
    checks = texts(help_text="Names of posture checks that sources must pass")
    sources = texts(help_text="Ids of nodes")
    destinations = texts(help_text="Ids of nodes")


class GraphSerializer(ObjectSerializer):
    """Who may begin what with whom, by which rule; at most 500 nodes and edges."""

    focus = ObjectNameSerializer(allow_null=True)
    nodes = ArrayField(child=GraphNodeSerializer())
    edges = ArrayField(child=GraphEdgeSerializer())
    left_out = MapField(
        child=WholeNumberField(), help_text="Kind to how many went beyond the limit"
    )
