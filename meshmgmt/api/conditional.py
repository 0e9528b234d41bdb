"""A mixin of DRF's views: what headers, `?dry_run=` and `?at=` ask for around a handler."""

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, ClassVar

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.request import Request
from rest_framework.views import APIView

from meshmgmt.api import plans, retries, versions
from meshmgmt.api.bodies import ApiRequest
from meshmgmt.api.conditions import Condition, answered
from meshmgmt.api.querystring import once, refuse_misspelt, truth
from meshmgmt.api.versions import ConditionalRead
from meshmgmt.core import history
from meshmgmt.core.errors import BadRequest

Handler = Callable[..., HttpResponseBase]


class ConditionalMixin(APIView):
    """Handlers know nothing of versions, retries, plans and the past."""

    repeatable: ClassVar[bool] = False
    """Whether its writes may be repeated anyway, so that no answer need be kept."""
    audited: ClassVar[bool] = False
    """Whether what it reads changes only with an event of the audit trail."""
    tells_past: ClassVar[bool] = False
    """Whether it answers `?at=` though more than audited changes decide."""
    plannable: ClassVar[bool] = False
    """Whether its writes are in the database alone, so that they can be tried."""
    write_parameters: ClassVar[tuple[str, ...]] = ()
    """What the query of its writes may hold beside what all writes take."""

    def dispatch(
        self, request: HttpRequest, *args: Any, **kwargs: Any
    ) -> HttpResponseBase:
        """Do what DRF's does, but for calling the handler by `handle`."""
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
            read = getattr(self, "get", None)
            now = read and partial(read, request, *self.args, **self.kwargs)
            found.append(versions.Version(wanted, now))
        if dry:
            found.append(plans.DryRun(request))
        elif planned is not None:
            found.append(plans.PlanGuard(request, planned))
        return found
