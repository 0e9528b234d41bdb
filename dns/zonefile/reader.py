"""From entries to records: `$ORIGIN`, `$TTL`, owners, TTLs, classes, types.

A, AAAA and CNAME records are taken and go through the same rules as everywhere
else; SOA and the NS records of the apex are accepted and ignored; other types
are listed as skipped, or refused when reading strictly.
"""

import re
from dataclasses import dataclass

from dns.content import RECORD_TYPES
from dns.rules.zones import MAX_TTL, StoredRecord, record_errors
from dns.zonefile.lexer import Entry, Fault, Token, ZoneFileError, entries
from meshmgmt.core.durations import UNITS
from meshmgmt.core.names import MAX_TEXT, InvalidNameError, canonical, quoted
from meshmgmt.mesh.snapshot import Record

MAX_ENTRIES = 100_000
MAX_FAULTS = 20
# RFC 1035, Section 3.3.13.
_SOA_FIELDS = 7
# Ten digits hold the largest TTL, five parts have all units from weeks to seconds.
_TTL = re.compile(r"(?:\d{1,10}[smhdw]){1,5}|\d{1,10}", re.ASCII | re.IGNORECASE)
_TTL_PART = re.compile(r"(\d+)([smhdw])", re.ASCII)
# CLASS1 is IN as RFC 3597 writes it.
_CLASSES = {"IN", "CLASS1"}
_ANY_CLASS = re.compile(r"IN|CH|CHAOS|HS|CS|ANY|NONE|CLASS\d{1,5}", re.ASCII)
# IANA's resource record types, without those of questions and messages alone.
_OTHER_TYPES = re.compile(
    r"A6|AFSDB|AMTRELAY|APL|ATMA|AVC|BRID|CAA|CDNSKEY|CDS|CERT|CLA|CSYNC|DHCID|DLV|"
    r"DNAME|DNSKEY|DOA|DS|DSYNC|EID|EUI48|EUI64|GID|GPOS|HHIT|HINFO|HIP|HTTPS|IPN|"
    r"IPSECKEY|ISDN|KEY|KX|L32|L64|LOC|LP|MB|MD|MF|MG|MINFO|MR|MX|NAPTR|NID|NIMLOC|"
    r"NINFO|NS|NSAP|NSAP-PTR|NSEC|NSEC3|NSEC3PARAM|NULL|NXT|OPENPGPKEY|PTR|PX|RESINFO|"
    r"RKEY|RP|RRSIG|RT|SIG|SINK|SMIMEA|SPF|SRV|SSHFP|SVCB|TA|TALINK|TLSA|TXT|UID|"
    r"UINFO|UNSPEC|URI|WALLET|WKS|X25|ZONEMD|TYPE\d{1,5}",
    re.ASCII,
)
_ESCAPE = re.compile(r"\\(?:(\d{3})|(.))", re.ASCII | re.DOTALL)
_PLAIN = re.compile(r"[\w*-]", re.ASCII)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A record of a type this service does not hold."""

    line: int
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class ZoneFile:
    """What a file holds. Names and content are canonical.

    `ignored` counts SOA and apex NS records, `repeated` identical records.
    """

    records: tuple[Record, ...]
    skipped: tuple[Skipped, ...] = ()
    ignored: int = 0
    repeated: int = 0


def read_zone(text: str, *, domain: str, strict: bool = False) -> ZoneFile:
    """Reads the zone file of `domain` (canonical), which is the first origin.

    Raises ZoneFileError with up to MAX_FAULTS faults; nothing is read by halves.
    With `strict`, types other than A, AAAA and CNAME are faults.
    """
    # Accepted as sent, it may be longer in ASCII; no name in it could be written.
    if len(domain) > MAX_TEXT:
        message = f"the zone's domain is longer than {MAX_TEXT} characters in ASCII"
        raise ZoneFileError([Fault(1, 1, message)])
    reader = _Reader(domain, strict=strict)
    faults: list[Fault] = []
    for number, entry in enumerate(entries(text)):
        if number >= MAX_ENTRIES:
            message = f"the file has more than {MAX_ENTRIES} entries"
            faults.append(entry.tokens[0].fault(message))
            break
        try:
            reader.take(entry)
        except ZoneFileError as error:
            faults.extend(error.faults)
            if len(faults) >= MAX_FAULTS:
                break
    if faults:
        raise ZoneFileError(faults[:MAX_FAULTS])
    return reader.result()


def parse_ttl(token: Token) -> int:
    """Seconds of a TTL: a number or BIND's units (`1h30m`).

    Raises ZoneFileError when it is neither or out of range (RFC 2181, Section 8).
    """
    text = token.text.lower()
    if not _TTL.fullmatch(text) or token.quoted:
        raise ZoneFileError([token.fault(f"{quoted(token.text)} is not a TTL")])
    if text.isdigit():
        seconds = int(text)
    else:
        parts = _TTL_PART.findall(text)
        seconds = sum(int(number) * UNITS[unit] for number, unit in parts)
    if seconds > MAX_TTL:
        raise ZoneFileError([token.fault(f"the TTL is over {MAX_TTL} seconds")])
    return seconds


@dataclass(frozen=True, slots=True)
class _Fields:
    """A record entry taken apart; `ttl` None when the entry gives none."""

    owner: str
    owner_token: Token
    ttl: int | None
    ttl_token: Token
    type: str
    type_token: Token
    data: list[Token]


class _Scope:
    """What earlier entries set for later ones: origin, TTLs, owner."""

    def __init__(self, domain: str) -> None:
        self.origin = domain
        self.default_ttl: int | None = None
        self.last_ttl: int | None = None
        self.soa_minimum: int | None = None
        self.owner: Token | None = None
        self.owner_name = ""

    def absolute(self, token: Token) -> str:
        """The name of a token, without trailing dot; the root is empty."""
        if token.text == "@" and not token.quoted:
            return self.origin
        text = _ESCAPE.sub(_unescaped, token.text)
        # An escaped dot is a character of the label: RFC 1035, 5.1.
        if re.search(r"(?<!\\)(?:\\\\)*\.\Z", text):
            return text[:-1]
        return f"{text}.{self.origin}" if self.origin else text

    def ttl(self, fields: _Fields) -> int:
        """The TTL of a record: its own, else as in RFC 2308, Section 4, and RFC 1035."""
        inherited = (self.default_ttl, self.last_ttl, self.soa_minimum)
        for candidate in (fields.ttl, *inherited):
            if candidate is not None:
                return candidate
        text = "the record has no TTL; give one or set $TTL above"
        raise _error(fields.type_token, text)

    def direct(self, entry: Entry) -> None:
        directive, *arguments = entry.tokens
        name = directive.text.upper()
        if name not in {"$ORIGIN", "$TTL"}:
            raise _error(directive, f"{quoted(directive.text)} is not allowed here")
        if len(arguments) != 1:
            raise _error(directive, f"{name} needs one value, not {len(arguments)}")
        [argument] = arguments
        if name == "$TTL":
            self.default_ttl = parse_ttl(argument)
            return
        origin = self.absolute(argument)
        if len(origin) > MAX_TEXT:
            raise _error(argument, f"the origin is longer than {MAX_TEXT} characters")
        self.origin = origin


class _Reader:
    """Collects what the entries say."""

    def __init__(self, domain: str, *, strict: bool) -> None:
        self._domain = domain
        self._strict = strict
        self._scope = _Scope(domain)
        self._records: dict[StoredRecord, Record] = {}
        self._types: dict[str, str] = {}
        self._skipped: list[Skipped] = []
        self._ignored = 0
        self._repeated = 0

    def take(self, entry: Entry) -> None:
        """Takes in one entry. Raises ZoneFileError with what is wrong with it."""
        if entry.tokens[0].text.startswith("$") and not entry.tokens[0].quoted:
            self._scope.direct(entry)
            return
        fields = self._fields(entry)
        if fields.ttl is not None:
            # Of skipped types too: RFC 1035, 5.1, means the last one stated.
            self._scope.last_ttl = fields.ttl
        if fields.type in RECORD_TYPES:
            self._add(fields)
        elif fields.type == "SOA":
            self._take_soa(fields)
        elif fields.type == "NS" and self._is_apex(fields):
            self._ignored += 1
        else:
            self._skip(fields)

    def result(self) -> ZoneFile:
        """Everything taken in."""
        return ZoneFile(
            records=tuple(self._records.values()),
            skipped=tuple(self._skipped),
            ignored=self._ignored,
            repeated=self._repeated,
        )

    def _fields(self, entry: Entry) -> _Fields:
        scope, tokens = self._scope, list(entry.tokens)
        if not entry.continues:
            scope.owner = tokens.pop(0)
            # Completed here: $ORIGIN may change before a line that leaves the owner out.
            scope.owner_name = scope.absolute(scope.owner)
        if scope.owner is None:
            raise _error(tokens[0], "the first record has no owner name")
        ttl = ttl_token = None
        has_class = False
        while tokens:
            token = tokens.pop(0)
            word = "" if token.quoted else token.text.upper()
            # TTL and class stand in either order: RFC 1035, 5.1.
            if word[:1].isdigit() and ttl is None:
                ttl, ttl_token = parse_ttl(token), token
            elif _ANY_CLASS.fullmatch(word) and not has_class:
                if word not in _CLASSES:
                    raise _error(token, f"class {quoted(token.text)} is not IN")
                has_class = True
            else:
                return _Fields(
                    owner=scope.owner_name,
                    owner_token=scope.owner if not entry.continues else token,
                    ttl=ttl,
                    ttl_token=ttl_token or token,
                    type=_checked_type(token),
                    type_token=token,
                    data=tokens,
                )
        raise _error(entry.tokens[-1], "the record has no type")

    def _add(self, fields: _Fields) -> None:
        ttl = self._scope.ttl(fields)
        content = _one_value(fields)
        text = content.text
        if fields.type == "CNAME":
            text = self._scope.absolute(content)
        owner, kind = fields.owner, fields.type
        record = {"name": owner, "type": kind, "content": text, "ttl": ttl}
        if errors := record_errors(record, zone_domain=self._domain):
            places = {
                "name": fields.owner_token,
                "type": fields.type_token,
                "content": content,
                "ttl": fields.ttl_token,
            }
            raise ZoneFileError(
                [places[error.field].fault(error.message) for error in errors]
            )
        self._store(StoredRecord.of(owner, kind, text), ttl, fields)

    def _store(self, stored: StoredRecord, ttl: int, fields: _Fields) -> None:
        known = self._records.get(stored)
        if known is not None:
            if known.ttl != ttl:
                raise _error(
                    fields.ttl_token,
                    f"the same record stands above with the TTL {known.ttl}",
                )
            self._repeated += 1
            return
        if stored.name in self._types and "CNAME" in {
            stored.type,
            self._types[stored.name],
        }:
            raise _error(
                fields.owner_token,
                f"a CNAME must be alone at its name, but {quoted(stored.name)} "
                "has several records",
            )
        # The first type at a name stands for all: only "CNAME or not" matters.
        self._types.setdefault(stored.name, stored.type)
        self._records[stored] = Record(stored.name, stored.type, stored.content, ttl)

    def _take_soa(self, fields: _Fields) -> None:
        if not self._is_apex(fields):
            raise _error(fields.owner_token, "an SOA record stands at the apex only")
        if len(fields.data) != _SOA_FIELDS:
            raise _error(
                fields.type_token,
                f"an SOA record has {_SOA_FIELDS} values, not {len(fields.data)}",
            )
        self._scope.soa_minimum = parse_ttl(fields.data[-1])
        self._ignored += 1

    def _skip(self, fields: _Fields) -> None:
        if self._strict:
            raise _error(
                fields.type_token, f"records of type {fields.type} cannot be held here"
            )
        self._skipped.append(Skipped(fields.type_token.line, fields.owner, fields.type))

    def _is_apex(self, fields: _Fields) -> bool:
        try:
            return canonical(fields.owner) == self._domain
        except InvalidNameError:
            return False


def _unescaped(escape: re.Match[str]) -> str:
    """The character that an escape stands for; those that names cannot have stay."""
    character = chr(int(escape[1])) if escape[1] else escape[2]
    return character if _PLAIN.fullmatch(character) else escape[0]


def _one_value(fields: _Fields) -> Token:
    if not fields.data:
        raise _error(fields.type_token, f"the {fields.type} record has no value")
    value, *surplus = fields.data
    if surplus:
        raise _error(surplus[0], f"the {fields.type} record takes one value only")
    if value.quoted:
        raise _error(value, f"the value of an {fields.type} record is not quoted")
    return value


def _checked_type(token: Token) -> str:
    word = "" if token.quoted else token.text.upper()
    if word in RECORD_TYPES or word == "SOA" or _OTHER_TYPES.fullmatch(word):
        return word
    raise _error(token, f"{quoted(token.text)} is not a TTL, class or record type")


def _error(token: Token, message: str) -> ZoneFileError:
    return ZoneFileError([token.fault(message)])
