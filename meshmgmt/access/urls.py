"""Paths of this room."""

from django.urls import path

from meshmgmt.access.api.views import invites, networks
from meshmgmt.access.api.views.peers import AccessiblePeersView
from meshmgmt.access.api.views.policies import PolicyViewSet
from meshmgmt.access.api.views.posture import PostureCheckViewSet
from meshmgmt.access.api.views.routes import RouteViewSet
from meshmgmt.access.api.views.setupkeys import SetupKeyViewSet
from meshmgmt.api.views import COLLECTION, MEMBER

NETWORKS = "api/networks"
NETWORK = f"{NETWORKS}/<str:networkId>"
RESOURCES = networks.NetworkResourceViewSet
ROUTERS = networks.NetworkRouterViewSet

urlpatterns = [
    path("api/users/invites", invites.InviteViewSet.as_view(COLLECTION)),
    path(
        "api/users/invites/<str:inviteId>", invites.InviteView.as_view(), name="invite"
    ),
    path(
        "api/users/invites/<str:inviteId>/regenerate",
        invites.InviteRegenerationView.as_view(),
    ),
    path(
        "api/users/invites/<str:inviteToken>/accept",
        invites.InviteAcceptanceView.as_view(),
    ),
    path("api/peers/<str:peerId>/accessible-peers", AccessiblePeersView.as_view()),
    path("api/policies", PolicyViewSet.as_view(COLLECTION)),
    path("api/policies/<str:policyId>", PolicyViewSet.as_view(MEMBER)),
    path("api/posture-checks", PostureCheckViewSet.as_view(COLLECTION)),
    path(
        "api/posture-checks/<str:postureCheckId>", PostureCheckViewSet.as_view(MEMBER)
    ),
    path("api/routes", RouteViewSet.as_view(COLLECTION)),
    path("api/routes/<str:routeId>", RouteViewSet.as_view(MEMBER)),
    path("api/setup-keys", SetupKeyViewSet.as_view(COLLECTION)),
    path("api/setup-keys/<str:keyId>", SetupKeyViewSet.as_view(MEMBER)),
    path(NETWORKS, networks.NetworkViewSet.as_view(COLLECTION)),
    path(f"{NETWORKS}/resources", networks.AllResourcesView.as_view()),
    path(f"{NETWORKS}/routers", networks.AllRoutersView.as_view()),
    path(NETWORK, networks.NetworkViewSet.as_view(MEMBER)),
    path(f"{NETWORK}/resources", RESOURCES.as_view(COLLECTION)),
    path(f"{NETWORK}/resources/<str:resourceId>", RESOURCES.as_view(MEMBER)),
    path(f"{NETWORK}/routers", ROUTERS.as_view(COLLECTION)),
    path(f"{NETWORK}/routers/<str:routerId>", ROUTERS.as_view(MEMBER)),
]
