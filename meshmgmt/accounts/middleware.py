"""What the admin site asks of people who signed in with a one-time password."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from meshmgmt.accounts.models import User
from meshmgmt.api.pages import admin_site

GetResponse = Callable[[HttpRequest], HttpResponse]


class TemporaryPasswordMiddleware:
    """Lets nobody past the first sign-in before they have chosen a password."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Lead pages of the admin site to the one that changes the password."""
        if request.path.startswith(admin_site()):
            user = request.user
            if isinstance(user, User) and user.password_is_temporary:
                change = reverse("admin:password_change")
                allowed = (change, reverse("admin:logout"), reverse("admin:jsi18n"))
                if request.path not in allowed:
                    return HttpResponseRedirect(change)
        return self.get_response(request)
