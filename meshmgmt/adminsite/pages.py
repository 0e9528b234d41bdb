"""Base of the admin site's pages: forms that write through services.

The service runs while the form is validated, so what it refuses is shown at the fields,
in the words of the API. A page that is shown again for any reason has written nothing.
"""

import re
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, ClassVar, Final

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.options import IS_POPUP_VAR
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db import models, transaction
from django.forms.utils import pretty_name
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseRedirect,
)
from django.urls import path, reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString

from meshmgmt.adminsite import bulk, home, menu, stale, trail
from meshmgmt.adminsite.bulk import BulkAction
from meshmgmt.adminsite.fields import KeptField
from meshmgmt.adminsite.lists import ListAdmin
from meshmgmt.adminsite.look import spelt
from meshmgmt.adminsite.parts import part_asked
from meshmgmt.core.errors import ServiceError
from meshmgmt.core.orderedlinks import member_keys
from meshmgmt.core.resources import Resource, lists, whole_of
from meshmgmt.core.transactions import account_write

_CHECKBOX: Final = (
    '<input type="checkbox" name="{}" value="{}" class="action-select"'
    ' aria-label="Select this object for an action - {}">'
)


def refused(page: Any, request: HttpRequest, obj: Any = None) -> bool:
    """Stand for a permission that nobody has on a page."""
    return False


def _has_ends(value: Any) -> bool:
    """Tell whether a value is a text with blanks at its ends."""
    return isinstance(value, str) and value != value.strip()


class ServiceForm(forms.ModelForm):  # type: ignore[type-arg]  # not at run time
    """A form that writes through a `resource`, or whose `apply()` calls a service.

    Fields are checked by the form as usual (types, choices); everything else by the
    service. `field_names` maps field names of the API to those of the form where they
    differ. With a `resource` the page has all columns that clients write, in the order of
    the model, and the fields that the form declares, which are those of lists and what is
    special.
    """

    field_names: dict[str, str] = {}
    resource: "ClassVar[Resource[Any] | None]" = None
    bound_field_class = KeptField
    reads_lists = False
    """Whether the form itself reads the lists that it shows."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        own: Any = type(self.instance)
        listed = {} if self.adding or self.reads_lists else lists(own)
        for name in listed.keys() & self.fields.keys():
            self.initial.setdefault(name, member_keys(listed[name], self.instance))
        if "description" in self.fields:  # of whatever it is: it may have lines
            self.fields["description"].widget = forms.Textarea(attrs={"rows": 2})
        for name, field in self.fields.items():
            # What was stored with blanks at its ends may have them.
            if isinstance(field, forms.CharField) and _has_ends(self.initial.get(name)):
                field.strip = False

    @property
    def adding(self) -> bool:
        """Whether the object is new; ids are given early, so they do not tell."""
        return bool(self.instance._state.adding)

    @property
    def seen(self) -> str:
        """Marks of what the page shows, for the page to send back."""
        sent = str(self.data.get(self.add_prefix("seen"), ""))
        # A page that is shown again keeps its marks: they are of what the viewer saw.
        return sent or ("" if self.adding else stale.written(stale.marks(self)))

    def apply(self, data: dict[str, Any]) -> models.Model:
        """Call the service with the cleaned `data` and return what it wrote."""
        resource: Any = self.resource
        assert resource is not None
        if not self.adding:
            written: models.Model = resource.update(self.instance.pk, data)
            return written
        key = whole_of(resource.model)
        whole = data.get(key.name, "") if key else ""
        made: models.Model = resource.create(data, str(getattr(whole, "pk", whole)))
        return made

    def _post_clean(self) -> None:
        """Write, instead of checking the model: the service knows the rules."""
        if self.errors:
            return
        try:
            with account_write():  # nobody changes anything after the comparison
                if self.up_to_date():
                    written = self.apply(self.cleaned_data)
                    # The same object stays: inline forms have been told of it already.
                    vars(self.instance).update(vars(written))
        except ServiceError as error:
            self.show(error)

    def up_to_date(self) -> bool:
        """Take over what others changed; return False when both sides changed a field.

        The page is shown again with new marks of it then: saving it again means it.
        """
        name = self.add_prefix("seen")
        sent = self.data.get(name, "")
        stored = (
            type(self.instance)._default_manager.filter(pk=self.instance.pk).first()
        )
        # One that is gone is the service's to refuse.
        if not sent or self.adding or stored is None:
            return True
        now = self.of_stored(stored)
        both = stale.take_over(self, now, sent)
        for field in both:
            self.add_error(field, "somebody else changed it meanwhile")
        if both:
            self.add_error(None, stale.refusal(self, str(self.instance.pk)))
            data = self.data.copy()  # type: ignore[attr-defined]  # of a request
            data[name] = stale.renewed(now, sent, both)
            self.data = data
        return not both

    def of_stored(self, stored: models.Model) -> "ServiceForm":
        """Return the form of an object as it is stored, to compare with."""
        return type(self)(instance=stored)

    def show(self, error: ServiceError) -> None:
        """Say what a service refuses, at the fields where it names them."""
        for fault in error.errors:
            name = re.split(r"[.\[]", fault.field)[0]
            name = self.field_names.get(name, name)
            self.add_error(name if name in self.fields else None, fault.message)
        if not error.errors:
            self.add_error(None, error.message)

    def _save_m2m(self) -> None:
        """Do nothing: the service wrote relations too."""


def number_of(relation: str, description: str) -> Callable[[Any], Any]:
    """Return a column of a `ServiceAdmin`: how many rows a relation leads to."""

    @admin.display(description=description, ordering=f"{relation}_number")
    def column(row: Any) -> int:
        return int(getattr(row, f"{relation}_number"))

    column.counts = relation  # type: ignore[attr-defined]
    return column


class ServiceAdmin(ListAdmin):
    """Pages of one model; writes go through its services.

    A subclass names a `ServiceForm` as `form`; where that has no `resource`, it overrides
    `delete_model`, and `set_enabled` if that is among `bulk`.
    """

    bulk: Sequence[BulkAction] = ()
    """What is done with chosen objects beside their deletion."""
    part_of = ""
    """The foreign key to what these objects are parts of."""
    fixed: Sequence[str] = ()
    """What is given to new objects and read of all others."""
    new_fields: Sequence[str] = ()
    """The fields of a new object where those are others than `fields`."""
    form: Any
    # Counted columns group rows, which loses the order of the model.
    ordering = ["id"]

    def verbs(self, request: HttpRequest) -> dict[str, str]:
        """Return what may be done with one object: a word, and the page that does it."""
        verbs = {each.name: each.name for each in self._bulk_of(request)}
        if self.has_delete_permission(request):
            verbs["delete"] = "delete"
        return verbs

    def _bulk_of(self, request: HttpRequest) -> list[BulkAction]:
        return [each for each in self.bulk if each.is_allowed(self, request)]

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Add what is done after a preview of it."""
        actions: dict[str, Any] = super().get_actions(request)
        # A popup is there to choose one object.
        if IS_POPUP_VAR not in request.GET:
            plural = self.opts.verbose_name_plural
            for each in self._bulk_of(request):
                label = f"{each.label} selected {plural}"
                actions[each.name] = (each.run, each.name, label)
        return actions

    def get_urls(self) -> list[Any]:
        """Add pages that do to one object what actions do to many."""
        pages = [
            self.object_page(each.name, partial(self.bulk_view, each))
            for each in self.bulk
        ]
        # First, for the last of Django's patterns takes any path.
        return [*pages, *super().get_urls()]

    def object_page(self, name: str, view: Callable[..., Any]) -> Any:
        """Return the path of a further page of an object, for `get_urls`."""
        full_name = f"{self.opts.app_label}_{self.opts.model_name}_{name}"
        guarded = self.admin_site.admin_view(view)
        return path(f"<path:object_id>/{name}/", guarded, name=full_name)

    def bulk_view(
        self, action: BulkAction, request: HttpRequest, object_id: str
    ) -> HttpResponse:
        """Ask whether an action is meant for one object, and do it."""
        chosen = self.get_queryset(request).filter(pk=unquote(object_id))
        row = chosen.first()
        if row is None or not action.is_allowed(self, request):
            raise PermissionDenied

        def view() -> HttpResponse:
            page = action.run(self, request, chosen)
            return page or HttpResponseRedirect(home.object_url(row))

        return self._refusals_as_messages(request, view)

    def set_enabled(self, instance: Any, *, enabled: bool) -> None:
        """Switch an object through its service. Raises ServiceError."""
        self.form.resource.update(instance.pk, {"enabled": enabled})

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[Any]:
        """Count what the columns made by `number_of` show."""
        relations = {getattr(column, "counts", "") for column in self.list_display}
        counts = {
            f"{relation}_number": models.Count(relation, distinct=True)
            for relation in relations - {""}
        }
        rows: models.QuerySet[Any] = super().get_queryset(request).annotate(**counts)
        return rows

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the fields: what it is part of first, of a new object none only read."""
        if obj is None and self.new_fields:
            return self.new_fields
        fields = super().get_fields(request, obj)
        if self.fields:
            return fields
        hidden = () if obj is not None else self.readonly_fields
        own = (name for name in fields if name not in hidden)
        return sorted(own, key=lambda name: name != self.part_of)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        """Return what no form changes; of a stored object what is `fixed`, too."""
        always = super().get_readonly_fields(request, obj)
        return [*always, *(self.fixed if obj is not None else ())]

    def formfield_for_dbfield(
        self, db_field: Any, request: HttpRequest, **kwargs: Any
    ) -> Any:
        """Return the field of a column; texts are the resource's rules to judge."""
        is_text = isinstance(db_field, models.CharField | models.TextField)
        free = is_text and not db_field.choices
        if free and getattr(self.form, "resource", None):
            kwargs |= {"required": False, "strip": False, "max_length": None}
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        """Return the form, in whose labels abbreviations are written as such."""
        labels = {"id": "ID", **(self.form._meta.labels or {})}
        form: Any = super().get_form(request, obj, change, labels=labels, **kwargs)
        for name, field in form.base_fields.items():
            field.label = spelt(field.label or pretty_name(name))
        return form

    def get_formset_kwargs(
        self, request: HttpRequest, obj: Any, inline: Any, prefix: str
    ) -> dict[str, Any]:
        """Tell which part is shown of many rows; inlines have a `PartFormSet`."""
        given = super().get_formset_kwargs(request, obj, inline, prefix)
        return {**given, **part_asked(request)}

    def too_many(self, number: int) -> str:
        """Say that so many rows are too many to be deleted at once, "" if they are not."""
        return bulk.too_many() if number > bulk.MOST else ""

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Tell all that the deletion would do, or what forbids it."""
        chosen = list(objs)
        counts = {str(self.opts.verbose_name_plural): len(chosen)}
        if refusal := self.too_many(len(chosen)):
            return [], counts, set(), [refusal]
        if request.POST.get("post"):  # what is about to be done was told before
            return [], counts, set(), []

        def delete() -> None:
            for instance in chosen:
                self.delete_model(request, instance)

        try:
            lines = trail.trails.only.foresee(request, delete)
        except ServiceError as error:
            return [], counts, set(), [error.message]
        return lines, counts, set(), []

    def save_model(
        self, request: HttpRequest, obj: Any, form: Any, change: Any
    ) -> None:
        """Do nothing: the form's service wrote the object."""

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """Delete one object through its service. Raises ServiceError."""
        self.form.resource.delete(obj.pk)

    def delete_queryset(
        self, request: HttpRequest, queryset: models.QuerySet[Any]
    ) -> None:
        """Delete the chosen objects, all or none."""
        # In the transaction that `changelist_view` began.
        for instance in queryset:
            self.delete_model(request, instance)

    def save_related(
        self, request: HttpRequest, form: Any, formsets: Any, change: Any
    ) -> None:
        """Note that form and inline forms were right, and save the latter."""
        super().save_related(request, form, formsets, change)
        request.admin_saved = True  # type: ignore[attr-defined]

    def _changeform_view(self, request: HttpRequest, *args: Any) -> HttpResponseBase:
        """Show or take the form; undo everything when it has to be shown again."""
        response: HttpResponseBase = super()._changeform_view(request, *args)  # type: ignore[misc]
        if request.method == "POST" and not getattr(request, "admin_saved", False):
            # The admin site opened a transaction around this.
            transaction.set_rollback(True)
        return response

    def message_user(
        self,
        request: HttpRequest,
        message: Any,
        level: int | str = messages.INFO,
        extra_tags: str = "",
        fail_silently: bool = False,
    ) -> None:
        """Tell what was done; of a write, the next page says what became of it."""
        tags = trail.tags_of(level, extra_tags)
        super().message_user(request, message, level, tags, fail_silently)

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: Any = None
    ) -> HttpResponse:
        """Lead to the audit trail, which has the changes over the API too."""
        events = reverse("admin:events_auditevent_changelist")
        query = urlencode({"search": unquote(object_id)})
        return HttpResponseRedirect(f"{events}?{query}")

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: Any = None
    ) -> HttpResponse:
        """Delete one object; a refusal leads back to it."""
        view = super().delete_view
        return self._refusals_as_messages(
            request, lambda: view(request, object_id, extra_context)
        )

    def action_checkbox(self, obj: models.Model) -> SafeString:
        """Return the box that selects a row: a form for each costs a third of a list."""
        return format_html(_CHECKBOX, ACTION_CHECKBOX_NAME, obj.pk, obj)

    def changelist_view(
        self, request: HttpRequest, extra_context: Any = None
    ) -> HttpResponse:
        """Show the list and run its actions; a refusal leads back to it."""
        view = super().changelist_view
        return self._refusals_as_messages(request, lambda: view(request, extra_context))

    def _refusals_as_messages(
        self, request: HttpRequest, view: Callable[[], Any]
    ) -> HttpResponse:
        try:
            # Around all of it: what was written before a refusal goes, too.
            with transaction.atomic() if request.method == "POST" else nullcontext():
                response: HttpResponse = view()
                return response
        except ServiceError as error:
            self.message_user(request, error.message, messages.ERROR)
            return HttpResponseRedirect(request.get_full_path())


class OneRowAdmin(ServiceAdmin):
    """The page of a model's only row: it can be changed, neither made nor deleted."""

    def changelist_view(
        self, request: HttpRequest, extra_context: Any = None
    ) -> HttpResponse:
        """Lead to the row, for one needs no list."""
        row = self.get_queryset(request).first()
        if row is None:
            return super().changelist_view(request, extra_context)
        if not self.has_view_permission(request):
            raise PermissionDenied
        return HttpResponseRedirect(home.object_url(row))

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: Any = None,
    ) -> HttpResponse:
        """Show the form by what the menu calls it."""
        title = menu.name_of(self.opts.label_lower)
        named = {"title": title, "subtitle": None, "one_row": True}
        context = {**named, **(extra_context or {})}
        return super().change_view(request, object_id, form_url, context)

    has_add_permission = has_delete_permission = refused
