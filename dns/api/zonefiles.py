"""A zone as a zone file (RFC 1035): reading, replacing, merging."""

from typing import Any, Final

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from dns.api.serializers import ZoneImportSerializer
from dns.services.zonefiles import (
    Export,
    zone_export,
    zone_import,
    zone_import_preview,
)
from dns.services.zones import zones
from meshmgmt.api.requests import choice, truth
from meshmgmt.api.views import ApiView, path_id
from meshmgmt.core.errors import BadRequest

MEDIA_TYPE: Final = "text/dns"
MODES: Final = ("replace", "merge")
# Lines are longer than the records in them.
ZONE_FILE_BYTES: Final = 16 * 1024 * 1024

_AUTHORITY = OpenApiParameter(
    "authority", bool, description="Add SOA and NS records, as name servers want them"
)
_CHANGES = [
    OpenApiParameter("mode", str, enum=MODES, description="`merge` removes nothing"),
    OpenApiParameter("preview", bool, description="Show the changes, write nothing"),
    OpenApiParameter("strict", bool, description="Refuse other types than are held"),
]


class ZoneFileView(ApiView):
    """The records of a zone as text."""

    module = "dns"
    plannable = True
    audited = True
    max_body_bytes = ZONE_FILE_BYTES
    write_parameters = tuple(each.name for each in _CHANGES)

    @extend_schema(
        operation_id="dns_zone_file",
        parameters=[_AUTHORITY],
        responses={
            (200, MEDIA_TYPE): OpenApiResponse(OpenApiTypes.STR, "The zone file")
        },
    )
    def get(self, request: Request, **kwargs: Any) -> HttpResponse:
        """Return the zone file, equal bytes for equal records."""
        export = zone_export(
            zone_id=path_id(zones.kind, kwargs["zoneId"]),
            authority=truth(request, "authority", default=False),
        )
        return zone_file_response(export, "inline")

    @extend_schema(
        operation_id="dns_zone_file_put",
        parameters=_CHANGES,
        request={MEDIA_TYPE: OpenApiTypes.STR},
        responses={200: ZoneImportSerializer},
    )
    def put(self, request: Request, **kwargs: Any) -> Response:
        """Make the records of the zone those of the file; return what changed."""
        preview = truth(request, "preview", default=False)
        merge = choice(request, "mode", MODES) == "merge"
        strict = truth(request, "strict", default=False)
        perform = zone_import_preview if preview else zone_import
        done = perform(
            zone_id=path_id(zones.kind, kwargs["zoneId"]),
            # The bytes: `data` is JSON here, whatever the Content-Type says.
            text=zone_file_text(request.stream.read()),
            merge=merge,
            strict=strict,
        )
        return Response(ZoneImportSerializer.plain(done))


def zone_file_response(export: Export, disposition: str) -> HttpResponse:
    """Answer with a zone file, to be shown (`inline`) or saved (`attachment`)."""
    # Canonical, so it holds nothing that would end the quotes.
    name = f"{export.domain}.zone"
    return HttpResponse(
        export.text,
        content_type=f"{MEDIA_TYPE}; charset=utf-8",
        headers={"Content-Disposition": f'{disposition}; filename="{name}"'},
    )


def zone_file_text(data: bytes) -> str:
    """Return the text of a zone file. Raises BadRequest."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadRequest("the zone file is not UTF-8 text") from error
