"""Base views: what every endpoint under `/api` shares."""

from collections.abc import Callable, Hashable, Sequence
from contextlib import ExitStack
from functools import partial
from types import SimpleNamespace
from typing import Any, ClassVar, Final, Self, cast

from django.conf import settings
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from rest_framework import serializers
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.routers import SimpleRouter
from rest_framework.viewsets import ViewSetMixin

from meshmgmt.api import plans, retries, versions
from meshmgmt.api.conditions import Condition, answered
from meshmgmt.api.fields import checked
from meshmgmt.api.limits import LimitedView
from meshmgmt.api.permissions import Public
from meshmgmt.api.renderers import note_size, room_for, to_json
from meshmgmt.api.requests import ApiRequest, once, refuse_misspelt, require_utf8, truth
from meshmgmt.api.versions import ConditionalRead, etag_of
from meshmgmt.core import history
from meshmgmt.core.errors import BadRequest, NotFound
from meshmgmt.core.ids import is_id
from meshmgmt.core.replica import read_through, reading_replica
from meshmgmt.core.resources import Resource, Row, stored_rows
from meshmgmt.core.roles import Operation
from meshmgmt.core.transactions import read_snapshot

OK: Final = 200

Handler = Callable[..., HttpResponseBase]


def _size(response: HttpResponseBase) -> int:
    if isinstance(response, HttpResponse):
        return len(response.content)
    return int(response.get("Content-Length", "0"))


class ApiView(LimitedView):
    """A view with a module for its permission and a limit for its body.

    Its handlers know nothing of versions, retries, plans and the past: what headers,
    `?dry_run=` and `?at=` ask for is done around them.
    """

    module: ClassVar[str | None] = None
    operation: ClassVar[Operation | None] = None
    open_methods: ClassVar[tuple[str, ...]] = ()
    public_methods: ClassVar[tuple[str, ...]] = ()
    token_scopes: ClassVar[tuple[str, ...]] = ()
    max_body_bytes: ClassVar[int] = 0
    reads_long: ClassVar[bool] = False
    """Whether what it reads is better read from a replica, if there is one."""
    tags: ClassVar[tuple[str, ...]] = ()
    repeatable: ClassVar[bool] = False
    """Whether its writes may be repeated anyway, so that no answer need be kept."""
    audited: ClassVar[bool] = False
    """Whether what it reads changes only with an event of the audit trail."""
    tells_past: ClassVar[bool] = False
    """Whether it answers `?at=` though more than audited changes decide."""
    reads_itself: ClassVar[bool] = True
    """Whether GET shows what the other methods change."""
    plannable: ClassVar[bool] = False
    """Whether its writes are in the database alone, so that they can be tried."""
    write_parameters: ClassVar[tuple[str, ...]] = ()
    """What the query of its writes may hold beside what all writes take."""

    def initialize_request(
        self, request: HttpRequest, *args: Any, **kwargs: Any
    ) -> Request:
        """Wrap the request; permission is checked before its body is read."""
        wrapped = ApiRequest(
            request,
            parsers=self.get_parsers(),
            authenticators=self.get_authenticators(),
            negotiator=self.get_content_negotiator(),
            parser_context=self.get_parser_context(request),
        )
        wrapped.body_limit = self.body_limit()
        return wrapped

    def body_limit(self) -> int:
        """Return how many bytes a body may have."""
        return self.max_body_bytes or settings.SVC.max_body_bytes

    def dispatch(
        self, request: HttpRequest, *args: Any, **kwargs: Any
    ) -> HttpResponseBase:
        """Answer; what is read is rendered while it has its room, and held as text."""
        with ExitStack() as self._room:
            response = self._answer(request, *args, **kwargs)
            if request.method in ("GET", "HEAD") and response.status_code == OK:
                if isinstance(response, Response):
                    response.render()
                    # The rows take about ten times what the text does.
                    response.data = None
                note_size(self._kind, _size(response))
                if isinstance(response, HttpResponse):
                    response = self._reading.versioned(response)
        if isinstance(response, StreamingHttpResponse) and self.reads_long:
            response.streaming_content = read_through(iter(response))
        return response

    def _answer(
        self, request: HttpRequest, *args: Any, **kwargs: Any
    ) -> HttpResponseBase:
        """Do what DRF's `dispatch` does, but for calling the handler by `handle`."""
        self.args, self.kwargs = args, kwargs
        wrapped = self.initialize_request(request, *args, **kwargs)
        self.request = wrapped
        self.headers = self.default_response_headers
        response: Any
        try:
            self.initial(wrapped, *args, **kwargs)
            response = self.handle(wrapped)
        except Exception as error:
            response = self.handle_exception(error)
        self.response = self.finalize_response(wrapped, response, *args, **kwargs)
        return self.response

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Check permission, then what holds for every query; reading waits for room."""
        super().initial(request, *args, **kwargs)
        require_utf8(request._request)  # noqa: SLF001 - DRF offers no public name
        if request.method in ("GET", "HEAD"):
            self._room.enter_context(room_for(self._kind))
            self.before_reading(request)
            if self.reads_long:
                self._room.enter_context(reading_replica())

    def before_reading(self, request: Request) -> None:
        """Do what the answer must know of, or a replica must have, before it is read."""

    @property
    def _kind(self) -> str:
        """What answers of the same size come from."""
        return f"{type(self).__qualname__}.{getattr(self, 'action', 'get')}"

    def handle(self, request: Request) -> HttpResponseBase:
        """Call the method's handler as the request asks for it."""
        assert isinstance(request, ApiRequest)
        name = (request.method or "").lower()
        known = name in self.http_method_names and hasattr(self, name)
        if not known:
            return self.http_method_not_allowed(request)
        handler: Handler = partial(
            getattr(self, name), request, *self.args, **self.kwargs
        )
        if request.method in ("GET", "HEAD"):
            return self._read(request, handler)
        writes = request.method in retries.WRITING
        conditions = self._conditions(request) if writes else []
        return answered(handler, conditions) if conditions else handler()

    def depends_on(self, request: Request) -> Hashable | None:
        """Return what an answer depends on beside audited data; None: on anything."""
        return () if self.audited else None

    def _read(self, request: ApiRequest, handler: Handler) -> HttpResponseBase:
        self._reading = ConditionalRead(request, self.depends_on(request))
        refuse_misspelt(request, [history.PARAMETER])
        moment = once(request, history.PARAMETER)
        if moment is None:
            return self._reading.known() or handler()
        if not (self.audited or self.tells_past):
            raise BadRequest("what is read here has no history")
        with history.account_at(moment):
            return handler()

    def _conditions(self, request: ApiRequest) -> list[Condition]:
        """Return what a write is asked for. Raises BadRequest for what cannot be."""
        found: list[Condition] = []
        key = request.headers.get(retries.HEADER)
        wanted = request.headers.get(versions.IF_MATCH)
        planned = request.headers.get(plans.HEADER)
        known = [history.PARAMETER, plans.PARAMETER, *self.write_parameters]
        refuse_misspelt(request, known)
        if history.PARAMETER in request.query_params:
            raise BadRequest(f"{history.PARAMETER}: what was cannot be written")
        once(request, plans.PARAMETER)  # what is taken for false is written
        dry = truth(request, plans.PARAMETER, default=False)
        if (dry or planned is not None) and not self.plannable:
            raise BadRequest("what this request does cannot be planned")
        if dry and not (key is None and planned is None):
            other = plans.HEADER if key is None else retries.HEADER
            raise BadRequest(f"{plans.PARAMETER} and {other} exclude each other")
        if key is not None and not self.repeatable:
            found.append(retries.Retries(request, key, self.handle_exception))
        if wanted is not None:
            read = getattr(self, "get", None) if self.reads_itself else None
            now = read and partial(read, request, *self.args, **self.kwargs)
            found.append(versions.Version(wanted, now))
        if dry:
            found.append(plans.DryRun(request))
        elif planned is not None:
            found.append(plans.PlanGuard(request, planned))
        return found

    def options(  # type: ignore[override]  # DRF hands its own Request to handlers
        self, request: Request, *args: Any, **kwargs: Any
    ) -> Response:
        """Answer with the methods of this path."""
        return Response({"methods": self.allowed_methods})

    def get_authenticators(self) -> list[BaseAuthentication]:
        """Return what finds out who asks; methods for everybody do not look."""
        return [] if self._is_public() else super().get_authenticators()

    def get_permissions(self) -> list[Any]:
        """Return the checks of the method."""
        return [Public()] if self._is_public() else list(super().get_permissions())

    def _is_public(self) -> bool:
        request = getattr(self, "request", None)
        if request is None:
            return False
        if request.method == "OPTIONS":
            return bool(self.public_methods)
        method = "GET" if request.method == "HEAD" else request.method
        return method in self.public_methods

    def validated(self, serializer_class: type[serializers.BaseSerializer[Any]]) -> Any:
        """Return the checked body. Raises ValidationError (400 or 422)."""
        return checked(serializer_class, self.request.data)


class ResourceViewSet(ViewSetMixin, ApiView):
    """List, read, create, replace and delete objects of one kind.

    A subclass gives `resource`, `lookup_url_kwarg` (the id in the path), for parts of
    others `whole_url_kwarg` (the id of the whole), and the serializers; it overrides what
    is special: `rows(ids=None)` returns the answer's dicts in list order. What a write
    answers is read back by `rows`, so it equals what the next read returns. Objects that
    no `Resource` writes have `kind` (for messages) and the three functions of writes.
    """

    plannable = True
    action: str
    resource: ClassVar[Resource[Any]]
    kind: ClassVar[str]
    lookup_url_kwarg: ClassVar[str]
    whole_url_kwarg: ClassVar[str] = ""
    serializer_class: ClassVar[type[serializers.BaseSerializer[Any]]]
    request_serializer_class: ClassVar[type[serializers.BaseSerializer[Any]]]
    update_serializer_class: ClassVar[type[serializers.BaseSerializer[Any]] | None] = (
        None
    )

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "resource" in vars(cls):
            cls.kind = cls.resource.kind

    @property
    def within(self) -> str:
        """The id of the whole in the path, "" for none. Raises NotFound."""
        if not self.whole_url_kwarg:
            return ""
        whole = self.resource.whole
        assert whole is not None
        return path_id(whole.kind, self.kwargs[self.whole_url_kwarg])

    def rows(self, ids: Sequence[str] | None = None) -> list[Row]:
        """Return the dicts of all objects, or of those with `ids`."""
        return stored_rows(self.resource.model, ids, within=self.within)

    def create_object(self, data: dict[str, Any]) -> str:
        """Create an object from checked data and return its id."""
        return str(self.resource.create(data, self.within).pk)

    def update_object(self, identifier: str, data: dict[str, Any]) -> str:
        """Replace an object from checked data and return its id."""
        return str(self.resource.update(identifier, data, self.within).pk)

    def delete_object(self, identifier: str) -> None:
        """Delete an object. Raises NotFound."""
        self.resource.delete(identifier, self.within)

    @classmethod
    def apart(cls, by: Any = None, **ids: str) -> Self:
        """Return the view of the objects under some ids, for use without a request."""
        view = cls()
        view.kwargs = dict(ids)
        view.request = cast("Any", SimpleNamespace(user=by, query_params={}))
        return view

    def checked(self, body: Any, *, changed: bool = False) -> Any:
        """Return the data of a new or `changed` object. Raises ValidationError."""
        update = self.update_serializer_class if changed else None
        return checked(update or self.request_serializer_class, body)

    @property
    def identifier(self) -> str:
        """The id in the path. Raises NotFound when it cannot be one."""
        return path_id(self.kind, self.kwargs[self.lookup_url_kwarg])

    def row(self, identifier: str) -> Row:
        """Return one object as the API shows it, of one moment. Raises NotFound."""
        with read_snapshot():
            found = self.rows([identifier])
            if not found:
                self._require_whole()
                raise NotFound.of(self.kind, identifier)
            return found[0]

    def _require_whole(self) -> None:
        """Raise NotFound when the path leads through something that is not there."""
        if within := self.within:
            self.resource.require_whole(within)

    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Return all objects, in the order of their creation."""
        with read_snapshot():
            if not (rows := self.rows()):
                self._require_whole()
            return Response(rows)

    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Return one object."""
        return Response(self.row(self.identifier))

    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Create an object and return it."""
        data = self.checked(request.data)
        return Response(self.row(self.create_object(data)))

    def update(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Replace an object and return it."""
        identifier = self.identifier
        try:
            data = self.checked(request.data, changed=True)
        except serializers.ValidationError:
            self.row(identifier)  # of what is not there nothing else is told
            raise
        return replaced(self.row(self.update_object(identifier, data)))

    def destroy(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Delete an object."""
        self.delete_object(self.identifier)
        return Response({})


def replaced(row: Row) -> Response:
    """Return the answer to a PUT: the object as it is read from now on."""
    return Response(row, headers={"ETag": etag_of(to_json(row))})


class ResourceRouter(SimpleRouter):
    """Routes of resources: paths without a slash at their end, ids of any form."""

    def __init__(self) -> None:
        super().__init__(trailing_slash=False, use_regex_path=False)


COLLECTION: dict[str, Any] = {"get": "list", "post": "create"}


def path_id(kind: str, text: str) -> str:
    """Return an id taken from a path. Raises NotFound when it has not an id's form."""
    if not is_id(text):
        raise NotFound.of(kind, text)
    return text
