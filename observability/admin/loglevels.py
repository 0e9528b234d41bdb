"""The form that changes the log level of the server, as `manage.py log_level` does."""

import datetime as dt
import time
from dataclasses import dataclass
from typing import Final

from django import forms
from django.conf import settings
from django.core.management.base import CommandError

from events.activities import Activity
from events.audit.emission import audit_record
from meshmgmt.core.account import account_id
from meshmgmt.core.transactions import account_write
from meshmgmt.env import LEVEL_NAMES
from observability.logs import levelcontrol, loglevels
from observability.logs.loglevels import scope_text

DURATIONS: Final = (
    ("10m", "for ten minutes"),
    ("1h", "for an hour"),
    ("24h", "for a day"),
    ("", "until the server starts again"),
)


@dataclass(frozen=True, slots=True)
class Holding:
    """A change that holds now; without `until` it ends when the server starts again."""

    level: str
    scope: str
    until: dt.datetime | None


def holding() -> list[Holding]:
    """Return the changes of the running server's level that hold now."""
    control, now = loglevels.read(settings.SVC.runtime_dir), time.time()
    return [
        Holding(rule.level, scope_text(rule), _moment(rule.expires))
        for rule in control.rules
        if rule.active(now)
    ]


def _moment(seconds: float | None) -> dt.datetime | None:
    return None if seconds is None else dt.datetime.fromtimestamp(seconds, dt.UTC)


class LogLevelForm(forms.Form):
    """A level, for how long, and for what."""

    level = forms.ChoiceField(
        choices=[(name, name) for name in LEVEL_NAMES], initial="debug"
    )
    duration = forms.ChoiceField(
        label="How long", choices=DURATIONS, initial=DURATIONS[0][0], required=False
    )
    logger = forms.CharField(
        required=False, help_text="One part of the code alone, such as dns."
    )
    path = forms.CharField(
        required=False, help_text="Requests for these paths alone, such as /api/dns/*."
    )
    told = ""

    def save(self) -> bool:
        """Carry the change out and record it; return False when it cannot be.

        With `reset` among the data everything is taken back.
        """
        if "reset" in self.data:
            return self._change({"level": levelcontrol.RESET})
        if not self.is_valid():
            return False
        return self._change({k: v for k, v in self.cleaned_data.items() if v})

    def _change(self, chosen: dict[str, str]) -> bool:
        options = dict.fromkeys(("duration", *levelcontrol.SCOPE))
        try:
            with account_write():  # what cannot be recorded is not done
                audit_record(
                    Activity.LOG_LEVEL_UPDATE, target_id=account_id(), meta=dict(chosen)
                )
                lines = levelcontrol.change(settings.SVC, {**options, **chosen})
        except CommandError as error:
            self.full_clean()
            self.add_error(None, str(error))
            return False
        self.told = f"Log level: {'; '.join(lines)}"
        return True
