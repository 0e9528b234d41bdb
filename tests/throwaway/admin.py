from django.contrib import admin

from meshmgmt.adminsite.bulk import SWITCH
from meshmgmt.adminsite.fields import OrderedListField
from meshmgmt.adminsite.pages import ServiceAdmin, ServiceForm
from tests.throwaway.models import Thing, ThingGroup
from tests.throwaway.services import things


class ThingForm(ServiceForm):
    resource = things

    groups = OrderedListField(ThingGroup._meta.get_field("group"))


@admin.register(Thing)
class ThingAdmin(ServiceAdmin):
    form = ThingForm
    list_display = ["name", "enabled"]
    readonly_fields = ["id"]
    bulk = SWITCH
