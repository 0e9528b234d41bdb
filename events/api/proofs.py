"""Proof of the audit trail over HTTP: keys, signed heads, paths (RFC 9162)."""

import re
from typing import Any, Final

from django import forms
from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from events.api.pagination import PageForm
from events.api.queries import WholeNumberField, parameters_of, require_valid
from events.models import AuditHead
from events.proof import heads, keys, tree
from events.proof.merkle import Tree
from meshmgmt.api.exports import NdjsonRenderer, ndjson_lines
from meshmgmt.api.renderers import OrjsonRenderer
from meshmgmt.api.views import ApiView
from meshmgmt.core.errors import BadRequest, Conflict, FieldError, NotFound

# Below 2^63, the largest id of a database.
_LARGEST: Final = 10**18 - 1
_SHA256: Final = re.compile(r"[0-9A-Fa-f]{64}")


class KeySerializer(serializers.Serializer[Any]):
    key_id = serializers.CharField()
    algorithm = serializers.ChoiceField(choices=["Ed25519"])
    public_key = serializers.CharField(help_text="32 bytes, base64")
    valid_from = serializers.DateTimeField()
    valid_until = serializers.DateTimeField(allow_null=True)


class HeadSerializer(serializers.Serializer[Any]):
    tree_size = serializers.IntegerField()
    root_hash = serializers.CharField(help_text="SHA-256, hexadecimal")
    timestamp = serializers.DateTimeField()
    key_id = serializers.CharField()
    signature = serializers.CharField(help_text="Ed25519, base64")


class InclusionSerializer(serializers.Serializer[Any]):
    event_id = serializers.CharField()
    leaf_hash = serializers.CharField()
    leaf_index = serializers.IntegerField()
    tree_size = serializers.IntegerField()
    inclusion_path = serializers.ListField(child=serializers.CharField())


class ConsistencySerializer(serializers.Serializer[Any]):
    first = serializers.IntegerField()
    second = serializers.IntegerField()
    consistency_path = serializers.ListField(child=serializers.CharField())


class LeafSerializer(serializers.Serializer[Any]):
    id = serializers.CharField()
    hash = serializers.CharField()


class HashField(forms.CharField):
    """A SHA-256, hexadecimal; returns its bytes."""

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        if not text:
            return None
        if not _SHA256.fullmatch(text):
            raise forms.ValidationError("must be 64 hexadecimal digits")
        return bytes.fromhex(text)


def _size(help_text: str, *, required: bool = False) -> WholeNumberField:
    return WholeNumberField(
        low=1, high=_LARGEST, required=required, help_text=help_text
    )


class HeadPageForm(PageForm):
    default_size = 100
    page_size = WholeNumberField(low=1, top=1000, required=False)


class LeavesForm(forms.Form):
    tree_size = _size("Size of the tree; that of the newest head if absent")


class InclusionForm(LeavesForm):
    event = _size("Id of the event", required=True)
    root_hash = HashField(
        required=False, help_text="Root of a head of yours: refused if ours is another"
    )


class ConsistencyForm(forms.Form):
    first = _size("Size of the older tree", required=True)
    second = _size("Size of the newer tree; that of the newest head if absent")
    first_root = HashField(required=False, help_text="Root of your older head")
    second_root = HashField(required=False, help_text="Root of your newer head")


class AuditKeysView(ApiView):
    """The public keys that sign the trail, the oldest first."""

    module = "events"
    serializer_class = KeySerializer
    answers_list = True

    def get(self, request: Request) -> Response:
        """Return all keys and when they are valid."""
        return Response(keys.public_rows())


class AuditHeadsView(ApiView):
    """Signed tree heads, the newest first."""

    module = "events"
    serializer_class = HeadSerializer
    answers_list = True

    @extend_schema(parameters=parameters_of(HeadPageForm))
    def get(self, request: Request) -> Response:
        """Return a page of heads."""
        form = HeadPageForm(request.query_params)
        require_valid(form)
        found = AuditHead.objects.order_by("-id")
        page = found[form.offset : form.offset + form.size]
        total = {"X-Total-Count": str(found.count())}
        return Response([heads.row(head) for head in page], headers=total)


class AuditHeadView(ApiView):
    """The newest signed tree head."""

    module = "events"
    serializer_class = HeadSerializer

    def get(self, request: Request) -> Response:
        """Return it. Raises NotFound."""
        return Response(heads.row(_newest()))


class InclusionView(ApiView):
    """Proof that an event is in the tree of a head."""

    module = "events"
    serializer_class = InclusionSerializer

    @extend_schema(parameters=parameters_of(InclusionForm))
    def get(self, request: Request) -> Response:
        """Return the path from the event to the root. Raises NotFound, Conflict."""
        form = InclusionForm(request.query_params)
        require_valid(form)
        event = form.cleaned_data["event"]
        found = _tree(form, "tree_size", "root_hash")
        index = tree.index_of(event)
        if index is None or index >= found.size:
            raise NotFound(f"event {event} is not in the tree of {found.size} events")
        return Response(
            {
                "event_id": str(event),
                "leaf_hash": found.leaf(index).hex(),
                "leaf_index": index,
                "tree_size": found.size,
                "inclusion_path": [node.hex() for node in found.inclusion(index)],
            }
        )


class ConsistencyView(ApiView):
    """Proof that the trail of an older head is the beginning of a newer one's."""

    module = "events"
    serializer_class = ConsistencySerializer

    @extend_schema(parameters=parameters_of(ConsistencyForm))
    def get(self, request: Request) -> Response:
        """Return the path between the trees. Raises Conflict."""
        form = ConsistencyForm(request.query_params)
        require_valid(form)
        newer = _tree(form, "second", "second_root")
        older = _tree(form, "first", "first_root")
        # Only now: the size that was left out is that of the newest head.
        if older.size > newer.size:
            text = f"first: must not be above second, {newer.size}"
            raise BadRequest.about("first", text)
        path = newer.consistency(older.size)
        return Response(
            {
                "first": older.size,
                "second": newer.size,
                "consistency_path": [node.hex() for node in path],
            }
        )


class LeavesView(ApiView):
    """Ids and hashes of all events of a tree, those that retention removed too."""

    module = "events"
    serializer_class = LeafSerializer
    renderer_classes: list[type[BaseRenderer]] = [OrjsonRenderer, NdjsonRenderer]

    @extend_schema(
        parameters=parameters_of(LeavesForm),
        responses={(200, "application/x-ndjson"): LeafSerializer},
    )
    def get(self, request: Request) -> HttpResponseBase:
        """Return one JSON object per line, in the order of the tree."""
        form = LeavesForm(request.query_params)
        require_valid(form)
        # Not through a renderer, which would hold a trail of millions in memory.
        leaves = tree.all_leaves(_tree(form, "tree_size").size)
        rows = ({"id": str(number), "hash": leaf.hex()} for number, leaf in leaves)
        kind = f"{NdjsonRenderer.media_type}; charset=UTF-8"
        return StreamingHttpResponse(ndjson_lines(rows), content_type=kind)


def _newest() -> AuditHead:
    head = heads.newest()
    if head is None:
        raise NotFound("no tree head was signed yet: housekeeping does so every minute")
    return head


def _tree(form: forms.Form, size_name: str, root_name: str = "") -> Tree:
    """Return the tree of the size given, whose root must be the one given, if any.

    Raises NotFound, BadRequest, Conflict.
    """
    size = form.cleaned_data[size_name] or _newest().tree_size
    most = tree.extent().size
    if size > most:
        text = f"{size_name}: the tree has {most} events only"
        raise BadRequest.about(size_name, text)
    found = tree.tree_at(size)
    root = form.cleaned_data.get(root_name)
    if root is not None and root != found.root():
        raise Conflict(
            f"the tree of {size} events has another root: that head is of another tree",
            [FieldError(root_name, f"{root_name}: is not {found.root().hex()}")],
        )
    return found
