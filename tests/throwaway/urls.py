from django.urls import include, path

from meshmgmt import urls
from meshmgmt.api.views import ResourceRouter
from tests.throwaway.api import ThingViewSet

router = ResourceRouter()
router.register("api/things", ThingViewSet, "thing")

urlpatterns = [path("", include(router.urls)), *urls.urlpatterns]
