"""What others change while somebody looks at a form of the admin site.

A page carries a mark of each field's value when it was made. When it comes back, fields
that others changed meanwhile and the page did not are left as they are now; a field that
both changed is refused.
"""

import hashlib
import json
from typing import Any

from django import forms

from meshmgmt.adminsite.fields import as_sent
from meshmgmt.adminsite.trail import trails


def marks(form: forms.BaseForm) -> dict[str, str]:
    """Return a mark of the value that each field of an unchanged form sends."""
    return {
        name: _mark(field, _shown(form, name))
        for name, field in form.fields.items()
        if not field.disabled
    }


def written(found: dict[str, str]) -> str:
    """Return marks as a hidden input carries them."""
    return json.dumps(found, separators=(",", ":"))


def take_over(form: forms.BaseForm, now: Any, sent: str) -> list[str]:
    """Bring `cleaned_data` up to what others changed since the marks `sent` were made.

    `now` is an unbound form of the object as it is stored. Returns the names of the
    fields that the page changed too. Unreadable marks say nothing.
    """
    seen = _read(sent)
    both = []
    stored = marks(now)
    for name in stored.keys() & seen.keys():
        if stored[name] == seen[name]:
            continue
        mine = _mark_sent(form, name)
        # Untouched here: what others made of it holds.
        if mine == seen[name]:
            form.cleaned_data[name] = form.fields[name].clean(now[name].untouched)
        elif mine != stored[name]:
            both.append(name)
    return sorted(both)


def untouched(form: forms.BaseForm, sent: str) -> bool:
    """Tell whether a form came back with the values that the marks `sent` are of."""
    seen = _read(sent)
    # Those that a set of forms adds are none of the object.
    names = seen.keys() & form.base_fields.keys()  # type: ignore[attr-defined]
    return bool(names) and all(_mark_sent(form, name) == seen[name] for name in names)


def renewed(now: forms.BaseForm, sent: str, names: list[str]) -> str:
    """Return the marks that a page sent, with new ones of the fields named."""
    stored = marks(now)
    return written(json.loads(sent) | {name: stored[name] for name in names})


def refusal(form: forms.BaseForm, key: str) -> str:
    """Return what a page says above its fields when some were changed on both sides."""
    who = trails.only.last_change(key)
    return (
        f"changed meanwhile{f' by {who}' if who else ''}: the fields marked below show"
        " your version; save again to keep it, or open the page anew to see theirs"
    )


def _read(sent: str) -> dict[str, Any]:
    try:
        seen = json.loads(sent)
    except (ValueError, RecursionError):  # the latter for what nests deeply
        return {}
    return seen if isinstance(seen, dict) else {}


def _mark_sent(form: forms.BaseForm, name: str) -> str:
    field = form.fields[name]
    return _mark(field, field.prepare_value(form[name].data))


def _shown(form: forms.BaseForm, name: str) -> Any:
    field = form.fields[name]
    return field.prepare_value(form.get_initial_for_field(field, name))


def _mark(field: forms.Field, value: Any) -> str:
    # Enough to see a difference; whoever forges one only fools themselves.
    text = _text(field.widget, value)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _text(widget: forms.Widget, value: Any) -> str:
    """Return a value as its widget sends it."""
    if isinstance(value, list | tuple):
        return "\0".join(_text(widget, each) for each in value)
    if value is None or value is False:
        return ""
    if value is True:
        return "on"
    return as_sent(widget, str(value))
