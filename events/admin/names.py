"""What people type into an explorer's filters, made into what the API's filters take."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from django.db.models import Model
from django.http import Http404, HttpRequest, JsonResponse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from events.admin.here import Here
from events.admin.objectpages import EVERY_KIND, ObjectPages
from events.audit.reading import last_id
from events.models import AuditEvent
from events.search import SHORT_SEARCH_ROWS, SHORTEST_INDEXED, fold
from meshmgmt.adminsite.search import detail_of
from meshmgmt.core.ids import is_id

MOST: Final = 12
"""How many of several possible objects are named."""
_GONE_ROWS: Final = 200
_TOLD: Final = ("email", "ip", "ipv6", "fqdn", "peer_ip", "peer_fqdn")
"""Keys of the metadata of events that tell what they are about, beside its name."""


@dataclass(frozen=True, slots=True)
class Kinds:
    """What a filter names: `called` so, objects of `kinds`, or words of events alone.

    `key` is the attribute of the objects that the filter compares.
    """

    called: str
    kinds: tuple[str, ...] = ()
    key: str = "pk"


@dataclass(frozen=True, slots=True)
class Named:
    """What a filter takes for something, its name, and what tells it from others."""

    key: str
    name: str
    detail: str = ""


class Unclear(Exception):
    """A word that stands for nothing, or for several."""

    def __init__(self, word: str, called: str, several: list[Named]) -> None:
        super().__init__(word, called)
        self.word, self.called, self.several = word, called, several

    def shown(self, name: str, label: str, here: Here) -> SafeString:
        """Return what a page says: a link for each of several."""
        if not self.several:
            text = "{}: no {} is called “{}”."
            return format_html(text, label, self.called, self.word)
        links = format_html_join(
            ", ",
            '<a href="{}"><bdi>{}</bdi></a> {}',
            ((here.with_(**{name: x.key}), x.name, x.detail) for x in self.several),
        )
        more = (
            "Which one" if len(self.several) < MOST else "One of these, or more letters"
        )
        return format_html(
            "{}: “{}” fits several. {}? {}", label, self.word, more, links
        )


class Names:
    """Finds what words stand for, as far as a viewer may see it."""

    def __init__(self, request: HttpRequest) -> None:
        self._pages = ObjectPages(request)

    def suggested(self, kinds: Kinds, part: str) -> list[Named]:
        """Return the first objects that the searches of their lists find.

        What fits best comes first; of what fits as well, some of each kind.
        """
        found = self._pages.search(kinds.kinds, part, MOST)
        seen: Counter[tuple[type[Model], int]] = Counter()

        def place(row: Model) -> tuple[int, int]:
            rank = vars(row)["search_rank"]
            seen[type(row), rank] += 1
            return rank, seen[type(row), rank]

        return list(_named(sorted(found, key=place)[:MOST], kinds.key))

    def exact(self, kinds: Kinds, word: str) -> list[Named]:
        """Return what has the word for a name, an address or another of its texts."""
        found = self._pages.having(kinds.kinds, word, MOST)
        return list(_named(found, kinds.key))

    def called(self, kinds: Kinds, key: str) -> str:
        """Return the name that stands for this key alone, "" without one."""
        rows = self._pages.having(kinds.kinds, key, 1, kinds.key)
        name = next((row.name for row in _named(rows, kinds.key)), "")
        # A name that others have, too, would not lead back to this key.
        return name if name and len(self.exact(kinds, name)) == 1 else ""

    def gone(self, kinds: Kinds, word: str) -> list[Named]:
        """Return deleted objects that had the word for a name, an address or an e-mail.

        Only those of which the trail tells it.
        """
        if not kinds.kinds:
            return []
        ends = AuditEvent.objects.filter(
            activity_code__endswith=".delete", search__holds=fold(word)
        )
        if kinds.kinds != EVERY_KIND:
            ends = ends.filter(target_type__in=kinds.kinds)
        if len(fold(word)) < SHORTEST_INDEXED:  # or the whole trail would be read
            ends = ends.filter(id__gt=last_id() - SHORT_SEARCH_ROWS)
        found: dict[str, Named] = {}
        for event in ends.order_by("-id")[:_GONE_ROWS]:
            key = event.target_id if kinds.key == "pk" else event.meta.get(kinds.key)
            texts = (event.target_name, *map(event.meta.get, _TOLD))
            if key and fold(word) in {fold(str(text)) for text in texts if text}:
                found.setdefault(key, Named(key, event.target_name, "deleted"))
        return list(found.values())


def suggestions(request: HttpRequest, kinds: Kinds | None) -> JsonResponse:
    """Answer what may be meant by the beginning of a word (`part`), and its detail."""
    if kinds is None:
        raise Http404
    found = Names(request).suggested(kinds, request.GET.get("part", ""))
    return JsonResponse([[each.name, each.detail] for each in found], safe=False)


def meant(
    names: Names,
    kinds: Kinds,
    word: str,
    options: Mapping[str, str],
    is_there: Callable[[str], bool],
) -> str:
    """Return the value of a filter that a word stands for. Raises Unclear.

    `options` are values and what people call them, `is_there` tells whether any event has
    a value.
    """
    if is_id(word) or word in options:
        return word
    wanted = fold(word)
    labelled = [Named(key, label or key) for key, label in options.items()]
    steps: tuple[Callable[[], Iterable[Named]], ...] = (
        lambda: names.exact(kinds, word),
        lambda: [Named(word, word)] if is_there(word) else (),
        lambda: (each for each in labelled if fold(each.name) == wanted),
        lambda: names.gone(kinds, word),
        lambda: (each for each in labelled if wanted in fold(each.name)),
        lambda: names.suggested(kinds, word),
    )
    # From what is surely meant to what may be: where one finds several, people choose.
    for step in steps:
        found = list({each.key: each for each in step()}.values())
        if len(found) == 1:
            return found[0].key
        if found:
            raise Unclear(word, kinds.called, found[:MOST])
    raise Unclear(word, kinds.called, [])


def _named(rows: Iterable[Model], key: str) -> Iterator[Named]:
    found = list(rows)
    kinds = {row._meta.verbose_name for row in found}
    for row in found:
        kind = str(row._meta.verbose_name) if len(kinds) > 1 else ""
        detail = ", ".join(filter(None, (kind, detail_of(row))))
        yield Named(str(getattr(row, key)), str(row), detail)
