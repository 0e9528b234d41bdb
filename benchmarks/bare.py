"""A bare Django view with one indexed query, to compare small answers with."""

from typing import Any, Final

from django.http import HttpRequest, JsonResponse
from django.urls import URLPattern, path

from meshmgmt.accounts.models import AccessToken
from meshmgmt.accounts.tokens import token_hash

PATH: Final = "/bare"


def bare(request: HttpRequest) -> JsonResponse:
    """Answer with the token that the request names."""
    _, _, plain = request.headers["Authorization"].partition(" ")
    rows: Any = AccessToken.objects.filter(hash=token_hash(plain))
    response = JsonResponse(rows.values("id", "name", "user_id", "expires_at").get())
    # A middleware would do it; without, the connection is closed after each answer.
    response["Content-Length"] = str(len(response.content))
    return response


urlpatterns: list[URLPattern] = [path(PATH[1:], bare)]
