"""Paths of access tests."""

from meshmgmt.accesstests.api import AccessTestViewSet
from meshmgmt.api.views import ResourceRouter

router = ResourceRouter()
router.register("api/access-tests", AccessTestViewSet, "access-test")

urlpatterns = router.urls
