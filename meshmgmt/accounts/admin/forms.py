"""Base of admin pages whose services ask who writes."""

from typing import Any

from django.http import HttpRequest

from meshmgmt.accounts.authority import viewer_of
from meshmgmt.accounts.models import User
from meshmgmt.adminsite.pages import ServiceAdmin, ServiceForm


class ByForm(ServiceForm):
    """A form that knows who sends it; the admin sets `by` on its class per request."""

    by: User


class ByAdmin(ServiceAdmin):
    def get_form(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Return the form, told who uses it."""
        form: Any = super().get_form(request, *args, **kwargs)
        # Nobody else's: Django makes a class of the form for each request.
        form.by = viewer_of(request)
        return form
