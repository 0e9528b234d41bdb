"""Paths of the accounts room."""

from typing import Any

from django.urls import path

from meshmgmt.accounts.api import instance, views
from meshmgmt.accounts.oidc import adminlogin
from meshmgmt.accounts.setup.views import SetupView, setup_page
from meshmgmt.api.views import COLLECTION, ResourceRouter

TOKEN: dict[str, Any] = {"get": "retrieve", "delete": "destroy"}
TOKENS = "api/users/<str:userId>/tokens"

router = ResourceRouter()
router.register("api/users", views.UserViewSet, "user")

urlpatterns = [
    path("oidc/login", adminlogin.begin, name="oidc-login"),
    path("oidc/callback", adminlogin.callback, name="oidc-callback"),
    path("setup", setup_page, name="setup"),
    path("api/instance", instance.InstanceView.as_view()),
    path("api/instance/version", instance.VersionView.as_view()),
    path("api/setup", SetupView.as_view()),
    path("api/identity-providers", instance.IdentityProvidersView.as_view()),
    path("api/identity-providers/<str:idpId>", instance.IdentityProviderView.as_view()),
    path("api/locations/countries", instance.CountriesView.as_view()),
    path("api/locations/countries/<str:country>/cities", instance.CitiesView.as_view()),
    path("api/accounts", views.AccountsView.as_view()),
    path("api/accounts/<str:accountId>", views.AccountView.as_view()),
    # Before those of the router, which would take the word for an id.
    path("api/users/current", views.CurrentUserView.as_view()),
    path(TOKENS, views.TokensViewSet.as_view(COLLECTION)),
    path(f"{TOKENS}/<str:tokenId>", views.TokensViewSet.as_view(TOKEN)),
    *router.urls,
]
