"""Content negotiation: JSON in and out, whatever the headers say."""

from collections.abc import Iterable
from typing import Any

from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request


class Negotiation(BaseContentNegotiation):
    """Takes any body but multipart as JSON; `Accept` chooses among export formats.

    A view that exports lists further renderers; each is chosen only when its media type
    stands in `Accept` literally.
    """

    def select_parser(
        self, request: Request, parsers: Iterable[BaseParser]
    ) -> BaseParser | None:
        """Return the JSON parser, None (415) for multipart."""
        if (request.content_type or "").lower().startswith("multipart/"):
            return None
        return next(iter(parsers))

    def select_renderer(
        self,
        request: Request,
        renderers: Iterable[BaseRenderer],
        format_suffix: str | None = None,
    ) -> tuple[BaseRenderer, str]:
        """Return the renderer and its media type."""
        choices: list[Any] = list(renderers)
        wanted = {
            part.split(";")[0].strip().lower()
            for part in request.headers.get("Accept", "").split(",")
        }
        for renderer in choices[1:]:
            if renderer.media_type in wanted:
                return renderer, renderer.media_type
        return choices[0], choices[0].media_type
