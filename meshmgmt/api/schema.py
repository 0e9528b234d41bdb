"""OpenAPI document: read from the views' serializers, with errors and plans of writes."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import build_object_type
from rest_framework import serializers

from meshmgmt.api import plans, retries, versions
from meshmgmt.api.permissions import Public
from meshmgmt.api.views import ApiView
from meshmgmt.core import history

_ERRORS: Final = {
    "400": "The request cannot be understood",
    "401": "No valid credentials",
    "403": "The permission is missing",
    "404": "No such object",
    "409": "Clashes with an existing object",
    "412": "The state of the object forbids the operation",
    "413": "The body is too large",
    "414": "The address is too long",
    "415": "The body's encoding is not supported",
    "422": "A rule is broken",
    "429": "Too many requests",
    "500": "Internal error",
    "503": "The service or its database is not available now",
}


def _object(
    description: str = "", required: Sequence[str] = (), **properties: Any
) -> dict[str, Any]:
    return {
        "type": "object",
        **({"description": description} if description else {}),
        **({"required": [*required]} if required else {}),
        "properties": properties,
    }


def _objects(**properties: Any) -> dict[str, Any]:
    return {"type": "array", "items": _object(**properties)}


_TEXT: Final = {"type": "string"}
_NUMBER: Final = {"type": "integer"}
_ANY: Final = {"type": "object", "additionalProperties": True}
_ERROR_SCHEMA: Final = _object(
    required=["message", "code"],
    message=_TEXT,
    code={**_NUMBER, "description": "The HTTP status"},
    errors={
        "type": "array",
        "items": _object(
            required=["field", "message"],
            field={**_TEXT, "example": "nameservers[1].port"},
            message=_TEXT,
        ),
    },
)
_DRY_RUN: Final = _object(
    "What a write with `?dry_run=true` would do.",
    ["result", "plan", "plan_hash"],
    result={"description": "What the write would be answered"},
    plan=_object(
        required=["objects", "events", "peers", "reach", "tests"],
        objects=_objects(
            action={
                "type": "string",
                "enum": ["created", "changed", "disabled", "deleted"],
            },
            type=_TEXT,
            id=_TEXT,
            name=_TEXT,
            changes=_ANY,
        ),
        events=_objects(
            activity=_TEXT,
            activity_code=_TEXT,
            target_id=_TEXT,
            target_type=_TEXT,
            meta=_ANY,
            changes=_ANY,
        ),
        peers=_object(
            maps={
                **_ANY,
                "description": (
                    "Peers whose network map becomes another; where it is not `exact`,"
                    " those whose map may"
                ),
            },
            dns=_objects(managed=_ANY, zones=_ANY, nameserver_groups=_ANY, peers=_ANY),
        ),
        reach=_object(
            "Pairs of groups, peers and resources that may begin something else by"
            " rules; of `left_out` more it was not looked at",
            ["pairs", "left_out"],
            pairs=_objects(
                source=_ANY,
                destination=_ANY,
                gained=_TEXT,
                gained_pairs=_NUMBER,
                lost=_TEXT,
                lost_pairs=_NUMBER,
                text=_TEXT,
            ),
            left_out=_NUMBER,
        ),
        tests={
            **_objects(
                id=_TEXT,
                name=_TEXT,
                enforce={"type": "boolean"},
                before=_TEXT,
                after=_TEXT,
                failures={"type": "array", "items": _ANY},
            ),
            "description": "Access tests whose state becomes another",
        },
        explain={
            **_ANY,
            "description": (
                "With `source` and `destination` in the query: what"
                " `/api/access/explain` answers `before` and `after`; null where"
                " one of them is not there"
            ),
        },
    ),
    plan_hash={**_TEXT, "description": f"To be sent as `{plans.HEADER}`"},
)


def _parameter(
    where: str, name: str, description: str, **schema: Any
) -> dict[str, Any]:
    return {
        "name": name,
        "in": where,
        "required": False,
        "description": description,
        "schema": schema,
    }


_header: Final = partial(_parameter, "header", type="string", minLength=1)


_PARAMETERS: Final = {
    "IdempotencyKey": _header(
        retries.HEADER,
        "Any text that no other request has, such as a UUID. The same request with"
        " the same key is answered as it was the first time, for 24 hours, with"
        f" `{retries.REPLAYED}: true`, and not done again; another one is answered 422.",
        maxLength=255,
        pattern=f"^{retries.KEY_PATTERN}$",
    ),
    "IfMatch": _header(
        versions.IF_MATCH,
        "The `ETag` that the object had when it was read, or `*`: the write is refused"
        " (412) when it has another one now.",
    ),
    "IfNoneMatch": _header(
        versions.IF_NONE_MATCH,
        "An `ETag` that is known already: answered 304 while it is still the same.",
    ),
    "PlanHash": _header(
        plans.HEADER,
        "The `plan_hash` of a dry run: the write is refused (409), with the new plan,"
        " when it would do something else now.",
    ),
    "At": _parameter(
        "query",
        history.PARAMETER,
        "Answer as it was at this moment, from the audit trail.",
        type="string",
        format="date-time",
    ),
    "DryRun": _parameter(
        "query",
        plans.PARAMETER,
        "Do the write, tell what it did as `plan` beside its `result`, and undo it."
        " With `source`, `destination`, `protocol` and `port` as of"
        " `/api/access/explain`, `plan.explain` answers that before and after.",
        type="boolean",
    ),
}


def _conditions(view: Any, method: str) -> list[str]:
    """Return which of the parameters above an operation has."""
    if not isinstance(view, ApiView):
        return []
    if method == "GET":
        past = view.audited or view.tells_past
        return ["IfNoneMatch", "At"] if past else ["IfNoneMatch"]
    found = [] if view.repeatable else ["IdempotencyKey"]
    if method in ("PUT", "DELETE"):
        found.append("IfMatch")
    return [*found, "DryRun", "PlanHash"] if view.plannable else found


class ApiSchema(AutoSchema):
    """Takes serializers from `ResourceViewSet` and answers 200 to every success."""

    def get_tags(self) -> list[str]:
        """Group operations by the view's tags, else by its module."""
        if isinstance(self.view, ApiView):
            return list(self.view.tags) or [self.view.module or "service"]
        return super().get_tags()

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        """Return the operation with what may be asked for beside it."""
        operation: dict[str, Any] | None = super().get_operation(*args, **kwargs)
        if operation is None:
            return None
        names = _conditions(self.view, self.method)
        for name in names:
            reference = {"$ref": f"#/components/parameters/{name}"}
            operation.setdefault("parameters", []).append(reference)
        if "IfNoneMatch" in names:
            operation["responses"]["304"] = {"description": "Not changed since"}
        if "At" in names:
            operation["responses"]["422"] = _error_response("422")
        if "DryRun" in names:
            schema = {"schema": {"$ref": "#/components/schemas/DryRun"}}
            content = operation["responses"]["200"].setdefault("content", {})
            content[plans.MEDIA_TYPE] = schema
        return operation

    def get_request_serializer(self) -> Any:
        """Return the serializer of the body."""
        own = getattr(self.view, "request_serializer_class", None)
        if self.method == "PUT":
            return getattr(self.view, "update_serializer_class", None) or own
        return own

    def get_response_serializers(self) -> Any:
        """Return the serializer of the answer, with its status."""
        view, action = self.view, getattr(self.view, "action", "")
        serializer = getattr(view, "serializer_class", None)
        if serializer is None or action == "destroy":
            return {200: build_object_type()}
        many = action == "list" or getattr(view, "answers_list", False)
        return {200: serializer(many=many)}

    def get_auth(self) -> list[dict[str, Any]]:
        """Ask for a token wherever one is needed; sessions are for the admin site."""
        open_to_all = self.method in getattr(self.view, "public_methods", ())
        public = open_to_all or Public in self.view.permission_classes
        return [{}] if public else [{"token": []}]

    def get_paginated_name(self, serializer_name: str) -> str:
        return f"{serializer_name}Page"

    def get_filter_backends(self) -> list[Any]:
        """Return none: views tell their parameters by their forms."""
        return []

    def _is_list_view(self, serializer: Any = None) -> bool:
        """Let the serializer alone decide."""
        if serializer is None:
            serializer = self.get_response_serializers()
        if isinstance(serializer, dict):
            serializer = serializer.get(200)
        return isinstance(serializer, serializers.ListSerializer)


_ALWAYS: Final = ("400", "401", "403", "404", "414", "429", "500", "503")
_WRITING: Final = ("409", "412", "422")
_WITH_BODY: Final = ("413", "415")


def _error_response(status: str) -> dict[str, Any]:
    schema = {"schema": {"$ref": "#/components/schemas/Error"}}
    return {"description": _ERRORS[status], "content": {"application/json": schema}}


def _possible(method: str) -> tuple[str, ...]:
    """Return the error statuses that an operation of `method` can have."""
    if method in {"post", "put", "patch"}:
        return (*_ALWAYS, *_WRITING, *_WITH_BODY)
    if method == "delete":
        return (*_ALWAYS, *_WRITING)
    return _ALWAYS


def add_error_responses(
    result: dict[str, Any], generator: Any, request: Any, public: bool
) -> dict[str, Any]:
    """Document the error body on every operation (drf-spectacular hook)."""
    schemas = result["components"].setdefault("schemas", {})
    schemas |= {"Error": _ERROR_SCHEMA, "DryRun": _DRY_RUN}
    result["components"]["parameters"] = _PARAMETERS
    for operations in result["paths"].values():
        for method, operation in operations.items():
            for status in _possible(method):
                operation["responses"].setdefault(status, _error_response(status))
    return result
