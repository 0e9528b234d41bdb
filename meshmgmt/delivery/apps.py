"""Django application of deliveries: events sent on to those who subscribed."""

from meshmgmt.core import rooms


class DeliveryConfig(rooms.Room):
    name = "meshmgmt.delivery"
    verbose_name = "Delivery of events"
