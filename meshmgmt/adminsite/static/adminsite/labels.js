/* What Django's scripts leave to be done for the keyboard and for screen readers: names,
   faults and the focus for what Select2 makes of a select, and rows that come and go. */
"use strict";
(function () {
  function nameOf(select) {
    const label = select.labels[0];
    return label ? label.textContent.replace(/:\s*$/, "").trim() : select.name;
  }

  function label(select) {
    const box = select.nextElementSibling;
    const list = box.querySelector("ul.select2-selection__rendered");
    const combobox = box.querySelector("[role=combobox]");
    const control = list ? box.querySelector(".select2-search__field") : combobox;
    for (const name of ["aria-invalid", "aria-describedby"]) {
      if (select.hasAttribute(name)) control.setAttribute(name, select.getAttribute(name));
    }
    // The script that puts it into a form's first field came before Select2.
    if (document.activeElement === select) control.focus();
    if (list) {
      list.setAttribute("role", "presentation"); // it holds more than list items
      for (const part of [combobox, control]) part.setAttribute("aria-label", nameOf(select));
      return;
    }
    const value = box.querySelector(".select2-selection__rendered");
    value.removeAttribute("role"); // of a text box, which would want a name of its own
    value.removeAttribute("aria-readonly");
    if (select.labels[0]) {
      select.labels[0].id ||= `${select.id}_label`;
      combobox.setAttribute("aria-labelledby", `${select.labels[0].id} ${value.id}`);
    }
  }

  function labelAll() {
    document.querySelectorAll("select.select2-hidden-accessible").forEach(label);
  }

  window.addEventListener("load", () => {
    if (!window.django || !window.django.jQuery) return;
    // After the functions that make the widgets.
    window.django.jQuery(() => {
      labelAll();
      document.querySelectorAll(".inline-group").forEach(labelRows);
    });
    window.django.jQuery(document).on("select2:open", (event) => {
      const field = document.querySelector(".select2-dropdown .select2-search__field");
      if (field) field.setAttribute("aria-label", nameOf(event.target));
    });
  });

  /* The rows that were added, and what takes each of them away again. */
  function labelRows(group) {
    group.querySelectorAll(".inline-deletelink").forEach((link, place) => {
      link.setAttribute("aria-label", `Remove added row ${place + 1}`);
    });
  }

  document.addEventListener("formset:added", (event) => {
    const row = event.target;
    setTimeout(() => {
      labelAll();
      labelRows(row.closest(".inline-group"));
      const fields = [...row.querySelectorAll("input, select, textarea, [role=combobox]")];
      fields.find((field) => field.checkVisibility() && field.tabIndex >= 0)?.focus();
    });
  });
  document.addEventListener("formset:removed", (event) => {
    const group = document.getElementById(`${event.detail.formsetName}-group`);
    labelRows(group);
    group.querySelector(".add-row a, a.addlink")?.focus();
  });
})();
