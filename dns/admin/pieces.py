"""Deletions of many records at once: most go before the page's transaction begins."""

from collections.abc import Sequence
from typing import Any

from django.contrib.admin.utils import unquote
from django.http import HttpRequest, HttpResponse

from meshmgmt.adminsite.pages import ServiceAdmin


class PiecesAdmin(ServiceAdmin):
    """Pages whose deletions may be too large for one transaction."""

    def thin_out(self, ids: Sequence[str]) -> None:
        """Delete in pieces until few enough are left for one transaction."""
        raise NotImplementedError

    def large_deletion(self, ids: Sequence[str]) -> list[str]:
        """Say what goes, a line each; nothing where the deletion can be tried."""
        raise NotImplementedError

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Tell what goes; of much of it only how much, without trying it."""
        chosen = list(objs)
        lines = self.large_deletion([each.pk for each in chosen])
        if not lines:
            return super().get_deleted_objects(chosen, request)
        return lines, {str(self.opts.verbose_name_plural): len(chosen)}, set(), []

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: Any = None
    ) -> HttpResponse:
        # Asked here too: Django asks when the pieces would be gone.
        if request.method == "POST" and self.has_delete_permission(request):
            self.thin_out([unquote(object_id)])
        return super().delete_view(request, object_id, extra_context)

    def changelist_view(
        self, request: HttpRequest, extra_context: Any = None
    ) -> HttpResponse:
        sent = request.POST
        confirmed = sent.get("action") == "delete_selected" and sent.get("post")
        if confirmed and self.has_delete_permission(request):
            self.thin_out(sent.getlist("_selected_action"))
        return super().changelist_view(request, extra_context)
