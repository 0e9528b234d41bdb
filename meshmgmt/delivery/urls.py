"""Paths of subscriptions."""

from meshmgmt.api.views import ResourceRouter
from meshmgmt.delivery.api import SubscriptionViewSet

router = ResourceRouter()
router.register("api/events/subscriptions", SubscriptionViewSet, "subscription")

urlpatterns = router.urls
