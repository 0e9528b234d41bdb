"""Paths of the inventory."""

from django.urls import path

from meshmgmt.inventory.api import PeersView, PeerView

urlpatterns = [
    path("api/peers", PeersView.as_view(), name="peers"),
    path("api/peers/<str:peerId>", PeerView.as_view(), name="peer"),
]
