/* Names for what Select2 makes of a select: it does not take its label over. */
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
    if (list) {
      list.setAttribute("role", "presentation"); // it holds more than list items
      box.querySelector(".select2-search__field").setAttribute("aria-label", nameOf(select));
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
    window.django.jQuery(labelAll); // after the functions that make the widgets
    window.django.jQuery(document).on("select2:open", (event) => {
      const field = document.querySelector(".select2-dropdown .select2-search__field");
      if (field) field.setAttribute("aria-label", nameOf(event.target));
    });
  });
  document.addEventListener("formset:added", () => setTimeout(labelAll));
})();
