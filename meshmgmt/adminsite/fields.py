"""Form fields of the admin site for what our objects hold: texts, ordered lists."""

import re
from collections.abc import Iterable
from typing import Any, Final

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import AutocompleteSelectMultiple
from django.db import models
from django.forms.boundfield import BoundField

from meshmgmt.core.durations import total, words

_ONE_LINE: Final = {"text", "search", "tel", "url", "email", "password"}
_TRIMMED: Final = {"url", "email"}
_BLANKS: Final = "\t\n\f\r "


def as_sent(widget: forms.Widget, text: str) -> str:
    """Return what a browser sends of a text that a page shows, with `\\n` for line ends.

    Inputs of one line lose line breaks, some the blanks at both ends: see "value
    sanitization algorithm" in the HTML standard.
    """
    kind = getattr(widget, "input_type", "")
    text = _with_line_feeds(text)
    if kind in _ONE_LINE:
        text = text.replace("\n", "")
    return text.strip(_BLANKS) if kind in _TRIMMED else text


def _with_line_feeds(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


class KeptField(BoundField):
    """A field of a form: what it shows stays to the letter unless somebody edits it."""

    @property
    def data(self) -> Any:
        """Return what was meant by what a browser sent."""
        sent = super().data
        if not isinstance(sent, str):
            return sent
        widget, shown = self.field.widget, self.field.prepare_value(self.initial)
        if isinstance(shown, str) and as_sent(widget, shown) == as_sent(widget, sent):
            return self.untouched
        return _with_line_feeds(sent)

    @property
    def untouched(self) -> Any:
        """Return what the field means while nobody edits it: lists are not their text."""
        if isinstance(self.field, LinesField):
            return self.initial
        return self.field.prepare_value(self.initial)


class OrderedAutocomplete(AutocompleteSelectMultiple):
    """Chosen objects in the order of the list, further ones looked up as one types."""

    def optgroups(self, name: str, value: Any, attrs: Any = None) -> Any:
        """Return the chosen options in the order of `value`."""
        groups = super().optgroups(name, value, attrs)
        # Django has them in the order of its query.
        place = {str(key): number for number, key in enumerate(value)}
        for _, options, _ in groups:
            options.sort(key=lambda option: place.get(str(option["value"]), -1))
        return groups


class OrderedListField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]
    """An ordered list of objects, given and returned as keys.

    Whether the objects exist is left to the service, which says so as in the API.
    `column` is a foreign key of the rows that hold the list; the pages of the objects it
    points at must have `search_fields`.
    """

    def __init__(self, column: "models.Field[Any, Any]", **kwargs: Any) -> None:
        assert isinstance(column, models.ForeignKey)
        kwargs.setdefault("required", False)
        super().__init__(
            queryset=column.remote_field.model._default_manager.all(),
            widget=OrderedAutocomplete(column, admin.site),
            **kwargs,
        )

    def clean(self, value: Any) -> Any:
        """Return the keys in the order sent, repeats folded."""
        return list(dict.fromkeys(str(key) for key in value or []))

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Tell whether another list was sent; another order is another list."""
        before = [str(key) for key in initial or []]
        # Django compares sets; here another order is another list.
        return not self.disabled and before != [str(key) for key in data or []]


class DurationField(forms.CharField):
    """A length of time in words, given and returned as a number of `unit` seconds.

    A number alone counts these units.
    """

    def __init__(self, *, unit: int = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.unit = unit

    def prepare_value(self, value: Any) -> Any:
        """Return a number in words; what was typed stays as it is."""
        return words(value * self.unit) if isinstance(value, int) and value else value

    def clean(self, value: Any) -> Any:
        """Return the number. Raises ValidationError for other texts, and for parts."""
        text = super().clean(value).strip()
        # As long as the numbers beside a unit: Python reads no number of any length.
        if re.fullmatch(r"-?\d{1,10}", text):
            return int(text)
        try:
            number, rest = divmod(total(text), self.unit)
        except ValueError as error:
            raise forms.ValidationError(str(error)) from error
        if rest:
            raise forms.ValidationError(f"must be a multiple of {words(self.unit)}")
        return number

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Tell whether another length was sent, in whatever words."""
        try:
            return bool(self.clean(data) != initial)
        except forms.ValidationError:
            return True


class LinesField(forms.CharField):
    """A list of texts, one per line; blank lines do not count.

    Of a list of something else a subclass overrides `shown` and `read`.
    """

    widget = forms.Textarea(attrs={"rows": 4, "cols": 60})

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("required", False)
        super().__init__(**kwargs)

    def shown(self, item: Any) -> str:
        """Return the line that shows an item."""
        return str(item)

    def read(self, line: str) -> Any:
        """Return the item that a line is about. Raises ValidationError for others."""
        return line

    def prepare_value(self, value: Any) -> Any:
        """Return the lines as one text."""
        return value if _is_text(value) else "\n".join(map(self.shown, value))

    def clean(self, value: Any) -> list[Any]:
        """Return the items of the lines, trimmed; a list that was kept, as it is."""
        if not _is_text(value):
            return list(value)
        return [self.read(line) for line in _lines(super().clean(value))]

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Tell whether other lines were sent."""
        before = list(map(self.shown, initial or ()))
        return _is_text(data) and before != list(_lines(data or ""))


def _is_text(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _lines(text: str) -> Iterable[str]:
    return filter(None, (line.strip() for line in text.splitlines()))
