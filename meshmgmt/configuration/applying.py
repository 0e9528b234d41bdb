"""From the document to the account: the difference, in one transaction."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rest_framework.exceptions import ValidationError

from dns.api.serializers import DnsSettingsSerializer
from dns.services.nameservers import dns_settings_update
from meshmgmt.accounts.api.serializers import AccountSettingsRequestSerializer
from meshmgmt.accounts.services.account import WRITABLE, account_update
from meshmgmt.api.exceptions import describe
from meshmgmt.api.fields import checked
from meshmgmt.api.plans import Plan
from meshmgmt.api.views import ResourceViewSet
from meshmgmt.configuration.document import (
    Stored,
    configuration,
    dns_settings,
    referable,
    settings,
    stored,
)
from meshmgmt.configuration.sections import (
    SECTIONS,
    Key,
    Row,
    Section,
    keyed,
    schema,
    texts_of,
)
from meshmgmt.core.errors import Conflict, InvalidArgument, ServiceError
from meshmgmt.movingin.rows import GROUP_LISTS, UnknownReferenceError, translated
from meshmgmt.plans.planner import carried_out


def check_form(document: Any) -> None:
    """Raise InvalidArgument, with the place, for what is no such document."""
    # For seconds where the parsers of its optional formats are installed, too.
    import jsonschema  # noqa: PLC0415

    validator = jsonschema.Draft202012Validator(schema())
    faults = sorted(validator.iter_errors(document), key=lambda fault: fault.json_path)
    if faults:
        place = (
            faults[0].json_path.removeprefix("$").removeprefix(".") or "the document"
        )
        raise InvalidArgument(f"{place}: {faults[0].message[:200]}")


def perform(document: Row, *, dry_run: bool, max_deletions: int) -> Plan:
    """Make the account what the document says; return what that did.

    A section that is not in the document stays as it is. All or nothing, under one
    correlation id. Raises InvalidArgument with the place of a faulty entry, Conflict
    when more than `max_deletions` objects would go, which a dry run leaves to its caller.
    """
    check_form(document)

    def may_stay(plan: Plan) -> bool:
        if not dry_run:
            check_deletions(plan, max_deletions)
        return not dry_run

    return carried_out(_Applying(document).run, may_stay)


def check_deletions(plan: Plan, most: int) -> None:
    """Raise Conflict when a plan deletes more than `most` objects."""
    # Counted in what was really done: deleting a zone takes its records along.
    gone = sum(done["action"] == "deleted" for done in plan.shown["objects"])
    if gone > most:
        raise Conflict(
            f"{gone} objects would be deleted, more than the {most} that"
            " --max-deletions allows; nothing was changed"
        )


def outcome(document: Row) -> Row:
    """Return the configuration that `perform` would lead to. Raises what that does."""
    check_form(document)
    led_to: list[Row] = []

    def may_stay(_: Plan) -> bool:
        led_to.append(configuration())
        return False

    carried_out(_Applying(document).run, may_stay)
    return led_to[0]


@dataclass(slots=True)
class _Applying:
    """One document on its way into the account."""

    document: Row
    names: dict[tuple[str, str], str] = field(default_factory=dict)
    ids: dict[tuple[str, str], str | None] = field(default_factory=dict)
    """By kind and name; None where several share a name, which stands for none of them."""
    gone: list[tuple[ResourceViewSet, str]] = field(default_factory=list)
    moving: set[str] = field(default_factory=set)

    def run(self) -> None:
        # Under the lock, so what a name stands for stays so until all is done.
        for (kind, pk), name in referable().items():
            self._know(kind, pk, name)
        present = [section for section in SECTIONS if section.name in self.document]
        # Names are free when they are needed: a domain that a zone leaves may become the
        # peers' own, and theirs may become that of a zone.
        for section in present:
            if section.is_leaf:
                wanted = keyed(section, self.document[section.name])
                there = self._stored(section, wanted, "")
                self._delete(_left_out(section.opened(""), there, wanted))
        for section in (one for one in present if not one.is_leaf):
            self._note_moving(section)
            self._section(section, self.document[section.name], section.name, "")
        self._settings()
        for section in (one for one in present if one.is_leaf):
            self._section(section, self.document[section.name], section.name, "")
        # Last, when nothing in the document refers to them any more; parts before wholes.
        self._delete(self.gone)

    def _delete(self, gone: list[tuple[ResourceViewSet, str]]) -> None:
        for view, identifier in reversed(gone):
            view.delete_object(identifier)

    def _note_moving(self, section: Section) -> None:
        """Note parts that leave their whole, and are wanted by their name in another."""
        wholes = keyed(section, self.document[section.name])
        for part in (one for one in section.parts if one.move):
            wanted = {key: whole.get(part.name) for key, whole in wholes.items()}
            names = {entry["name"] for some in wanted.values() for entry in some or ()}
            for key, (whole, _, _) in self._stored(section, wholes, "").items():
                entries = wanted.get(key, [])
                if entries is None:  # they stay
                    continue
                parts = keyed(part, entries)
                there = self._stored(part, parts, whole)
                for _, pk in _left_out(part.opened(whole), there, parts):
                    if self.names[part.kind, pk] in names:
                        self.moving.add(pk)
                    else:
                        self._forget(part.kind, pk)

    def _forget(self, kind: str, pk: str) -> None:
        """Let no entry refer to what the document has no place for."""
        if kind:
            self.ids.pop((kind, self.names[kind, pk]), None)

    def _stored(
        self, section: Section, wanted: Mapping[Key, Row], within: str
    ) -> Stored:
        """Return what is stored by the keys of the entries that it is to become.

        Of those that share a key an entry is the one that it equals, else the one that
        no other could become without a clash, else the next in their order.
        """
        free: dict[Key, list[tuple[str, Row, Row]]] = {}
        there = stored(section, self.names, within)
        for key, one in there.items():
            free.setdefault(key[:-1], []).append(one)
        found: Stored = {}
        forms: tuple[Callable[[Row], Any], ...] = (
            section.own,
            lambda entry: texts_of(entry, section.unlike),
        )
        for form in forms:
            for key in [key for key in wanted if key not in found]:
                rest = free.get(key[:-1], [])
                told = form(wanted[key])
                for one in rest:
                    if form(one[1]) == told:
                        found[key] = one
                        rest.remove(one)
                        break
        for key in (*wanted, *there):
            if key not in found and free.get(key[:-1]):
                found[key] = free[key[:-1]].pop(0)
        return found

    def _know(self, kind: str, pk: str, name: str) -> None:
        self.names[kind, pk] = name
        self.ids[kind, name] = None if (kind, name) in self.ids else pk

    def _section(
        self, section: Section, entries: list[Row], place: str, within: str
    ) -> None:
        view = section.opened(within)
        wanted = keyed(section, entries)
        if section.move is not None:
            for name, *_ in wanted:
                pk = self.ids.get((section.kind, name)) or ""
                if pk in self.moving:
                    section.move(pk, within)
                    self.moving.remove(pk)
        there = self._stored(section, wanted, within)
        gone = _left_out(view, there, wanted)
        if section.is_leaf:
            self._delete(gone)
        else:
            gone = [one for one in gone if one[1] not in self.moving]
            self.gone += gone
            for _, pk in gone:
                self._forget(section.kind, pk)
        for number, (key, entry) in enumerate(wanted.items()):
            where = f"{place}[{number}]"
            known = there.get(key)
            identifier = self._entry(section, view, entry, known, where)
            # Parts have ids of their own only under the whole, which must be there by now.
            for part in section.parts:
                if part.name in entry:
                    inner, at = entry[part.name], f"{where}.{part.name}"
                    self._section(part, inner, at, identifier)

    def _entry(
        self,
        section: Section,
        view: ResourceViewSet,
        entry: Row,
        known: tuple[str, Row, Row] | None,
        where: str,
    ) -> str:
        own = section.own(entry)
        # Nothing is written where nothing differs: no event, no new map for anybody.
        if known is not None and own == known[1]:
            self._refer(own, where, stays=True)
            return known[0]
        body = self._refer(own, where)
        if known is None:
            made: str = _told(where, lambda: view.create_object(view.checked(body)))
            # What follows in the document may name it.
            if section.kind:
                self._know(section.kind, made, str(entry["name"]))
            return made
        _keep_orders(body, known[2])
        # Rules have no names that last: by their place, so that what differs is changed and
        # nothing is made anew.
        for rule, old in zip(
            body.get("rules") or (), known[2].get("rules", ()), strict=False
        ):
            rule["id"] = old["id"]
            _keep_orders(rule, old)
        _told(
            where,
            lambda: view.update_object(known[0], view.checked(body, changed=True)),
        )
        return known[0]

    def _settings(self) -> None:
        wanted, there = self.document.get("settings"), settings(self.names)
        if unknown := sorted((wanted or {}).keys() - there.keys()):
            raise InvalidArgument(f"settings: there is no {unknown[0][:64]!r}")
        others = {k: v for k, v in (wanted or {}).items() if v != there[k]}
        if fixed := sorted(others.keys() - WRITABLE):
            raise InvalidArgument(f"settings: {fixed[0]} cannot be set")
        if others:
            values = self._refer(others, "settings")
            _told("settings", lambda: account_update(settings=_settings(values)))
        wanted = self.document.get("dns_settings")
        if wanted is not None and wanted != dns_settings(self.names):
            sent = self._refer(wanted, "dns_settings")
            _told(
                "dns_settings",
                lambda: dns_settings_update(**checked(DnsSettingsSerializer, sent)),
            )

    def _refer(self, entry: Row, where: str, *, stays: bool = False) -> Row:
        try:
            return translated(entry, self.ids)
        except UnknownReferenceError as error:
            ambiguous = (error.kind, error.name) in self.ids
            if stays and ambiguous:
                return entry
            many = "more than one" if ambiguous else "no"
            raise InvalidArgument(
                f"{where}: there is {many} {error.kind} named {error.name[:64]!r}"
            ) from error
        # Names are exchanged for ids before a serializer looks at what holds them.
        except (AttributeError, KeyError, TypeError) as error:
            raise InvalidArgument(
                f"{where}: what refers to others has another form"
            ) from error


def _left_out(
    view: ResourceViewSet, there: Stored, wanted: Mapping[Key, Row]
) -> list[tuple[ResourceViewSet, str]]:
    """Return what is stored and not wanted any more."""
    return [(view, pk) for key, (pk, _, _) in there.items() if key not in wanted]


def _keep_orders(body: Row, row: Row) -> None:
    """Let lists of the groups that are there keep the order in which they were sent."""
    for name in body.keys() & {*GROUP_LISTS}:
        groups = row.get(name) or ()
        ids = [one["id"] if isinstance(one, dict) else one for one in groups]
        if sorted(ids) == sorted(body[name] or ()):
            body[name] = ids


def _settings(values: Row) -> Row:
    """Return checked settings of those that are given. Raises ValidationError."""
    # The API has them in two levels, and takes from each what it knows.
    found: Row = checked(AccountSettingsRequestSerializer, {**values, "extra": values})
    found |= found["extra"]
    if left_out := sorted(values.keys() - found.keys()):  # null is no value there
        raise InvalidArgument(f"{left_out[0]} must not be null")
    return {name: found[name] for name in values}


def _told(where: str, do: Callable[[], Any]) -> Any:
    """Do it; say of a refusal where in the document it is."""
    try:
        return do()
    except (ServiceError, ValidationError) as error:
        message = describe(error)[1]
        raise InvalidArgument(f"{where}: {message}") from error
