"""Endpoints of posture checks."""

from meshmgmt.access.api.serializers import posture as bodies
from meshmgmt.access.services.posture import posture_checks
from meshmgmt.api.views import ResourceViewSet


class PostureCheckViewSet(ResourceViewSet):
    """Posture checks: what peers must fulfil before a policy lets them in."""

    module = "policies"
    audited = True
    tags = ("posture-checks",)
    resource = posture_checks
    lookup_url_kwarg = "postureCheckId"
    serializer_class = bodies.PostureCheckSerializer
    request_serializer_class = bodies.PostureCheckRequestSerializer
    update_serializer_class = bodies.PostureCheckUpdateSerializer
