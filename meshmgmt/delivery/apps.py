"""Django application of deliveries: events sent on to those who subscribed."""

from django.apps import AppConfig


class DeliveryConfig(AppConfig):
    name = "meshmgmt.delivery"
    verbose_name = "Delivery of events"
