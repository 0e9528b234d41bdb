"""The service's settings with one more path: an answer of 50 MB."""

from collections.abc import Callable
from typing import Final

from django.http import HttpRequest, HttpResponse

from meshmgmt.settings import *  # noqa: F403 - the same settings is the point
from meshmgmt.settings import MIDDLEWARE

MIDDLEWARE = [f"{__name__}.big_answers", *MIDDLEWARE]
SIZE: Final = 50 * 10**6

GetResponse = Callable[[HttpRequest], HttpResponse]


def big_answers(get_response: GetResponse) -> GetResponse:
    """Answer `/big` with 50 MB."""

    def answer(request: HttpRequest) -> HttpResponse:
        if request.path != "/big":
            return get_response(request)
        return HttpResponse(b"x" * SIZE, headers={"Content-Length": str(SIZE)})

    return answer
