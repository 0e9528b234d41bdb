"""The admin pages of the objects that audit events are about, or mention."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, reduce
from operator import or_
from typing import Any, Final

from django.contrib import admin
from django.db.models import CharField, Model, Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from events import directory
from events.audit.reading import left_since
from events.audit.specs import all_specs
from events.models import AuditEvent
from meshmgmt.adminsite import home, search
from meshmgmt.core.addresses import host_of
from meshmgmt.core.context import account_id
from meshmgmt.core.queries import batches

EVERY_KIND: Final = ("*",)


@dataclass(frozen=True, slots=True)
class ObjectPage:
    """An object that exists: what it is called, and where it is shown."""

    name: str
    url: str

    @property
    def link(self) -> SafeString:
        return format_html('<a href="{}">{}</a>', self.url, self.name)


class ObjectPages:
    """Finds pages for one viewer, who gets only those of objects they may see.

    Ids are unique over all kinds of objects, so an id alone finds its object.
    """

    def __init__(self, request: HttpRequest) -> None:
        self._request = request
        self._known: dict[str, ObjectPage] = {}
        self._missing: set[str] = set()

    def of_event(self, event: AuditEvent) -> ObjectPage | None:
        """Return the page of what the event is about, None when it is gone.

        What was changed is sought before its target: events of tokens name the user,
        those of the DNS settings the account, some of peers an address.
        """
        key = _changed(event)
        model = _models().get(event.target_type)
        if model is not None:
            if key not in self._known and key not in self._missing:
                self.look_up([event])
            page = self._known.get(key)
            if page is None and event.target_id == account_id():
                page = self.only(event.target_type)
            if page is not None:
                return page
        if host_of(address := event.target_id) == address:
            held = left_since(event, address)
            ids = (
                [held] if held else [x.id for x in directory.peers.only((), {address})]
            )
            return next(iter(self.of_ids(ids).values()), None)
        return self.of_ids([event.target_id]).get(event.target_id)

    def look_up(self, events: Iterable[AuditEvent]) -> None:
        """Find the pages of what many events changed, with one query for each kind."""
        # Without this a preview of 500 events would ask 500 times.
        keys: dict[type[Model], set[str]] = {}
        for event in events:
            if (model := _models().get(event.target_type)) is not None:
                keys.setdefault(model, set()).add(_changed(event))
        for model, wanted in keys.items():
            found = {str(row.pk): _page(row) for row in self._having(model, wanted)}
            self._known.update(found)
            self._missing |= wanted - found.keys()

    def of_ids(self, ids: Iterable[str]) -> dict[str, ObjectPage]:
        """Return the pages of the objects with these ids, as far as there are any."""
        wanted = set(ids)
        missing = wanted - self._known.keys()
        for model in _models().values():
            if not missing:
                break
            for row in self._having(model, missing):
                self._known[str(row.pk)] = _page(row)
                missing.discard(str(row.pk))
        return {key: self._known[key] for key in wanted & self._known.keys()}

    def search(self, kinds: Iterable[str], part: str, most: int) -> Iterator[Model]:
        """Yield objects that the searches of their lists find, of each kind some."""
        for model in _models_of(kinds):
            yield from search.best(self._request, model, part, most)

    def having(
        self, kinds: Iterable[str], word: str, most: int, attribute: str = ""
    ) -> Iterator[Model]:
        """Yield objects that have `word` for a text that they are searched by."""
        for model in _models_of(kinds):
            names = {attribute} if attribute else search.texts_of(model)
            same = (Q(**{f"{name}__iexact": word}) for name in names)
            wanted = reduce(or_, same, Q(pk__in=()))
            yield from self._visible(model).filter(wanted).order_by("pk")[:most]

    def only(self, name: str) -> ObjectPage | None:
        """Return the page of a model's row, if it has just one."""
        model = _models().get(name)
        rows = list(self._visible(model)[:2]) if model else []
        return _page(rows[0]) if len(rows) == 1 else None

    def _having(self, model: type[Model], ids: Iterable[str]) -> Iterator[Model]:
        # Numbers would name the object of another kind that has the same.
        if isinstance(model._meta.pk, CharField):
            for part in batches(list(ids)):
                yield from self._visible(model).filter(pk__in=part)

    def _visible(self, model: type[Model]) -> QuerySet[Any]:
        return home.visible(self._request, model)


def _changed(event: AuditEvent) -> str:
    """Return the id of what an event changed, of its target where it names no other."""
    changed = event.changes.get("id", {})
    return str(changed.get("after") or changed.get("before") or event.target_id)


def kind_of(target_type: str) -> str:
    """Return what people call a kind of object, for the name of its model."""
    model = _audited().get(target_type)
    return target_type if model is None else str(model._meta.verbose_name)


@cache
def _audited() -> dict[str, type[Model]]:
    """Return the audited models by name."""
    return {str(spec.model._meta.model_name): spec.model for spec in all_specs()}


@cache
def _models() -> dict[str, type[Model]]:
    """Return those that have pages."""
    known = _audited().items()
    return {name: model for name, model in known if admin.site.is_registered(model)}


def _models_of(kinds: Iterable[str]) -> Iterator[type[Model]]:
    known = _models()
    return (known[kind] for kind in (known if kinds == EVERY_KIND else kinds))


def _page(row: Model) -> ObjectPage:
    return ObjectPage(str(row), home.object_url(row))
