"""Pages of posture checks."""

from dataclasses import replace
from typing import Any

from django import forms
from django.contrib import admin
from rest_framework.exceptions import ValidationError

from meshmgmt.access.api.serializers.posture import ChecksSerializer
from meshmgmt.access.models import PostureCheck
from meshmgmt.access.rules.posture import PostureDraft
from meshmgmt.access.services.posture import (
    posture_check_create,
    posture_check_delete,
    posture_check_update,
)
from meshmgmt.api.admin import ServiceAdmin, ServiceForm
from meshmgmt.api.exceptions import describe
from meshmgmt.core.errors import ServiceError

_EXAMPLE = (
    "JSON, the kinds of check as in the API, such as"
    ' {"nb_version_check": {"min_version": "1.2.0"}}'
)


class ChecksField(forms.JSONField):
    """The object `checks` of the API, its types checked as there."""

    widget = forms.Textarea(attrs={"rows": 12, "cols": 80})

    def clean(self, value: Any) -> Any:
        """Return the object. Raises ValidationError with the place in it."""
        serializer = ChecksSerializer(data=super().clean(value) or {})
        try:
            serializer.is_valid(raise_exception=True)
        except ValidationError as error:
            _, message, faults = describe(error)
            texts = [fault.message for fault in faults]  # with their places
            raise forms.ValidationError(texts or [message]) from error
        return serializer.validated_data


class PostureCheckForm(ServiceForm):
    name = forms.CharField(required=False, strip=False)
    checks = ChecksField(required=False, help_text=_EXAMPLE)

    class Meta:
        model = PostureCheck
        fields = ["name", "description", "checks"]

    def apply(self, data: dict[str, Any]) -> PostureCheck:
        try:
            if self.adding:
                return posture_check_create(draft=PostureDraft(**data))
            return posture_check_update(check_id=self.instance.pk, changes=data)
        except ServiceError as error:
            raise _with_places(error) from error


def _with_places(error: ServiceError) -> ServiceError:
    """Return the error with the place in `checks` in its texts: the form has one field."""
    faults = []
    for fault in error.errors:
        place = fault.field.removeprefix("checks.")
        text = fault.message if place == fault.field else f"{place}: {fault.message}"
        faults.append(replace(fault, message=text))
    return ServiceError(error.message, faults)


@admin.register(PostureCheck)
class PostureCheckAdmin(ServiceAdmin):
    form = PostureCheckForm
    list_display = ["name", "description", "created_at"]
    search_fields = ["name", "description", "=id"]
    ordering = ["id"]
    readonly_fields = ["id", "created_at"]

    def delete_object(self, instance: PostureCheck) -> None:
        posture_check_delete(check_id=instance.pk)
