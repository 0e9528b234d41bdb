"""The answers of `api.reports`: what is shown of what the pure modules found."""

from typing import Any

from dns.api.serializers import NameserverSerializer, PlainRecordSerializer
from meshmgmt.api.answering import AnswerSerializer
from meshmgmt.api.fields import (
    ArrayField,
    MapField,
    TextField,
    TruthField,
    WholeNumberField,
    texts,
)
from meshmgmt.explain.lint.finding import Severity
from meshmgmt.explain.resolution.model import OutcomeKind, Phrase, named_in, text_of


class ObjectNameSerializer(AnswerSerializer):
    """An object something is about."""

    kind = TextField(
        help_text="`zone`, `nameserver_group`, `peers`, `peer`, `group`, `policy`"
    )
    id = TextField()
    name = TextField()


class ReasonSerializer(AnswerSerializer):
    """Why something is in or out."""

    code = TextField()
    subjects = texts(help_text="Names of the objects that decide")
    text = TextField(help_text="The reason as a clause")


class EffectiveZoneSerializer(AnswerSerializer):
    """A zone that the peer gets."""

    kind = TextField(help_text="`peers` (names of the peers) or `zone`")
    id = TextField(help_text="Empty for the peers' own zone")
    name = TextField()
    domain = TextField()
    search_domain = TruthField(source="search")
    authoritative = TruthField(help_text="Absent names end the search")
    records = ArrayField(child=PlainRecordSerializer())
    reason = ReasonSerializer()


class EffectiveGroupSerializer(AnswerSerializer):
    """A nameserver group that the peer gets."""

    id = TextField(source="group.id")
    name = TextField(source="group.name")
    primary = TruthField(source="group.primary")
    domains = texts(source="group.domains")
    search_domains_enabled = TruthField(source="group.search")
    nameservers = ArrayField(source="group.nameservers", child=NameserverSerializer())
    reason = ReasonSerializer()


class SearchDomainSerializer(AnswerSerializer):
    """A domain in which short names are tried."""

    domain = TextField()

    def get_fields(self) -> dict[str, object]:  # type: ignore[override]
        """Add `from`, which is no name in Python."""
        return {**super().get_fields(), "from": ObjectNameSerializer(source="subject")}


class VisiblePeerSerializer(AnswerSerializer):
    """A peer whose names the peer can resolve."""

    id = TextField()
    name = TextField()
    reason = ReasonSerializer()


class ExcludedSerializer(AnswerSerializer):
    """A zone or nameserver group that the peer does not get."""

    kind = TextField(source="subject.kind")
    id = TextField(source="subject.id")
    name = TextField(source="subject.name")
    domains = texts()
    primary = TruthField()
    reasons = ArrayField(child=ReasonSerializer())


class PeerDnsSerializer(AnswerSerializer):
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


class StepSerializer(AnswerSerializer):
    """One thing considered."""

    stage = TextField(
        help_text="`zones`, `domain_nameservers`, `primary_nameservers` or `system`"
    )
    code = TextField()
    text = TextField()
    object = ObjectNameSerializer(source="subject", allow_null=True)
    decides = TruthField()
    records = ArrayField(child=PlainRecordSerializer())


class LegSerializer(AnswerSerializer):
    """The resolution of one name; later ones follow an alias."""

    name = TextField()
    steps = ArrayField(child=StepSerializer())


class ServerSerializer(NameserverSerializer):
    """A server that is asked."""

    group = ObjectNameSerializer()


class OutcomeSerializer(AnswerSerializer):
    """How a query ends."""

    kind = TextField(help_text=", ".join(f"`{kind}`" for kind in OutcomeKind))
    name = TextField(help_text="The name at the end of the aliases")
    records = ArrayField(child=PlainRecordSerializer())
    servers = ArrayField(child=ServerSerializer(), help_text="In the order asked")


class QuerySerializer(AnswerSerializer):
    """One full name that is tried."""

    name = TextField()
    source = ObjectNameSerializer(  # type: ignore[assignment]  # a field, not the option
        allow_null=True, help_text="Of the search domain"
    )
    legs = ArrayField(child=LegSerializer())
    outcome = OutcomeSerializer()


class PhraseSerializer(AnswerSerializer):
    """A clause, and the objects that it names."""

    text = TextField()
    objects = ArrayField(child=ObjectNameSerializer())

    @classmethod
    def plain(cls, value: Phrase) -> dict[str, Any]:
        """Tell words from objects."""
        return {
            "text": text_of(value),
            "objects": list(map(ObjectNameSerializer.plain, named_in(value))),
        }


class VerdictSerializer(AnswerSerializer):
    """Why the look-up ends as it does, and what would change that."""

    reason = PhraseSerializer()
    remedies = ArrayField(child=PhraseSerializer(), help_text="At most five")


class ExplanationSerializer(AnswerSerializer):
    """How a peer resolves a name."""

    peer_id = TextField()
    name = TextField()
    type = TextField()
    managed = TruthField()
    queries = ArrayField(child=QuerySerializer())
    outcome = OutcomeSerializer()
    depends_on_servers = TruthField(
        source="depends",
        help_text="The outcome depends on the answer of servers not asked here",
    )
    verdict = VerdictSerializer()


class FindingSerializer(AnswerSerializer):
    """Something valid but unlikely to be meant."""

    code = TextField()
    severity = TextField(help_text=", ".join(f"`{severity}`" for severity in Severity))
    message = TextField(source="text")
    remedy = TextField()
    object = ObjectNameSerializer(source="subject")


class BecauseSerializer(AnswerSerializer):
    """A rule that decides."""

    policy = ObjectNameSerializer(allow_null=True)
    rule = TextField(
        source="rule_id", help_text="Id of the rule, empty without a policy"
    )
    effect = TextField(help_text="`accept` or `drop`")
    text = TextField()


class ViaSerializer(AnswerSerializer):
    """A routing peer on the way."""

    peer = ObjectNameSerializer()
    route = ObjectNameSerializer(help_text="Of kind `route` or `resource`")
    verdict = TextField(source="word", help_text="`allowed` or `blocked`")
    because = ArrayField(child=BecauseSerializer())


class ObstacleSerializer(AnswerSerializer):
    """What would have let it through, and what is in the way of that."""

    kind = TextField()
    object = ObjectNameSerializer(source="subject", allow_null=True)
    text = TextField()
    remedy = TextField()


class ReachSerializer(AnswerSerializer):
    """Whether a peer may begin something with a destination, and why not."""

    source = ObjectNameSerializer()  # type: ignore[assignment]  # a field, not the option
    destination = ObjectNameSerializer(
        help_text="Of kind `peer`, `resource`, `address` or `domain`"
    )
    protocol = TextField(
        source="traffic.protocol", help_text="`all`, `tcp`, `udp` or `icmp`"
    )
    port = WholeNumberField(source="traffic.port", allow_null=True)
    verdict = TextField(source="verdict.word", help_text="`allowed` or `blocked`")
    path = TextField(
        source="verdict.path",
        allow_null=True,
        help_text="`direct`, `routed`, or null: no way",
    )
    via = ArrayField(
        source="verdict.via", child=ViaSerializer(), help_text="All must let it through"
    )
    because = ArrayField(source="verdict.because", child=BecauseSerializer())
    obstacles = ArrayField(
        source="verdict.obstacles",
        child=ObstacleSerializer(),
        help_text="The nearest ones",
    )


class GraphNodeSerializer(AnswerSerializer):
    """What rules name; it counts the peers that take part, resources, and routes."""

    kind = TextField(help_text="`group`, `peer` or `resource`")
    id = TextField()
    name = TextField()
    peers = WholeNumberField()
    resources = WholeNumberField()
    routes = WholeNumberField(help_text="Routes whose access the group stands for")


class GraphEdgeSerializer(AnswerSerializer):
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


class GraphSerializer(AnswerSerializer):
    """Who may begin what with whom, by which rule; at most 500 nodes and edges."""

    focus = ObjectNameSerializer(allow_null=True)
    nodes = ArrayField(child=GraphNodeSerializer())
    edges = ArrayField(child=GraphEdgeSerializer())
    left_out = MapField(
        child=WholeNumberField(), help_text="Kind to how many went beyond the limit"
    )


class ShiftSerializer(AnswerSerializer):
    """What members of one end may begin with members of another, or no more."""

    source = ObjectNameSerializer()  # type: ignore[assignment]  # a field, not the option
    destination = ObjectNameSerializer()
    gained = TextField()
    gained_pairs = WholeNumberField()
    lost = TextField()
    lost_pairs = WholeNumberField()
    text = TextField()


class ShiftsSerializer(AnswerSerializer):
    """Pairs of ends whose reach differs, in the plan of a write."""

    pairs = ArrayField(child=ShiftSerializer())
    left_out = WholeNumberField()
