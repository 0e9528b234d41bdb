"""The admin's page that takes an event of the audit trail back."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from events.admin.changetable import change_table, mentioned_ids
from events.admin.objectpages import ObjectPages, kind_of
from events.audit.reading import event_by_id, events_of_request
from events.audit.specs import member_events
from events.models import AuditEvent
from meshmgmt.accounts.authority import viewer_of
from meshmgmt.adminsite.site import page
from meshmgmt.api.permissions import check_page
from meshmgmt.api.plans import Plan
from meshmgmt.core.errors import ServiceError
from meshmgmt.core.printable import counted
from meshmgmt.history.reverting import Reversal
from meshmgmt.plans.planner import carried_out

MOVED = "Something else would be done by now than what was shown: look at it again."


def revert_page(request: HttpRequest, event_id: str) -> HttpResponse:
    """Show what taking an event, or all of its request, back does; then do just that."""
    check_page(request, "events")
    user = viewer_of(request)
    event = event_by_id(event_id)
    asked = request.POST or request.GET
    request_events = events_of_request(event)
    whole = "whole" in asked or ("alone" not in asked and _went_with_others(event))
    others = request_events.count() - 1
    # What was looked at is carried out, or nothing: the form sends back which plan it was.
    seen = request.POST.get("plan", "")

    def agreed(plan: Plan) -> bool:
        return plan.digest == seen

    refusal, plan = "", None
    try:
        reversal = Reversal(request_events if whole else [event])
        plan = carried_out(lambda: reversal.carry_out(user), agreed)
    except ServiceError as error:
        refusal = error.message
    if plan is not None and agreed(plan):
        messages.success(
            request, f"Taken back: {counted(others + 1 if whole else 1, 'event')}."
        )
        back = reverse("admin:events_auditevent_changelist")
        return HttpResponseRedirect(back)
    if seen and plan is not None:
        messages.warning(request, MOVED)
    facts = {
        "event": event,
        "whole": whole,
        "others": others,
        "refusal": refusal,
        "plan": plan,
        "lines": [] if plan is None else _lines(request, plan),
    }
    return page(request, "admin/history/revert.html", "Take back", facts)


def _went_with_others(event: AuditEvent) -> bool:
    """Tell whether an object went, from whose lists and users it was taken first."""
    code = event.activity_code
    return code.endswith(".delete") and code not in member_events()


def _lines(request: HttpRequest, plan: Plan) -> list[dict[str, Any]]:
    objects = plan.shown["objects"]
    known = ObjectPages(request).of_ids(mentioned_ids([x["changes"] for x in objects]))
    return [
        {
            **done,
            "kind": kind_of(done["type"]),
            "table": change_table(done["changes"], known),
        }
        for done in objects
    ]
