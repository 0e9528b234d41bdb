"""Bodies of the DNS endpoints. JSON types only: rules are in `dns.rules`."""

from dns.content import RECORD_TYPES
from meshmgmt.api.answering import AnswerSerializer
from meshmgmt.api.fields import (
    AbsentKept,
    AlwaysThere,
    ArrayField,
    ObjectSerializer,
    TextField,
    TruthField,
    WholeNumberField,
    texts,
)


class NameserverSerializer(ObjectSerializer):
    """One DNS server."""

    ip = TextField(help_text="Unicast IPv4 or IPv6 address")
    ns_type = TextField(default="udp", help_text="Always `udp`")
    # The reference stores 0 for none, where no server answers.
    port = WholeNumberField(default=53, help_text="1 to 65535")


class NameserverGroupRequestSerializer(ObjectSerializer):
    """A nameserver group as a client sends it."""

    name = TextField(help_text="1 to 40 characters, unique")
    description = TextField()
    nameservers = ArrayField(
        child=NameserverSerializer(), help_text="1 to 3 DNS servers"
    )
    enabled = TruthField()
    groups = texts(help_text="Ids of the peer groups that use these servers")
    primary = TruthField(help_text="Resolves all names; needs empty `domains`")
    domains = texts(help_text="Match domains, 1 to 255 characters each")
    search_domains_enabled = TruthField(
        help_text="Short names are tried in the match domains"
    )


class NameserverGroupSerializer(NameserverGroupRequestSerializer):
    """A nameserver group."""

    id = TextField()


class DnsSettingsSerializer(ObjectSerializer):
    """DNS settings of the account."""

    disabled_management_groups = texts(
        help_text="Ids of the groups whose peers get no DNS configuration"
    )


class ZoneRequestSerializer(ObjectSerializer):
    """A zone as a client creates it."""

    name = TextField(help_text="1 to 255 characters")
    domain = TextField(help_text="Domain name, unique; cannot be changed")
    # As in the reference, which reads an omitted one as false in other objects.
    enabled = TruthField(default=True)
    enable_search_domain = TruthField(
        help_text="Short names are tried in the zone's domain"
    )
    distribution_groups = texts(help_text="Ids of the peer groups that get the zone")


class ZoneUpdateSerializer(AbsentKept, ZoneRequestSerializer):
    """What a client changes of a zone; absent fields keep their value."""

    domain = TextField(help_text="Only the stored domain is accepted")


class RecordRequestSerializer(ObjectSerializer):
    """A record as a client creates it."""

    name = TextField(help_text="The zone's domain or a name below it; `*.` allowed")
    type = TextField(help_text=f"One of {', '.join(RECORD_TYPES)}")
    content = TextField(help_text="Address for A and AAAA, domain name for CNAME")
    ttl = WholeNumberField(help_text="Seconds, 0 to 2147483647")


class RecordUpdateSerializer(AbsentKept, RecordRequestSerializer):
    """What a client changes of a record; absent fields keep their value."""


class RecordSerializer(RecordRequestSerializer):
    """A DNS record."""

    id = TextField()


class ZoneSerializer(AlwaysThere, ZoneRequestSerializer):
    """A zone with its records."""

    id = TextField()
    records = ArrayField(child=RecordSerializer())


class PlainRecordSerializer(RecordRequestSerializer):
    """A record as a peer gets it."""


class SkippedSerializer(ObjectSerializer):
    """A record of a zone file that is not taken over."""

    line = WholeNumberField()
    name = TextField()
    type = TextField()


class ChangeSerializer(ObjectSerializer):
    """A record with another TTL or content."""

    before = PlainRecordSerializer()
    after = PlainRecordSerializer()


class ZoneImportSerializer(AnswerSerializer):
    """What a zone file changes."""

    preview = TruthField(help_text="Nothing was written")
    added = ArrayField(source="diff.added", child=PlainRecordSerializer())
    changed = ArrayField(source="diff.changed", child=ChangeSerializer())
    removed = ArrayField(source="diff.removed", child=PlainRecordSerializer())
    unchanged = WholeNumberField(source="diff.unchanged")
    skipped = ArrayField(
        source="file.skipped", child=SkippedSerializer(), help_text="Of other types"
    )
    ignored = WholeNumberField(
        source="file.ignored", help_text="SOA and apex NS records"
    )
    repeated = WholeNumberField(source="file.repeated", help_text="Identical records")
