"""Paths of groups."""

from django.urls import path

from groups.api import GroupUsageView, GroupViewSet
from meshmgmt.api.views import ResourceRouter

router = ResourceRouter()
router.register("api/groups", GroupViewSet, "group")

urlpatterns = [
    *router.urls,
    path("api/groups/<str:groupId>/usage", GroupUsageView.as_view()),
]
