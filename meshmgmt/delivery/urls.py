"""Paths of subscriptions."""

from django.urls import path

from meshmgmt.api.views import ResourceRouter
from meshmgmt.delivery.api import views

SUBSCRIPTIONS = "api/events/subscriptions"
_ONE = f"{SUBSCRIPTIONS}/<str:subscriptionId>"

router = ResourceRouter()
router.register(SUBSCRIPTIONS, views.SubscriptionViewSet, "subscription")

urlpatterns = [
    path(f"{_ONE}/state", views.StateView.as_view()),
    path(f"{_ONE}/dead-letters", views.DeadLettersView.as_view()),
    path(f"{_ONE}/replay", views.ReplayView.as_view()),
    path(f"{_ONE}/test", views.TestView.as_view()),
    *router.urls,
]
