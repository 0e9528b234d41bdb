"""Paths of this room."""

from django.urls import path

from meshmgmt.access.api.views import invites, networks
from meshmgmt.access.api.views.policies import PolicyViewSet
from meshmgmt.access.api.views.posture import PostureCheckViewSet
from meshmgmt.access.api.views.routes import RouteViewSet
from meshmgmt.access.api.views.setupkeys import SetupKeyViewSet
from meshmgmt.access.invitepage import invite_page
from meshmgmt.api.views import COLLECTION, ResourceRouter

NETWORK = "api/networks/<str:networkId>"

router = ResourceRouter()
router.register("api/policies", PolicyViewSet, "policy")
router.register("api/posture-checks", PostureCheckViewSet, "posture-check")
router.register("api/routes", RouteViewSet, "route")
router.register("api/setup-keys", SetupKeyViewSet, "setup-key")
router.register("api/networks", networks.NetworkViewSet, "network")
router.register(
    f"{NETWORK}/resources", networks.NetworkResourceViewSet, "network-resource"
)
router.register(f"{NETWORK}/routers", networks.NetworkRouterViewSet, "network-router")

urlpatterns = [
    path("invite/<str:token>", invite_page, name="invite-page"),
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
    # Before the networks, whose ids stand in the same place.
    path("api/networks/resources", networks.AllResourcesView.as_view()),
    path("api/networks/routers", networks.AllRoutersView.as_view()),
    *router.urls,
]
