"""Paths of groups."""

from django.urls import path

from groups.api.views import GroupUsageView, GroupViewSet
from meshmgmt.api.views import COLLECTION, MEMBER

urlpatterns = [
    path("api/groups", GroupViewSet.as_view(COLLECTION), name="groups"),
    path("api/groups/<str:groupId>", GroupViewSet.as_view(MEMBER), name="group"),
    path(
        "api/groups/<str:groupId>/usage", GroupUsageView.as_view(), name="group-usage"
    ),
]
