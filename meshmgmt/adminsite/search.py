"""What a few words on any page of the admin site lead to: pages, actions, objects.

Words come by POST: a secret that is pasted among them gets into no address and no log.
"""

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import reduce
from operator import or_
from typing import Any, Final

from django.apps import apps
from django.contrib import admin
from django.contrib.admin.utils import quote
from django.db.models import (
    Case,
    CharField,
    GenericIPAddressField,
    Model,
    Q,
    TextField,
    When,
)
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.template.defaultfilters import capfirst
from django.utils.http import urlencode

from meshmgmt.adminsite import home, menu, site
from meshmgmt.adminsite.tokens import SecretPages, secret_in
from meshmgmt.core.printable import printable

MOST: Final = 30
MOST_OF_A_KIND: Final = 5
SHORTEST: Final = 2
"""How many letters a search of objects takes."""
LONGEST: Final = 200
EXACT, BEGINS, HAS = range(3)
"""How well something fits, the best first."""
_TEXTS: Final = (CharField, TextField, GenericIPAddressField)
_DETAILS: Final = ("email", "ip", "address", "domain", "content")
_ID: Final = re.compile(r"[\w-]*\d[\w-]*")
_INTO: Final = re.compile(r"(?:add|new) (.+?) (?:to|in|into) (.+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Hit:
    """Where words lead: `kind` says what it is, `detail` tells it from others."""

    rank: int
    kind: str
    name: str
    detail: str
    url: str


def page(request: HttpRequest) -> HttpResponse:
    """Show what is found; to a script, as JSON."""
    # PostgreSQL refuses NUL bytes in a text.
    sent = request.POST.get("words", "").replace("\0", " ")
    words = " ".join(sent.split())[:LONGEST]
    pasted = _page_of_secret(request, words)
    if not request.accepts("text/html"):
        secret = Hit(EXACT, "Secret", "What has this secret", "", pasted)
        hits = [secret] if pasted else search(request, words)
        return JsonResponse({"hits": [asdict(hit) for hit in hits]})
    if pasted:
        return HttpResponseRedirect(pasted)
    facts = {"words": words, "hits": search(request, words)}
    return site.page(request, "admin/search.html", "Search", facts)


def search(request: HttpRequest, words: str) -> list[Hit]:
    """Return where the viewer may go by these words, what fits best first.

    Without words: the pages. Each kind of object is asked for once, once more after a
    verb.
    """
    hits = [*_pages(request, words), *_additions(request, words)]
    if len(words) >= SHORTEST or words.isdecimal():
        models = list(_models(request))
        hits += _into(request, models, words)
        hits += _deeds(request, models, words)
        hits += (
            Hit(rank, *_called(row), home.object_url(row))
            for model in models
            for row, rank in _found(request, model, words)
        )
    return sorted(hits, key=lambda hit: hit.rank)[:MOST]


def best(
    request: HttpRequest, model: type[Model], words: str, most: int
) -> Iterator[Model]:
    """Yield objects that the viewer may see and the search of their list finds.

    What has the words for one of its texts comes first, then what is called by a name
    that begins with them. `search_rank` of each says which it is.
    """
    pages: Any = admin.site.get_model_admin(model)
    if not pages.search_fields:
        return
    rows = home.visible(request, model)
    found, _ = pages.get_search_results(request, rows, words)
    name = pages.search_fields[0]
    same = (Q(**{f"{text}__iexact": words}) for text in sorted(texts_of(model)))
    rank = Case(
        # Begun with what nothing fits: an empty Q would fit everything.
        When(reduce(or_, same, Q(pk__in=())), then=EXACT),
        When(**{f"{name}__istartswith": words}, then=BEGINS),
        default=HAS,
    )
    ranked = found.annotate(search_rank=rank).order_by("search_rank", name, "pk")
    yield from ranked[:most]


def texts_of(model: type[Model]) -> set[str]:
    """Return the columns of texts that a list of the model is searched by."""
    searched = admin.site.get_model_admin(model).search_fields
    named = {name.removeprefix("=") for name in searched}
    return {
        field.name
        for field in model._meta.concrete_fields
        if field.name in named and isinstance(field, _TEXTS)
    }


def detail_of(row: Model) -> str:
    """Return what tells an object from others of its name, "" without it."""
    details = (str(getattr(row, name, "") or "") for name in _DETAILS)
    return next((text for text in details if text and text not in str(row)), "")


def _models(request: HttpRequest) -> Iterator[type[Model]]:
    """Yield the models that the menu leads to and the viewer may see, in its order."""
    for model in map(apps.get_model, menu.models()):
        if admin.site.get_model_admin(model).has_view_permission(request):
            yield model


def _page_of_secret(request: HttpRequest, words: str) -> str:
    """Return the address of what a pasted secret belongs to, "" without one."""
    secret = secret_in(words)
    for model in _models(request) if secret else ():
        pages: Any = admin.site.get_model_admin(model)
        if isinstance(pages, SecretPages) and (url := pages.url_of(request, secret)):
            return url
    return ""


def _found(
    request: HttpRequest, model: type[Model], words: str
) -> Iterator[tuple[Model, int]]:
    """Yield objects and how well they fit; those of streams are found by their id."""
    pages: Any = admin.site.get_model_admin(model)
    if pages.search_fields:
        if "__" not in pages.search_fields[0]:  # it has a name of its own
            for row in best(request, model, words, MOST_OF_A_KIND):
                yield row, vars(row)["search_rank"]
    elif _ID.fullmatch(words) and (row := pages.get_object(request, words)):
        yield row, EXACT


def _called(row: Model) -> tuple[str, str, str]:
    """Return kind, name and detail of an object, all that is not seen as escapes."""
    kind = str(capfirst(str(row._meta.verbose_name)))
    return kind, printable(str(row)), printable(detail_of(row))


def _pages(request: HttpRequest, words: str) -> Iterator[Hit]:
    for section in admin.site.get_app_list(request):
        for line in section["models"]:
            if (rank := _fit(line["name"], words)) is not None:
                yield Hit(
                    rank, "Page", line["name"], section["name"], line["admin_url"]
                )


def _additions(request: HttpRequest, words: str) -> Iterator[Hit]:
    for model in _models(request):
        name = f"Add {model._meta.verbose_name}"
        if (rank := _fit(name, words)) is not None and _may_add(request, model):
            yield Hit(rank, "Action", name, "", home.page_url(model, "add"))


def _into(request: HttpRequest, models: list[type[Model]], words: str) -> Iterator[Hit]:
    """Yield additions to something: `add record to office`."""
    if (told := _INTO.fullmatch(words)) is None:
        return
    for model in models:
        whole = getattr(admin.site.get_model_admin(model), "part_of", "")
        kind = str(model._meta.verbose_name)
        if not whole or _fit(kind, told[1]) is None or not _may_add(request, model):
            continue
        field: Any = model._meta.get_field(whole)
        for row, rank in _found(request, field.related_model, told[2]):
            _, name, detail = _called(row)
            url = f"{home.page_url(model, 'add')}?{urlencode({whole: row.pk})}"
            yield Hit(rank, "Action", f"Add {kind} to {name}", detail, url)


def _deeds(
    request: HttpRequest, models: list[type[Model]], words: str
) -> Iterator[Hit]:
    """Yield what can be done with something: `delete office`."""
    verb, _, rest = words.partition(" ")
    for model in models if len(rest) >= SHORTEST else ():
        pages: Any = admin.site.get_model_admin(model)
        deeds = pages.verbs(request) if hasattr(pages, "verbs") else {}
        deed = deeds.get(verb.lower(), "")
        for row, rank in _found(request, model, rest) if deed else ():
            kind, name, detail = _called(row)
            name = f"{verb.capitalize()} {kind[:1].lower()}{kind[1:]} {name}"
            yield Hit(
                rank, "Action", name, detail, home.page_url(model, deed, quote(row.pk))
            )


def _fit(name: str, words: str) -> int | None:
    """Return how well words fit a name: each has to be in it."""
    text, sought = name.lower(), words.lower()
    if text == sought:
        return EXACT
    if sought and text.startswith(sought):
        return BEGINS
    return HAS if all(word in text for word in sought.split()) else None


def _may_add(request: HttpRequest, model: type[Model]) -> bool:
    return bool(admin.site.get_model_admin(model).has_add_permission(request))
