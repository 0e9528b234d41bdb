"""Paths of the accounts room."""

from typing import Any

from django.urls import path

from meshmgmt.accounts.api.views import (
    AccountsView,
    CurrentUserView,
    TokensViewSet,
    UsersView,
)
from meshmgmt.api.views import COLLECTION

TOKEN: dict[str, Any] = {"get": "retrieve", "delete": "destroy"}

urlpatterns = [
    path("api/accounts", AccountsView.as_view()),
    path("api/users", UsersView.as_view()),
    path("api/users/current", CurrentUserView.as_view()),
    path("api/users/<str:userId>/tokens", TokensViewSet.as_view(COLLECTION)),
    path("api/users/<str:userId>/tokens/<str:tokenId>", TokensViewSet.as_view(TOKEN)),
]
