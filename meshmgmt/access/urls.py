"""Paths of this room."""

from django.urls import path

from meshmgmt.access.api import views
from meshmgmt.access.invitepage import invite_page
from meshmgmt.api.views import COLLECTION, ResourceRouter

NETWORK = "api/networks/<str:networkId>"

router = ResourceRouter()
router.register("api/policies", views.PolicyViewSet, "policy")
router.register("api/posture-checks", views.PostureCheckViewSet, "posture-check")
router.register("api/routes", views.RouteViewSet, "route")
router.register("api/setup-keys", views.SetupKeyViewSet, "setup-key")
router.register("api/networks", views.NetworkViewSet, "network")
router.register(
    f"{NETWORK}/resources", views.NetworkResourceViewSet, "network-resource"
)
router.register(f"{NETWORK}/routers", views.NetworkRouterViewSet, "network-router")

urlpatterns = [
    path("invite/<str:token>", invite_page, name="invite-page"),
    path("api/users/invites", views.InviteViewSet.as_view(COLLECTION)),
    path("api/users/invites/<str:inviteId>", views.InviteView.as_view(), name="invite"),
    path(
        "api/users/invites/<str:inviteId>/regenerate",
        views.InviteRegenerationView.as_view(),
    ),
    path(
        "api/users/invites/<str:inviteToken>/accept",
        views.InviteAcceptanceView.as_view(),
    ),
    # Before the networks, whose ids stand in the same place.
    path("api/networks/resources", views.AllResourcesView.as_view()),
    path("api/networks/routers", views.AllRoutersView.as_view()),
    *router.urls,
]
