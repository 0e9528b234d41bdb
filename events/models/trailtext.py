"""The searchable text of an audit event, worked out when the row is written."""

from typing import Any, Final

from django.db import models

from events.activities import Activity
from events.streams.search import search_text

# Enumerations answer `values` and `choices` by going through all members.
_LABELS: Final = {activity.value: str(activity.label) for activity in Activity}


def trail_text(event: Any) -> str:
    """Return what a search finds an audit event by: who, what, on what, from where."""
    code = str(event.activity_code)
    return search_text(
        (
            code,
            _LABELS.get(code, ""),
            event.initiator_id,
            event.initiator_name,
            event.initiator_email,
            event.target_id,
            *(str(value) for value in event.meta.values()),
            event.source_address,
            event.request_id,
        )
    )


class TrailTextField(models.TextField):  # type: ignore[type-arg]  # not at run time
    """Fills itself on every way of writing, bulk inserts included."""

    def pre_save(self, model_instance: models.Model, add: bool) -> str:
        """Return the text to store."""
        text = trail_text(model_instance)
        setattr(model_instance, self.attname, text)
        return text
