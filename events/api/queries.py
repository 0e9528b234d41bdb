"""Query parameters read strictly: a bad value is 400 and names its parameter.

An empty value equals an absent one, enums ignore letter case, dates are ISO 8601 (no weeks)
and mean UTC where they name no zone; `-24h` is a day ago.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final

import django_filters
from django import forms
from django.http import QueryDict
from drf_spectacular.utils import OpenApiParameter

from meshmgmt.core import clock
from meshmgmt.core.durations import UNITS
from meshmgmt.core.errors import BadRequest, FieldError

_DIGITS: Final = re.compile(r"[0-9]+")
_MOST_DIGITS: Final = 18
_AGO: Final = re.compile(r"-([0-9]{1,6})([smhdw])")
# A "+" that nobody escaped arrives as a space.
_LOST_PLUS: Final = re.compile(r"(.+[Tt].+) (\d\d:?\d\d)")


class WholeNumberField(forms.Field):
    """Digits alone.

    forms.IntegerField would also take " 5", "5.0" and digits of other scripts.
    """

    def __init__(
        self,
        *,
        low: int = 0,
        high: int = 2**31 - 1,
        top: int | None = None,
        **extra: Any,
    ) -> None:
        """Accept `low` to `high`; values above `top` are lowered to it."""
        super().__init__(**extra)
        self.low, self.high, self.top = low, high, top

    def to_python(self, value: Any) -> int | None:
        if value in self.empty_values:
            return None
        if not _DIGITS.fullmatch(value):
            raise forms.ValidationError("must be a whole number")
        digits = value.lstrip("0") or "0"
        # Python refuses to read very long numbers; nobody needs their last digits.
        number = int(digits) if len(digits) <= _MOST_DIGITS else 10**_MOST_DIGITS
        if self.top is not None:
            number = min(number, self.top)
        if not self.low <= number <= self.high:
            raise forms.ValidationError(f"must be between {self.low} and {self.high}")
        return number


class EnumField(forms.Field):
    """One of the given words in any letter case; returns what stands for it."""

    def __init__(self, *, words: Mapping[str, Any], **extra: Any) -> None:
        super().__init__(**extra)
        self.words = {word.lower(): meaning for word, meaning in words.items()}
        self.names = list(words)

    def to_python(self, value: Any) -> Any:
        if value in self.empty_values:
            return None
        if value.lower() not in self.words:
            raise forms.ValidationError(f"must be one of {', '.join(self.names)}")
        return self.words[value.lower()]


class InstantField(forms.Field):
    """An ISO 8601 date and time; `end` makes a date alone mean the end of that day."""

    def __init__(self, *, end: bool = False, **extra: Any) -> None:
        super().__init__(**extra)
        self.end = end

    def to_python(self, value: Any) -> datetime | None:
        if value in self.empty_values:
            return None
        try:
            return parse_query_instant(value, end=self.end)
        except (ValueError, OverflowError) as error:
            raise forms.ValidationError("must be an ISO 8601 date and time") from error


def parse_query_instant(text: str, *, end: bool = False) -> datetime:
    """Return the instant a query names. Raises ValueError or OverflowError."""
    if not text.isascii():
        raise ValueError("digits are 0 to 9")
    # Against the clock of the service: that of a browser may be wrong.
    if ago := _AGO.fullmatch(text.lower()):
        return clock.now() - timedelta(seconds=int(ago[1]) * UNITS[ago[2]])
    lost = _LOST_PLUS.fullmatch(text)
    value = (f"{lost[1]}+{lost[2]}" if lost else text).upper()
    if "W" in value:  # which Python takes for its Monday
        raise ValueError("a week is no date")
    try:
        day = date.fromisoformat(value)
    except ValueError:
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is None:
            return moment.replace(tzinfo=UTC)
        return moment.astimezone(UTC)
    return datetime.combine(day, time.max if end else time.min, UTC)


class WholeNumberFilter(django_filters.Filter):
    field_class = WholeNumberField


class EnumFilter(django_filters.Filter):
    field_class = EnumField


class InstantFilter(django_filters.Filter):
    field_class = InstantField


def since(field: str, text: str) -> InstantFilter:
    return InstantFilter(field_name=field, lookup_expr="gte", help_text=text)


def until(field: str, text: str) -> InstantFilter:
    return InstantFilter(field_name=field, lookup_expr="lte", end=True, help_text=text)


class TextField(forms.CharField):
    """A text; PostgreSQL's hold no NUL."""

    def to_python(self, value: Any) -> str:
        text: str = super().to_python(value) or ""
        if "\0" in text:
            raise forms.ValidationError("must not hold a NUL character")
        return text


class TextFilter(django_filters.CharFilter):
    """Equals a text as it was sent; blanks count."""

    field_class = TextField

    def __init__(self, *args: Any, **extra: Any) -> None:
        super().__init__(*args, strip=False, **extra)


def require_valid(*forms_: forms.BaseForm) -> None:
    """Raise BadRequest naming every parameter that is wrong or given twice."""
    errors = [
        FieldError(name, f"{name}: {text}")
        for form in forms_
        for name, texts in faults_of(form).items()
        for text in texts
    ]
    if errors:
        raise BadRequest(errors[0].message, errors)


def faults_of(form: forms.BaseForm) -> dict[str, Any]:
    """Return what is wrong with parameters, those given twice included."""
    return {**form.errors, **_repeated(form)}


def _repeated(form: forms.BaseForm) -> dict[str, list[str]]:
    """Return the parameters that have several values and can hold but one."""
    if not isinstance(form.data, QueryDict):
        return {}
    # Empty ones do not count: browsers send the fields that nobody filled.
    single = (
        name
        for name, field in form.fields.items()
        if not isinstance(field.widget, forms.SelectMultiple)
    )
    return {
        name: ["is given more than once"]
        for name in single
        if len(set(form.data.getlist(name)) - {""}) > 1
    }


def parameters_of(*forms_: Callable[[], Any]) -> list[OpenApiParameter]:
    """Return the OpenAPI parameters of forms and filter sets, from their fields."""
    parameters = []
    for form_class in forms_:
        form = form_class().form if hasattr(form_class, "get_filters") else form_class()
        parameters += [_parameter(name, field) for name, field in form.fields.items()]
    return parameters


def _parameter(name: str, field: forms.Field) -> OpenApiParameter:
    schema: type | dict[str, Any] = str
    enum = None
    if isinstance(field, WholeNumberField):
        schema = int
    elif isinstance(field, InstantField):
        schema = datetime
    elif isinstance(field, EnumField):
        enum = field.names
    return OpenApiParameter(
        name,
        schema,
        description=str(field.help_text),
        enum=enum,
        required=field.required,
    )
