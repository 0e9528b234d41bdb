"""Paths of this room."""

from django.urls import path

from meshmgmt.access.api.views.policies import PolicyViewSet
from meshmgmt.api.views import COLLECTION, MEMBER

urlpatterns = [
    path("api/policies", PolicyViewSet.as_view(COLLECTION)),
    path("api/policies/<str:policyId>", PolicyViewSet.as_view(MEMBER)),
]
