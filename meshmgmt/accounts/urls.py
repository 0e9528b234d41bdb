"""Paths of the accounts room."""

from typing import Any

from django.urls import path

from meshmgmt.accounts.api import instance, providers
from meshmgmt.accounts.api.views import (
    AccountsView,
    AccountView,
    CurrentUserView,
    PasswordView,
    TokensViewSet,
    UserApprovalView,
    UserInvitationView,
    UserRejectionView,
    UserViewSet,
)
from meshmgmt.accounts.oidc import adminlogin
from meshmgmt.accounts.setup.page import setup_page
from meshmgmt.accounts.setup.views import SetupView
from meshmgmt.api.views import COLLECTION, MEMBER

TOKEN: dict[str, Any] = {"get": "retrieve", "delete": "destroy"}
USER = "api/users/<str:userId>"

urlpatterns = [
    path("oidc/login", adminlogin.begin, name="oidc-login"),
    path("oidc/callback", adminlogin.callback, name="oidc-callback"),
    path("setup", setup_page, name="setup"),
    path("api/instance", instance.InstanceView.as_view()),
    path("api/instance/version", instance.VersionView.as_view()),
    path("api/setup", SetupView.as_view()),
    path("api/identity-providers", providers.IdentityProvidersView.as_view()),
    path(
        "api/identity-providers/<str:idpId>", providers.IdentityProviderView.as_view()
    ),
    path("api/locations/countries", instance.CountriesView.as_view()),
    path("api/locations/countries/<str:country>/cities", instance.CitiesView.as_view()),
    path("api/accounts", AccountsView.as_view()),
    path("api/accounts/<str:accountId>", AccountView.as_view()),
    path("api/users", UserViewSet.as_view(COLLECTION)),
    path("api/users/current", CurrentUserView.as_view()),
    path(USER, UserViewSet.as_view(MEMBER)),
    path(f"{USER}/approve", UserApprovalView.as_view()),
    path(f"{USER}/invite", UserInvitationView.as_view()),
    path(f"{USER}/password", PasswordView.as_view()),
    path(f"{USER}/reject", UserRejectionView.as_view()),
    path(f"{USER}/tokens", TokensViewSet.as_view(COLLECTION)),
    path(f"{USER}/tokens/<str:tokenId>", TokensViewSet.as_view(TOKEN)),
]
